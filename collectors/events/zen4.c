#include "collectors/events/events.h"

/*
 * Zen 4: EPYC 9004 and 8004 (Genoa, Bergamo, Siena), Ryzen 7000, 8000. As Zen 3; memory behind CXL
 * is a source of its own (0x80).
 */
const struct event_table event_table_zen4 = {
    .microarchitecture = "zen4",
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
