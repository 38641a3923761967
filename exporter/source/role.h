/*
 * What is counted (roles) and what is counted together (groups), independent of any CPU.
 *
 * collectors/events/ says how a CPU counts a role. The spelling of roles and groups is part of the
 * recording format, version 1; so those that no collector opens yet stay, and say so.
 */
#ifndef IE_SOURCE_ROLE_H
#define IE_SOURCE_ROLE_H

#include <stddef.h>
#include <stdint.h>

enum role {
    ROLE_CYCLES,                 /* unhalted core cycles */
    ROLE_REF_CYCLES,             /* unhalted cycles at the TSC's frequency */
    ROLE_INSTRUCTIONS,           /* retired */
    ROLE_L3_MISS_READS,          /* demand data reads that missed the LLC */
    ROLE_L3_MISS_READ_OCCUPANCY, /* sum over cycles of such reads outstanding */
    ROLE_LLC_READS,              /* demand data reads that left the core's own caches */
    ROLE_L3_MISS_READ_ACTIVE,    /* cycles with at least one L3-miss read outstanding */
    ROLE_LLC_READ_OCCUPANCY,     /* in no group: no collector yet */
    ROLE_LLC_READ_ACTIVE,        /* likewise */
    ROLE_STALLS_L3_MISS,         /* of the group stalls */
    ROLE_LOADS_LOCAL_DRAM,
    ROLE_LOADS_REMOTE_DRAM,
    ROLE_LOADS_LOCAL_PMM,
    ROLE_LOADS_REMOTE_PMM,
    ROLE_STORES,
    ROLE_LOADS,
    ROLE_PMM_RFO,
    ROLE_LLC_MISSES, /* demand, prefetch into the core's own caches and RFO, that missed the LLC */
    ROLE_RFO,        /* reads for ownership that left the core's own caches, LLC hits included */
    /* AMD's: all kinds of misses of the L1 data cache, its prefetcher's and stores' included. */
    ROLE_L1D_MISS_OCCUPANCY, /* sum over cycles of such misses outstanding */
    ROLE_L1D_FILLS_L2,       /* of them, what the core's own L2 served */
    ROLE_L1D_FILLS_L3,       /* what the L3 of the core complex served, or another L2 there */
    ROLE_L1D_FILLS_MEMORY,   /* what came from beyond: DRAM, CXL, caches of other complexes */
    /* Of the latter, by where they were. */
    ROLE_L1D_FILLS_NEAR_DRAM,
    ROLE_L1D_FILLS_FAR_DRAM,
    ROLE_L1D_FILLS_OTHER_CCX, /* near and far */
    ROLE_L1D_FILLS_CXL,
    /* Arm's: loads, whoever serves them. */
    ROLE_LOADS_IN_FLIGHT, /* sum over cycles of loads outstanding, hits in the L1 included */
    ROLE_LOAD_ACCESSES,   /* loads, of which one may be several accesses */
    ROLE_L1D_LOAD_MISSES, /* lines that they brought into the L1 data cache */
    ROLE_MEMORY_STALLS,   /* cycles without dispatch while a load's miss of the own caches waits */
    ROLE_IMC_CLOCKTICKS,
    ROLE_RPQ_INSERTS,
    ROLE_RPQ_OCCUPANCY,
    ROLE_PMM_RPQ_INSERTS,
    ROLE_PMM_RPQ_OCCUPANCY,
    ROLE_CAS_READS,  /* lines of 64 bytes that DRAM gave, for whomever */
    ROLE_CAS_WRITES, /* and took */
    /* AMD's L3, by where the line came from: misses that its PMU timed, and the sum of their
     * times, in the PMU's unit (collectors/formulas/l3_latency.h). */
    ROLE_L3_NEAR_DRAM_WAIT,
    ROLE_L3_NEAR_DRAM_READS,
    ROLE_L3_FAR_DRAM_WAIT,
    ROLE_L3_FAR_DRAM_READS,
    ROLE_L3_OTHER_CCX_WAIT, /* another core complex's L3, near or far */
    ROLE_L3_OTHER_CCX_READS,
    ROLE_L3_CXL_WAIT,
    ROLE_L3_CXL_READS,
    ROLE_L3_ANY_WAIT, /* where the CPU does not tell the sources apart */
    ROLE_L3_ANY_READS,
    ROLE_L3_CPU_CYCLES,     /* of one CPU of the complex, not halted */
    ROLE_L3_CPU_REF_CYCLES, /* likewise, at the TSC's frequency */
    ROLE_QUANTUM_CYCLES,    /* the ASM epoch metrics, FORMULAS.md section 3 */
    ROLE_ACCESSES,
    ROLE_EPOCH_COUNT,
    ROLE_HITS,
    ROLE_MISSES,
    ROLE_HIT_TIME,
    ROLE_MISS_TIME,
    ROLE_ATS_HITS,
    ROLE_ATS_MISSES,
    ROLE_QUEUEING_CYCLES,
    ROLE_EPOCH_LENGTH, /* a constant in cycles, not a total */
    /* Research, counted by no machine (collectors/slowdown/shadow.h): what the quantum's
     * instructions would have taken alone, by shadow clocks; and what they would have taken had
     * neighbours only kept the memory busy, but evicted nothing. */
    ROLE_SHADOW_CYCLES,
    ROLE_SHADOW_CACHE_CYCLES,
    /* CPU time of a container or, as the group of a machine, of all that ran. Not an event of a
     * PMU: its group counts whenever its scope runs, so that enabled, running and count are one. */
    ROLE_CPU_TIME_NS,
    /* What a container has of a NUMA node's memory: bytes now, not a total. Its group has a row for
     * each node, whose number is in the place of the CPU's, and whose clocks stand at 0. */
    ROLE_NODE_BYTES,
    /* What a container waits for, from its cgroup's files; its group's clocks are the time that
     * passed. CPU time is of its group, too. */
    ROLE_QUOTA_PERIODS,       /* in which it ran under a limit of CPU time */
    ROLE_THROTTLED_PERIODS,   /* in which the limit was reached */
    ROLE_CPU_SOME_NS,         /* some task waited for a CPU, throttled ones included (PSI) */
    ROLE_CPU_FULL_NS,         /* some waited, and none ran */
    ROLE_MEMORY_SOME_NS,      /* some task waited for free memory */
    ROLE_IO_SOME_NS,          /* some task waited for a disk */
    ROLE_MEMORY_LIMIT_EVENTS, /* its memory reached its limit; while it waits for it, or disks */
    ROLE_REFAULTS,            /* pages that it lost and read again; likewise */
    ROLE_RUN_DELAY_NS,        /* its tasks waited for CPUs, added up */
    ROLE_STEAL_NS,            /* the hypervisor took from its CPUs, mean of them */
    ROLE_NODE_MEMORY_SOME_NS, /* of the whole machine */
    ROLE_NODE_RECLAIMED,      /* pages that the machine looked at to get free ones */
    /* What it may have; levels, not totals. */
    ROLE_ENTITLED_NS,        /* CPU time per second: its share by weight, at most its limit */
    ROLE_QUOTA_NS,           /* its limit of CPU time per second; absent: none */
    ROLE_CPU_SET,            /* bit n: it may run on a CPU whose number is n modulo 52 */
    ROLE_MEMORY_BYTES,       /* that it has */
    ROLE_MEMORY_LIMIT_BYTES, /* absent: none */
    /* What a monitoring group of the kernel's resctrl counts, as source/resctrl judges it. A row is
     * of the domains whose first CPU it has; its clocks are the time that passed. */
    ROLE_MBM_TOTAL_BYTES,
    ROLE_MBM_LOCAL_BYTES,     /* of these, of memory beside the domain */
    ROLE_LLC_OCCUPANCY_BYTES, /* a level */
    ROLE_CORE_ENERGY_MICROJOULES,
    ROLE_LLC_MISS_STALL_CYCLES,
    ROLE_UNHALTED_CORE_CYCLES,
    ROLE_COUNT
};

enum group {
    GROUP_CORE,
    GROUP_STALLS, /* only when asked for: it takes turns with the core group */
    GROUP_STORES,
    GROUP_LOADS,
    GROUP_PMM_RFO,
    /* Only when asked for. A line for each miss and, once an RFO's line is written back, another:
     * the traffic is llc_misses + rfo, but at most twice llc_misses: rfo counts hits, too. Stores
     * past the caches are in neither. */
    GROUP_TRAFFIC,
    GROUP_FILLS,     /* what GROUP_CORE is on Intel's CPUs, from what AMD's count */
    GROUP_SOURCES,   /* only when asked for: it takes turns with the fills */
    GROUP_IN_FLIGHT, /* what GROUP_CORE is on Intel's CPUs, from what Arm's newer cores count */
    GROUP_MISSES,    /* and from what the others do: no latency from it */
    GROUP_CPI,       /* what any CPU counts */
    GROUP_RPQ,
    GROUP_PMM_RPQ,
    GROUP_CAS,
    /* Each takes two of an L3's six counters: three of them fit, the fourth takes turns. */
    GROUP_L3_NEAR_DRAM,
    GROUP_L3_FAR_DRAM,
    GROUP_L3_OTHER_CCX,
    GROUP_L3_CXL,
    GROUP_L3_ANY,
    GROUP_L3_CLOCK, /* for L3s that time their misses in cycles */
    GROUP_ASM_EPOCHS,
    GROUP_ACTIVITY,      /* in recordings a line of its own: {"activity":KEY,"cpu_time_ns":N} */
    GROUP_PAGES,         /* likewise: {"pages":KEY,"numa_node":N,"bytes":N} */
    GROUP_WAITS,         /* one row, without a CPU */
    GROUP_BOUNDS,        /* likewise; levels, so that a window of it means nothing */
    GROUP_BANDWIDTH,     /* among others a level: sums over a window of it mean nothing */
    GROUP_POD_BANDWIDTH, /* the same, of all containers of a container's pod together */
    GROUP_DELAYS,        /* one row, without a CPU */
    GROUP_COUNT
};

/* Of GROUP_BANDWIDTH and GROUP_POD_BANDWIDTH, in the order of their roles. */
enum mon_value {
    MON_TOTAL_BYTES,
    MON_LOCAL_BYTES,
    MON_OCCUPANCY_BYTES, /* a level */
    MON_CORE_ENERGY,     /* microjoules */
    MON_STALLS,          /* cycles in which a core waited for what missed the L3 */
    MON_CYCLES,          /* in which it was not halted */
    MON_VALUES
};

enum { GROUP_MAX_ROLES = 13 };

struct group_desc {
    const char *name;
    const char *unit;                 /* the kind of unit that it is counted in; NULL: none */
    size_t n;                         /* roles in the group */
    enum role roles[GROUP_MAX_ROLES]; /* index in a reading = index here */
    uint32_t required;                /* bit i: without roles[i] the group is of no use */
    /* When the full group cannot run: role sets to try next, best first, ended by 0. */
    uint32_t fallback[4];
};

extern const struct group_desc group_descs[GROUP_COUNT];

const char *role_name(enum role role);
/* 0 and *out, or -ENOENT. The text need not be NUL-terminated. */
int role_parse(const char *text, size_t len, enum role *out);
int group_parse(const char *text, size_t len, enum group *out);
/* The index of a role in a group, or -1. */
int group_index(enum group group, enum role role);

#endif
