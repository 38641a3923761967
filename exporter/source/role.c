#include "exporter/source/role.h"

#include <errno.h>
#include <string.h>

static const char *const role_names[ROLE_COUNT] = {
    [ROLE_CYCLES] = "cycles",
    [ROLE_REF_CYCLES] = "ref_cycles",
    [ROLE_INSTRUCTIONS] = "instructions",
    [ROLE_L3_MISS_READS] = "l3_miss_reads",
    [ROLE_L3_MISS_READ_OCCUPANCY] = "l3_miss_read_occupancy",
    [ROLE_LLC_READS] = "llc_reads",
    [ROLE_L3_MISS_READ_ACTIVE] = "l3_miss_read_active",
    [ROLE_LLC_READ_OCCUPANCY] = "llc_read_occupancy",
    [ROLE_LLC_READ_ACTIVE] = "llc_read_active",
    [ROLE_STALLS_L3_MISS] = "stalls_l3_miss",
    [ROLE_LOADS_LOCAL_DRAM] = "loads_local_dram",
    [ROLE_LOADS_REMOTE_DRAM] = "loads_remote_dram",
    [ROLE_LOADS_LOCAL_PMM] = "loads_local_pmm",
    [ROLE_LOADS_REMOTE_PMM] = "loads_remote_pmm",
    [ROLE_STORES] = "stores",
    [ROLE_LOADS] = "loads",
    [ROLE_PMM_RFO] = "pmm_rfo",
    [ROLE_LLC_MISSES] = "llc_misses",
    [ROLE_RFO] = "rfo",
    [ROLE_L1D_MISS_OCCUPANCY] = "l1d_miss_occupancy",
    [ROLE_L1D_FILLS_L2] = "l1d_fills_l2",
    [ROLE_L1D_FILLS_L3] = "l1d_fills_l3",
    [ROLE_L1D_FILLS_MEMORY] = "l1d_fills_memory",
    [ROLE_L1D_FILLS_NEAR_DRAM] = "l1d_fills_near_dram",
    [ROLE_L1D_FILLS_FAR_DRAM] = "l1d_fills_far_dram",
    [ROLE_L1D_FILLS_OTHER_CCX] = "l1d_fills_other_ccx",
    [ROLE_L1D_FILLS_CXL] = "l1d_fills_cxl",
    [ROLE_LOADS_IN_FLIGHT] = "loads_in_flight",
    [ROLE_LOAD_ACCESSES] = "load_accesses",
    [ROLE_L1D_LOAD_MISSES] = "l1d_load_misses",
    [ROLE_MEMORY_STALLS] = "memory_stalls",
    [ROLE_IMC_CLOCKTICKS] = "imc_clockticks",
    [ROLE_RPQ_INSERTS] = "rpq_inserts",
    [ROLE_RPQ_OCCUPANCY] = "rpq_occupancy",
    [ROLE_PMM_RPQ_INSERTS] = "pmm_rpq_inserts",
    [ROLE_PMM_RPQ_OCCUPANCY] = "pmm_rpq_occupancy",
    [ROLE_CAS_READS] = "cas_reads",
    [ROLE_CAS_WRITES] = "cas_writes",
    [ROLE_L3_NEAR_DRAM_WAIT] = "l3_near_dram_wait",
    [ROLE_L3_NEAR_DRAM_READS] = "l3_near_dram_reads",
    [ROLE_L3_FAR_DRAM_WAIT] = "l3_far_dram_wait",
    [ROLE_L3_FAR_DRAM_READS] = "l3_far_dram_reads",
    [ROLE_L3_OTHER_CCX_WAIT] = "l3_other_ccx_wait",
    [ROLE_L3_OTHER_CCX_READS] = "l3_other_ccx_reads",
    [ROLE_L3_CXL_WAIT] = "l3_cxl_wait",
    [ROLE_L3_CXL_READS] = "l3_cxl_reads",
    [ROLE_L3_ANY_WAIT] = "l3_any_wait",
    [ROLE_L3_ANY_READS] = "l3_any_reads",
    [ROLE_L3_CPU_CYCLES] = "l3_cpu_cycles",
    [ROLE_L3_CPU_REF_CYCLES] = "l3_cpu_ref_cycles",
    [ROLE_QUANTUM_CYCLES] = "quantum_cycles",
    [ROLE_ACCESSES] = "accesses",
    [ROLE_EPOCH_COUNT] = "epoch_count",
    [ROLE_HITS] = "hits",
    [ROLE_MISSES] = "misses",
    [ROLE_HIT_TIME] = "hit_time",
    [ROLE_MISS_TIME] = "miss_time",
    [ROLE_ATS_HITS] = "ats_hits",
    [ROLE_ATS_MISSES] = "ats_misses",
    [ROLE_QUEUEING_CYCLES] = "queueing_cycles",
    [ROLE_EPOCH_LENGTH] = "epoch_length",
    [ROLE_SHADOW_CYCLES] = "shadow_cycles",
    [ROLE_SHADOW_CACHE_CYCLES] = "shadow_cache_cycles",
    [ROLE_CPU_TIME_NS] = "cpu_time_ns",
    [ROLE_NODE_BYTES] = "node_bytes",
    [ROLE_QUOTA_PERIODS] = "quota_periods",
    [ROLE_THROTTLED_PERIODS] = "throttled_periods",
    [ROLE_CPU_SOME_NS] = "cpu_some_ns",
    [ROLE_CPU_FULL_NS] = "cpu_full_ns",
    [ROLE_MEMORY_SOME_NS] = "memory_some_ns",
    [ROLE_IO_SOME_NS] = "io_some_ns",
    [ROLE_MEMORY_LIMIT_EVENTS] = "memory_limit_events",
    [ROLE_REFAULTS] = "refaults",
    [ROLE_RUN_DELAY_NS] = "run_delay_ns",
    [ROLE_STEAL_NS] = "steal_ns",
    [ROLE_NODE_MEMORY_SOME_NS] = "node_memory_some_ns",
    [ROLE_NODE_RECLAIMED] = "node_reclaimed_pages",
    [ROLE_ENTITLED_NS] = "entitled_ns",
    [ROLE_QUOTA_NS] = "quota_ns",
    [ROLE_CPU_SET] = "cpu_set",
    [ROLE_MEMORY_BYTES] = "memory_bytes",
    [ROLE_MEMORY_LIMIT_BYTES] = "memory_limit_bytes",
    [ROLE_MBM_TOTAL_BYTES] = "mbm_total_bytes",
    [ROLE_MBM_LOCAL_BYTES] = "mbm_local_bytes",
    [ROLE_LLC_OCCUPANCY_BYTES] = "llc_occupancy_bytes",
    [ROLE_CORE_ENERGY_MICROJOULES] = "core_energy_microjoules",
    [ROLE_LLC_MISS_STALL_CYCLES] = "llc_miss_stall_cycles",
    [ROLE_UNHALTED_CORE_CYCLES] = "unhalted_core_cycles",
};

/* Bits by position in the core group's role list below. */
enum {
    CORE_CYCLES = 1 << 0,
    CORE_REF = 1 << 1,
    CORE_INSTRUCTIONS = 1 << 2,
    CORE_READS = 1 << 3,
    CORE_OCCUPANCY = 1 << 4,
    CORE_LLC = 1 << 5,
    CORE_ACTIVE = 1 << 6,
    CORE_REQUIRED = CORE_CYCLES | CORE_REF | CORE_READS | CORE_OCCUPANCY,
};

/* Likewise in the group of fills. */
enum {
    FILLS_CYCLES = 1 << 0,
    FILLS_REF = 1 << 1,
    FILLS_INSTRUCTIONS = 1 << 2,
    FILLS_OCCUPANCY = 1 << 3,
    FILLS_L2 = 1 << 4,
    FILLS_L3 = 1 << 5,
    FILLS_MEMORY = 1 << 6,
    FILLS_LATENCY = FILLS_CYCLES | FILLS_REF | FILLS_OCCUPANCY | FILLS_L2 | FILLS_L3 | FILLS_MEMORY,
};

enum { IN_FLIGHT_INSTRUCTIONS = 1 << 2 };

/* In the order of enum mon_value. */
#define MONITORED                                                                                  \
    ROLE_MBM_TOTAL_BYTES, ROLE_MBM_LOCAL_BYTES, ROLE_LLC_OCCUPANCY_BYTES,                          \
        ROLE_CORE_ENERGY_MICROJOULES, ROLE_LLC_MISS_STALL_CYCLES, ROLE_UNHALTED_CORE_CYCLES

const struct group_desc group_descs[GROUP_COUNT] = {
    [GROUP_CORE] =
        {
            .name = "core",
            .n = 7,
            .roles = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_INSTRUCTIONS, ROLE_L3_MISS_READS,
                      ROLE_L3_MISS_READ_OCCUPANCY, ROLE_LLC_READS, ROLE_L3_MISS_READ_ACTIVE},
            .required = CORE_REQUIRED,
            /* With the NMI watchdog on the fixed cycles counter the full set needs five general
             * counters: it opens and never runs. */
            .fallback = {CORE_REQUIRED | CORE_INSTRUCTIONS, CORE_REQUIRED},
        },
    [GROUP_STALLS] =
        {
            .name = "stalls",
            .n = 5,
            .roles = {ROLE_CYCLES, ROLE_STALLS_L3_MISS, ROLE_LOADS_LOCAL_DRAM,
                      ROLE_LOADS_REMOTE_DRAM, ROLE_LOADS_LOCAL_PMM},
            .required = 1 << 2 | 1 << 3,
            .fallback = {1 << 0 | 1 << 2 | 1 << 3 | 1 << 4, 1 << 0 | 1 << 2 | 1 << 3},
        },
    [GROUP_STORES] = {.name = "stores", .n = 1, .roles = {ROLE_STORES}, .required = 1},
    [GROUP_LOADS] = {.name = "loads", .n = 1, .roles = {ROLE_LOADS}, .required = 1},
    [GROUP_PMM_RFO] = {.name = "pmm_rfo", .n = 1, .roles = {ROLE_PMM_RFO}, .required = 1},
    /* Two general counters, or three with the NMI watchdog: it takes turns with the core group. */
    [GROUP_TRAFFIC] = {.name = "traffic",
                       .n = 3,
                       .roles = {ROLE_CYCLES, ROLE_LLC_MISSES, ROLE_RFO},
                       .required = 1 << 1,
                       .fallback = {1 << 0 | 1 << 1, 1 << 1}},
    /* Six general counters: ref_cycles is the TSC, which needs none. With the NMI watchdog on one
     * of them five remain, which is enough for latencies; with four there are counts only. */
    [GROUP_FILLS] = {.name = "fills",
                     .n = 7,
                     .roles = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_INSTRUCTIONS,
                               ROLE_L1D_MISS_OCCUPANCY, ROLE_L1D_FILLS_L2, ROLE_L1D_FILLS_L3,
                               ROLE_L1D_FILLS_MEMORY},
                     .required = FILLS_CYCLES | FILLS_REF | FILLS_MEMORY,
                     .fallback = {FILLS_LATENCY, FILLS_CYCLES | FILLS_REF | FILLS_INSTRUCTIONS |
                                                     FILLS_L3 | FILLS_MEMORY}},
    [GROUP_SOURCES] = {.name = "sources",
                       .n = 4,
                       .roles = {ROLE_L1D_FILLS_NEAR_DRAM, ROLE_L1D_FILLS_FAR_DRAM,
                                 ROLE_L1D_FILLS_OTHER_CCX, ROLE_L1D_FILLS_CXL},
                       .required = 7},
    /* Six general counters beside the one of cycles; ref_cycles is a clock of the kernel's. */
    [GROUP_IN_FLIGHT] = {.name = "in_flight",
                         .n = 8,
                         .roles = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_INSTRUCTIONS,
                                   ROLE_LOADS_IN_FLIGHT, ROLE_LOAD_ACCESSES, ROLE_L1D_LOAD_MISSES,
                                   ROLE_LLC_READS, ROLE_L3_MISS_READS},
                         .required = 0xff & ~IN_FLIGHT_INSTRUCTIONS,
                         .fallback = {0xff & ~IN_FLIGHT_INSTRUCTIONS}},
    [GROUP_MISSES] = {.name = "misses",
                      .n = 6,
                      .roles = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_INSTRUCTIONS, ROLE_LLC_READS,
                                ROLE_L3_MISS_READS, ROLE_MEMORY_STALLS},
                      .required = 1 << 0 | 1 << 1 | 1 << 4,
                      .fallback = {1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5,
                                   1 << 0 | 1 << 1 | 1 << 4}},
    [GROUP_CPI] = {.name = "cpi",
                   .n = 3,
                   .roles = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_INSTRUCTIONS},
                   .required = 1 << 0 | 1 << 2,
                   .fallback = {1 << 0 | 1 << 2}},
    [GROUP_RPQ] = {.name = "rpq",
                   .unit = "imc",
                   .n = 3,
                   .roles = {ROLE_IMC_CLOCKTICKS, ROLE_RPQ_INSERTS, ROLE_RPQ_OCCUPANCY},
                   .required = 7},
    [GROUP_PMM_RPQ] = {.name = "pmm_rpq",
                       .unit = "imc",
                       .n = 3,
                       .roles = {ROLE_IMC_CLOCKTICKS, ROLE_PMM_RPQ_INSERTS, ROLE_PMM_RPQ_OCCUPANCY},
                       .required = 7},
    [GROUP_CAS] = {.name = "cas",
                   .unit = "imc",
                   .n = 2,
                   .roles = {ROLE_CAS_READS, ROLE_CAS_WRITES},
                   .required = 3},
    [GROUP_L3_NEAR_DRAM] = {.name = "l3_near_dram",
                            .unit = "l3",
                            .n = 2,
                            .roles = {ROLE_L3_NEAR_DRAM_WAIT, ROLE_L3_NEAR_DRAM_READS},
                            .required = 3},
    [GROUP_L3_FAR_DRAM] = {.name = "l3_far_dram",
                           .unit = "l3",
                           .n = 2,
                           .roles = {ROLE_L3_FAR_DRAM_WAIT, ROLE_L3_FAR_DRAM_READS},
                           .required = 3},
    [GROUP_L3_OTHER_CCX] = {.name = "l3_other_ccx",
                            .unit = "l3",
                            .n = 2,
                            .roles = {ROLE_L3_OTHER_CCX_WAIT, ROLE_L3_OTHER_CCX_READS},
                            .required = 3},
    [GROUP_L3_CXL] = {.name = "l3_cxl",
                      .unit = "l3",
                      .n = 2,
                      .roles = {ROLE_L3_CXL_WAIT, ROLE_L3_CXL_READS},
                      .required = 3},
    [GROUP_L3_ANY] = {.name = "l3_any",
                      .unit = "l3",
                      .n = 2,
                      .roles = {ROLE_L3_ANY_WAIT, ROLE_L3_ANY_READS},
                      .required = 3},
    [GROUP_L3_CLOCK] = {.name = "l3_clock",
                        .unit = "l3",
                        .n = 2,
                        .roles = {ROLE_L3_CPU_CYCLES, ROLE_L3_CPU_REF_CYCLES},
                        .required = 3},
    [GROUP_ASM_EPOCHS] = {.name = "asm_epochs",
                          .n = 13,
                          .roles = {ROLE_QUANTUM_CYCLES, ROLE_ACCESSES, ROLE_EPOCH_COUNT, ROLE_HITS,
                                    ROLE_MISSES, ROLE_HIT_TIME, ROLE_MISS_TIME, ROLE_ATS_HITS,
                                    ROLE_ATS_MISSES, ROLE_QUEUEING_CYCLES, ROLE_EPOCH_LENGTH,
                                    ROLE_SHADOW_CYCLES, ROLE_SHADOW_CACHE_CYCLES},
                          .required = 0x7ff},
    [GROUP_ACTIVITY] = {.name = "activity", .n = 1, .roles = {ROLE_CPU_TIME_NS}, .required = 1},
    [GROUP_PAGES] = {.name = "pages", .n = 1, .roles = {ROLE_NODE_BYTES}, .required = 1},
    [GROUP_WAITS] = {.name = "waits",
                     .n = 13,
                     .roles = {ROLE_CPU_TIME_NS, ROLE_QUOTA_PERIODS, ROLE_THROTTLED_PERIODS,
                               ROLE_CPU_SOME_NS, ROLE_CPU_FULL_NS, ROLE_MEMORY_SOME_NS,
                               ROLE_IO_SOME_NS, ROLE_MEMORY_LIMIT_EVENTS, ROLE_REFAULTS,
                               ROLE_RUN_DELAY_NS, ROLE_STEAL_NS, ROLE_NODE_MEMORY_SOME_NS,
                               ROLE_NODE_RECLAIMED},
                     .required = 1},
    [GROUP_BOUNDS] = {.name = "bounds",
                      .n = 5,
                      .roles = {ROLE_ENTITLED_NS, ROLE_QUOTA_NS, ROLE_CPU_SET, ROLE_MEMORY_BYTES,
                                ROLE_MEMORY_LIMIT_BYTES},
                      .required = 1 << 2},
    [GROUP_BANDWIDTH] = {.name = "bandwidth", .n = MON_VALUES, .roles = {MONITORED}},
    [GROUP_POD_BANDWIDTH] = {.name = "pod_bandwidth", .n = MON_VALUES, .roles = {MONITORED}},
    [GROUP_DELAYS] = {.name = "delays", .n = 1, .roles = {ROLE_RUN_DELAY_NS}, .required = 1},
};

const char *role_name(enum role role)
{
    return role_names[role];
}

int role_parse(const char *text, size_t len, enum role *out)
{
    for (int i = 0; i < ROLE_COUNT; i++) {
        if (strlen(role_names[i]) == len && memcmp(role_names[i], text, len) == 0) {
            *out = (enum role)i;
            return 0;
        }
    }
    return -ENOENT;
}

int group_parse(const char *text, size_t len, enum group *out)
{
    for (int i = 0; i < GROUP_COUNT; i++) {
        if (strlen(group_descs[i].name) == len && memcmp(group_descs[i].name, text, len) == 0) {
            *out = (enum group)i;
            return 0;
        }
    }
    return -ENOENT;
}

int group_index(enum group group, enum role role)
{
    for (size_t i = 0; i < group_descs[group].n; i++)
        if (group_descs[group].roles[i] == role)
            return (int)i;
    return -1;
}
