/*
 * A kernel with a PMU, for tests: perf_event_open, enable, read and close as Linux answers them on
 * an Intel server core (three fixed counters, 'general' others) and of uncore memory controllers:
 * a box per PMU type and CPU, whose groups take turns where its counters do not suffice for all.
 *
 * Groups compete for a core's counters in the kernel's order: pinned ones of the CPU (cgroup mode
 * among them), pinned ones of the task, then the flexible ones of the CPU, then of the task. Each
 * of these contexts rotates only when its own groups wait, so that a task's group waits for ever
 * behind a CPU's that always fits. A pinned group that does not fit fails: read() gives 0 bytes.
 *
 * Time passes only in fake_pmu_run(), and 1 ms with every read of a group on our own thread.
 */
#ifndef IE_TESTS_FAKE_PMU_H
#define IE_TESTS_FAKE_PMU_H

#include "exporter/source/perf/perf.h"

enum {
    FAKE_PMU_EVENTS = 512,
    FAKE_PMU_CPUS = 8,
    FAKE_PMU_UNCORE_TYPE = 14, /* the first uncore PMU's; each has a type of its own */
    FAKE_PMU_UNCORES = 64,
    FAKE_PMU_TURN_NS = 4000000, /* between groups that do not fit a box together */
};

struct fake_event {
    bool used;
    struct perf_event_attr attr;
    uint64_t cgroup; /* the directory's inode; 0: none */
    int pid, cpu;
    int leader;    /* index; its own for leaders */
    bool detached; /* its CPU went offline: alone, and stopped for good */
    bool enabled;
    bool failed; /* pinned, and did not fit: until enabled again */
    uint64_t count, enabled_ns, running_ns;
};

struct fake_pmu {
    struct perf_kernel kernel; /* give this to perf_config */

    /* What the machine is like; change at will. */
    int general;           /* general counters, 4 after init */
    bool no_fixed;         /* AMD's: there are no others */
    bool watchdog;         /* holds the fixed cycles counter, which only shows when running */
    int held;              /* general counters that others hold, likewise */
    int box;               /* counters of an uncore box, 4 after init */
    int box_held;          /* counters of each that others hold, likewise */
    bool no_pmu;           /* hardware events: ENOENT */
    bool filtered;         /* counts stay 0 */
    int system_wide_error; /* for events that are not on our own threads; 0: allowed */
    int cgroup_error;      /* for cgroup mode only */
    int error;             /* for every open */
    int fail_open;         /* this many opens from now fails with EMFILE; 0: none */
    int fail_read_cpu;     /* reads of this CPU's events fail with EIO; -1: none */
    uint64_t own_cgroup;   /* that our own thread is in; 0: none that is counted */
    bool online[FAKE_PMU_CPUS];
    /* Counts per microsecond of an uncore event; NULL: fake_pmu_rate() per nanosecond. */
    uint64_t (*uncore_rate)(const void *context, const struct perf_event_attr *attr, int cpu);
    const void *uncore_context;
    bool uncore_silent; /* what uncore boxes count stays 0 */
    /* Likewise of an event of the cores, with the same context. */
    uint64_t (*core_rate)(const void *context, const struct perf_event_attr *attr, int cpu);
    /* What the kernel says to an event, 0 if it takes it; NULL: it takes all. */
    int (*event_error)(const void *context, const struct perf_event_attr *attr);

    struct fake_event events[FAKE_PMU_EVENTS];
    size_t open, opens;                          /* now; ever */
    int box_peak;                                /* counters of one box that ever ran at once */
    uint64_t uncore_ns[FAKE_PMU_CPUS];           /* how long uncore boxes ran, by their CPU */
    uint64_t core_ns[FAKE_PMU_CPUS];             /* and cores */
    unsigned cpu_turn[FAKE_PMU_CPUS], task_turn; /* of rotation, by context */
    size_t misuse; /* bad descriptors, members of other places than their leader's */
};

void fake_pmu_init(struct fake_pmu *pmu);

/* A cgroup, a thread, or a thread of a cgroup (or, when both are 0, anything else: then uncore
 * boxes of that CPU run, too) runs on a CPU for some time. Groups of the whole CPU always count. */
void fake_pmu_run(struct fake_pmu *pmu, uint64_t cgroup, int tid, int cpu, uint64_t ns);

/* Counts per nanosecond of an event: differs between roles. */
uint64_t fake_pmu_rate(const struct perf_event_attr *attr);

/* NULL: it is not open. */
const struct fake_event *fake_pmu_event(const struct fake_pmu *pmu, int fd);

void fake_pmu_set_online(struct fake_pmu *pmu, int cpu, bool online);

#endif
