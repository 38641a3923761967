#include "collectors/events/events.h"

/*
 * Zen 2: EPYC 7002 (Rome), Ryzen 3000, 4000. Its cores count no misses in flight, so that there is
 * no latency per container; its L3 has one, as Zen 3's. Reference cycles are the TSC's, as there.
 */
const struct event_table event_table_zen2 = {
    .microarchitecture = "zen2",
    .models = "Zen 2: EPYC 7002",
    .known_error = "no latency of containers",
    .general_counters = 6,
    .no_fixed_counters = true,
    .event =
        {
            [ROLE_CYCLES] = "perf_raw::r0076",
            [ROLE_REF_CYCLES] = "pmu:msr/tsc/",
            [ROLE_INSTRUCTIONS] = "perf_raw::r00c0",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_L3_ANY_WAIT] = "pmu:amd_l3/event=0x90/",
                [ROLE_L3_ANY_READS] = "pmu:amd_l3/event=0x9a,umask=0x3f/",
                [ROLE_L3_CPU_CYCLES] = "pmu:msr/aperf/",
                [ROLE_L3_CPU_REF_CYCLES] = "pmu:msr/mperf/",
            },
        },
};
