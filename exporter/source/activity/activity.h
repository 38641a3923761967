/*
 * CPU time of containers and of the machine: the group activity.
 *
 * How a container's is read, the first that works here:
 *
 *   1  Where a collector has the container's group of the PMU open (core), that group's enabled_ns
 *      per CPU is this already: a group in cgroup mode is enabled while the cgroup runs on the CPU.
 *      Then nothing need be opened here; the collector takes reading_row.enabled_ns of the handle
 *      that it shares. Such a recording has no activity lines, but the same enabled_ns.
 *   2  cpuacct.usage_percpu (v1): ns per CPU, one descriptor, no cost to whom it counts.
 *   3  With no PMU and fewer than 8 CPUs: one cpu-clock in cgroup mode per CPU, through the perf
 *      source; its enabled time. It makes switches between containers slower, hence only here,
 *      where time per CPU matters most: the probe's CPU is then an eighth of the machine or more.
 *   4  cpu.stat (v2): usage_usec, the sum over CPUs. In each cgroup, also without the controller.
 *   5  cpuacct.usage (v1): the sum.
 *
 * 2 stands before 3 because it says the same (within 0.3 % of each other and of the process's own
 * clock), for less. All count child cgroups in. The kernel brings the files up to date at each
 * timer interrupt or switch: a reading lags by at most some milliseconds.
 *
 * The machine's: cpuacct.usage_percpu of the hierarchy's root; else /proc/stat, whose unit of 10 ms
 * is 1 % of a CPU and second: enough for what only stands for "the rest". The root's cpu.stat of v2
 * has microseconds, but no CPUs, and the kernel fills it from the numbers of /proc/stat.
 *
 * Totals start with 0 at the opening and never fall; a row's clocks are its total. When the cgroup
 * is gone, files give -ESRCH: what ran since the last reading is not known. (3) still gives its
 * last counts.
 *
 * Descriptors are borrowed from the counters' share (pool.h): one for a file; CPUs + 1 for (3).
 * When counters need them back, the handles that give them up read as -EMFILE from then on: close
 * them. Needs no privilege, but for (3). Loop thread only.
 */
#ifndef IE_SOURCE_ACTIVITY_ACTIVITY_H
#define IE_SOURCE_ACTIVITY_ACTIVITY_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/pool.h"
#include "exporter/source/source.h"

enum activity_way {
    ACTIVITY_PERCPU, /* cpuacct.usage_percpu */
    ACTIVITY_CLOCK,  /* perf */
    ACTIVITY_STAT,   /* cpu.stat */
    ACTIVITY_USAGE,  /* cpuacct.usage */
    ACTIVITY_PROC,   /* /proc/stat; the machine's only */
    ACTIVITY_WAYS
};

enum { ACTIVITY_CLOCK_CPUS = 8 }; /* from so many CPUs on, no (3) */

struct activity_config {
    const struct fsroot *fs; /* borrowed for the source's life, like all pointers here */
    const char *cpuacct;     /* where v1's cpuacct is mounted; "": nowhere */
    const char *unified;     /* likewise, v2 */
    struct source *clocks;   /* a perf source of its own for (3), taken over, also on failure; or
                                NULL */
    /* Asked once, for SCOPE_CGROUP and GROUP_CORE: with a PMU there is no (3). NULL: there is
     * none. */
    struct source *counters;
    struct descriptor_pool *pool; /* NULL: no limit */
    uint32_t ways;                /* bits of those to use; 0: all. For tests and benchmarks. */
};

/*
 * 0 or -errno. Its check for containers says in *why how they are read, with REASON_OK; so does its
 * open, for the one container; check for the machine likewise.
 */
int activity_source_new(const struct activity_config *config, struct source **out);

#endif
