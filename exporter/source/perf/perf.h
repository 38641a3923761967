/*
 * The kernel's counters: perf_event_open in cgroup mode per CPU, per thread, and per uncore unit.
 *
 * A group is one leader and its members per CPU, read with one read(2). perf_event_open is called
 * in perf_kernel.c only.
 */
#ifndef IE_SOURCE_PERF_PERF_H
#define IE_SOURCE_PERF_PERF_H

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/types.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/event/file.h"
#include "exporter/source/event/table.h"
#include "exporter/source/source.h"

/* The kernel's calls, so that tests can be a kernel with a PMU. Each returns -errno on failure. */
struct perf_kernel {
    int (*event_open)(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                      int group_fd, unsigned long flags);
    int (*enable)(void *context, int fd); /* a group's leader, and with it the group */
    ssize_t (*read)(void *context, int fd, void *buffer, size_t size);
    int (*close)(void *context, int fd);
    /* For samplers: an event's ring buffer, and waiting for some of them (the number ready, or 0
     * after the time). */
    int (*map)(void *context, int fd, size_t size, void **out);
    int (*unmap)(void *context, void *at, size_t size);
    int (*wait)(void *context, struct pollfd *fds, size_t n, int timeout_ms);
    void *context;
};

extern const struct perf_kernel perf_kernel_linux;

struct perf_config {
    const struct fsroot *fs; /* borrowed for the source's life, like all pointers here */
    const struct log *log;
    const struct event_table *table; /* NULL: an unsupported CPU */
    const struct events_file *file;  /* NULL: no --events.file */
    const struct perf_kernel *kernel;
    /* Descriptors that counters may take; 0: RLIMIT_NOFILE less a reserve for everything else
     * (a quarter, at most 512). */
    size_t fd_limit;
};

int perf_source_new(const struct perf_config *config, struct source **out);

/*
 * The memory controllers that sysfs shows: one unit per uncore_imc_<n> and CPU of its cpumask (one
 * per die, which mostly is one per socket), in that order.
 * Stores at most 'cap' of them and the full number in *n. 0 or -errno; none is not an error.
 *
 * A scope of such a unit names a pseudo-channel; opening one that the CPU does not have gives
 * -ENODEV, so a user opens channel 0, 1, ... until that.
 */
int perf_units(const struct fsroot *fs, struct unit *out, size_t cap, size_t *n);

/* Which roles of a group are counted after the fallback ladder, as bits; 0 before a check. */
uint32_t perf_source_roles(const struct source *source, enum group group);

/*
 * The sentence for a failed open: a different one, with its remedy, for each of ENOENT, EACCES,
 * EPERM, EMFILE, ENODEV and others; pure. 'what' is what was opened, e.g. "group core". 'paranoid'
 * is kernel.perf_event_paranoid, or PERF_PARANOID_UNKNOWN.
 */
enum { PERF_PARANOID_UNKNOWN = -2 };
void perf_explain(int error, const char *what, int paranoid, struct verdict *out);

/*
 * Machine facts that can be measured here without any privilege: base frequency (CPUID 15H, else
 * perf's time_mult), sockets, nodes, CPUs. Unknown facts stay 0; what belongs to the event table
 * (microarchitecture, cache_cycles, llc_hit_cycles) is left for the caller to fill in.
 */
void machine_detect(const struct fsroot *fs, struct machine *out);

/* Who the CPU is, from cpuinfo; for event_table_for_cpu(). 0; -ENOENT when it does not say (other
 * architectures); other -errno when it cannot be read. */
struct cpu_identity {
    char vendor[16];
    int family, model, stepping;
};
int cpu_identify(const struct fsroot *fs, struct cpu_identity *out);

/* Raises RLIMIT_NOFILE to its hard limit; returns the limit now in force. For main, before there
 * are threads: from then on the kernel waits some 10 ms each time that the counters' descriptors
 * outgrow their table, so it is made wide here. */
size_t perf_raise_fd_limit(void);

#endif
