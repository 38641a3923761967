/*
 * One group's program in the kernel with its tables: loaded, attached to the switches of tasks, run
 * for what is on a CPU now, and read.
 *
 * Everything goes with the process: nothing is pinned. Loop thread only.
 */
#ifndef IE_SOURCE_BPF_SET_H
#define IE_SOURCE_BPF_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/reason.h"
#include "exporter/source/bpf/cells.h"
#include "exporter/source/bpf/task.h"

struct bpf_set;

struct bpf_sizes {
    size_t roles, slots;
    size_t cpus;          /* have numbers below it */
    struct bpf_task task; /* all 0: each switch of tasks is paid for */
    bool delays;          /* it counts how long tasks wait for CPUs, where 'task' says how */
};

/* Loads and attaches it. Where the kernel does not let it read tasks, it is loaded as if all of
 * task were 0. 0 or -errno, with *why: -EINVAL for more than BPF_ROLES_MAX. Takes CAP_BPF and
 * CAP_PERFMON. */
int bpf_set_new(const struct bpf_sizes *sizes, struct bpf_set **out, struct verdict *why);
/* Why the kernel does not take the program, in words with the remedy: for the -errno of loading or
 * attaching it. 'knows_cap_bpf': the kernel has that capability (since Linux 5.8); before,
 * CAP_SYS_ADMIN stands for it, which the exporter does not use for that. Pure. */
void bpf_refusal(int err, bool knows_cap_bpf, struct verdict *why);
/* Detaches and unloads it. Accepts NULL. */
void bpf_set_free(struct bpf_set *set);
/* Bytes of the kernel's memory for its cells. */
size_t bpf_set_bytes(const struct bpf_set *set);
/* Descriptors that it holds: of its programs and tables. */
size_t bpf_set_descriptors(const struct bpf_set *set);

/* ---- CPUs ---- */

/* Which roles have events from now on, for all CPUs: while none has begun. */
void bpf_set_roles(struct bpf_set *set, uint32_t roles);
/* The roles' events on a CPU (-1 where there is none), which count already: they are read there
 * from now on, and what they counted until they are first read is nobody's. The descriptors stay
 * the caller's. 0 or -errno, with nothing begun. */
int bpf_set_begin(struct bpf_set *set, int cpu, const int *fds);
/* Before the events are closed. */
void bpf_set_end(struct bpf_set *set, int cpu);
/* Adds what runs on the CPU now. When it returns, no earlier run of the program goes on there. 0,
 * also where the CPU has not begun, or -errno. */
int bpf_set_flush(const struct bpf_set *set, int cpu);
/* The leader's clocks on a CPU, whoever ran. */
void bpf_set_clocks(const struct bpf_set *set, int cpu, uint64_t *enabled_ns, uint64_t *running_ns);
/* Whether switches between tasks in the same cgroup are passed over. */
bool bpf_set_knows_tasks(const struct bpf_set *set);
/* Whether it counts how long tasks wait for CPUs; and who takes CPUs from whom. */
bool bpf_set_counts_delays(const struct bpf_set *set);
bool bpf_set_knows_takers(const struct bpf_set *set);
/* The pairs that a CPU has had between the last flush and the one before, or another call since:
 * up to BPF_PAIRS. Between two flushes of that CPU, once. */
size_t bpf_set_take_pairs(struct bpf_set *set, int cpu, struct bpf_pair out[BPF_PAIRS]);
/* Intervals whose counts nobody has, on all CPUs together since the start. */
struct bpf_lost {
    uint64_t unread; /* the events could not be read */
    uint64_t moved;  /* it was several cgroups', as a task was moved while it ran */
};
struct bpf_lost bpf_set_lost(const struct bpf_set *set);

/* ---- containers ---- */

/* From the next switch on the cgroup's counts go to the slot, which starts at 0. 0 or -errno. */
int bpf_set_tell(struct bpf_set *set, uint64_t id, uint32_t slot);
/* Undoes bpf_set_tell(). */
void bpf_set_untell(struct bpf_set *set, uint64_t id);
/* The depths at which the program looks for containers. */
void bpf_set_levels(struct bpf_set *set, uint32_t levels);
/* Whether the slot has been enabled there for any time. */
bool bpf_set_has_run(const struct bpf_set *set, uint32_t slot, int cpu);
/* Adds the bits of the CPUs whose cells of the slot were written since the call before, or since it
 * was told: a 64th of 'cpus', rounded up, are its words. */
void bpf_set_take_changed(struct bpf_set *set, uint32_t slot, uint64_t *cpus);
/* ns that the slot's tasks have waited for CPUs, where it counts delays. */
uint64_t bpf_set_waited(const struct bpf_set *set, uint32_t slot);
/* A whole reading: n_roles counts, and where it counts delays, one more, of these. 0; -EAGAIN
 * where the program never let go of the cell meanwhile. The cell's 'turn' says nothing. */
int bpf_set_read(const struct bpf_set *set, uint32_t slot, int cpu, struct bpf_cell *out);

#endif
