#include "collectors/events/events.h"

/* Of all cores, threads and slices: the kernel fills them in only where no thread mask is given,
 * and then for one slice. */
#define L3_SAMPLED(event, umask)                                                                   \
    "pmu:amd_l3/event=" #event ",umask=" #umask                                                    \
    ",enallcores=1,enallslices=1,sliceid=3,threadmask=3/"

/*
 * Zen 4: EPYC 9004 and 8004 (Genoa, Bergamo, Siena), Ryzen 7000, 8000. As Zen 3; memory behind CXL
 * is a source of its own (0x80).
 */
const struct event_table event_table_zen4 = {
    .microarchitecture = "zen4",
    .models = "Zen 4: EPYC 9004, 8004",
    .known_error = "not known",
    .l1d_hit_cycles = 4,
    .general_counters = 6,
    .no_fixed_counters = true,
    .event =
        {
            [ROLE_CYCLES] = "perf_raw::r0076",
            [ROLE_REF_CYCLES] = "pmu:msr/tsc/",
            [ROLE_INSTRUCTIONS] = "perf_raw::r00c0",
            [ROLE_L1D_MISS_OCCUPANCY] = "perf_raw::r005f",
            [ROLE_L1D_FILLS_L2] = "perf_raw::r0144",
            [ROLE_L1D_FILLS_L3] = "perf_raw::r0244",
            [ROLE_L1D_FILLS_MEMORY] = "perf_raw::rdc44",
            [ROLE_L1D_FILLS_NEAR_DRAM] = "perf_raw::r0844",
            [ROLE_L1D_FILLS_FAR_DRAM] = "perf_raw::r4044",
            [ROLE_L1D_FILLS_OTHER_CCX] = "perf_raw::r1444",
            [ROLE_L1D_FILLS_CXL] = "perf_raw::r8044",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_CAS_READS] = "pmu:NAME/event=0x0a,rdwrmask=1/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x0a,rdwrmask=2/",
                [ROLE_L3_NEAR_DRAM_WAIT] = L3_SAMPLED(0xac, 0x01),
                [ROLE_L3_NEAR_DRAM_READS] = L3_SAMPLED(0xad, 0x01),
                [ROLE_L3_FAR_DRAM_WAIT] = L3_SAMPLED(0xac, 0x02),
                [ROLE_L3_FAR_DRAM_READS] = L3_SAMPLED(0xad, 0x02),
                [ROLE_L3_OTHER_CCX_WAIT] = L3_SAMPLED(0xac, 0x0c),
                [ROLE_L3_OTHER_CCX_READS] = L3_SAMPLED(0xad, 0x0c),
                [ROLE_L3_CXL_WAIT] = L3_SAMPLED(0xac, 0x30),
                [ROLE_L3_CXL_READS] = L3_SAMPLED(0xad, 0x30),
            },
        },
};
