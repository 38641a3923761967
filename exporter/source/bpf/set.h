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
#include "exporter/source/bpf/place.h"

struct bpf_set;

/* Loads and attaches it, for 'n_roles' roles, so many containers and the CPUs that have numbers
 * below 'n_cpus'. 0 or -errno, with *why: -EINVAL for more than BPF_ROLES_MAX. Takes CAP_BPF and
 * CAP_PERFMON. */
int bpf_set_new(size_t n_roles, size_t n_slots, size_t n_cpus, struct bpf_set **out,
                struct verdict *why);
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
/* Intervals, on all CPUs together since the start, whose counts could not be read: nobody has them.
 */
uint64_t bpf_set_unread(const struct bpf_set *set);

/* ---- containers ---- */

/* From the next switch on the cgroup's counts go to the slot, which starts at 0. 0 or -errno. */
int bpf_set_tell(struct bpf_set *set, uint64_t id, uint32_t slot);
/* No longer. */
void bpf_set_untell(struct bpf_set *set, uint64_t id);
/* The depths at which the program looks for containers. */
void bpf_set_levels(struct bpf_set *set, uint32_t levels);
/* Whether the slot has been enabled there for any time. */
bool bpf_set_has_run(const struct bpf_set *set, uint32_t slot, int cpu);
/* A whole reading: n_roles counts. 0; -EAGAIN where the program never let go of the cell meanwhile.
 * The cell's 'turn' says nothing. */
int bpf_set_read(const struct bpf_set *set, uint32_t slot, int cpu, struct bpf_cell *out);

#endif
