#include "collectors/events/events.h"

/*
 * Zen 5: EPYC 9005 (Turin), Ryzen 9000; and Zen 6, whose published events are the same for all of
 * these roles. As Zen 4. llc_misses: fills of the L2 from beyond the core complex, all of its
 * prefetchers included (event 0x165, whose high bits stand at bit 32).
 */
const struct event_table event_table_zen5 = {
    .microarchitecture = "zen5",
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
            [ROLE_LLC_MISSES] = "perf_raw::r10000dc65",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_CAS_READS] = "pmu:NAME/event=0x0a,rdwrmask=1/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x0a,rdwrmask=2/",
            },
        },
};
