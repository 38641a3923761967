#include "collectors/events/events.h"

/*
 * Granite Rapids, raw because libpfm4 4.13 does not know it; no persistent memory. A group for each
 * of the two subchannels, whose two pseudo-channels are summed. The two groups take turns.
 * c_cache is calibrated.
 */
const struct event_table event_table_gnr = {
    .microarchitecture = "gnr",
    .models = "Granite Rapids",
    .known_error = "not known",
    .pmu_names = {"granite_rapids", "sapphire_rapids"}, /* from Linux 6.11 on, before */
    .cache_core_cycles = 16,
    .general_counters = 4,
    .event =
        {
            [ROLE_CYCLES] = "perf_raw::r003c",
            [ROLE_REF_CYCLES] = "perf_raw::r0300",
            [ROLE_INSTRUCTIONS] = "perf_raw::r00c0",
            [ROLE_L3_MISS_READS] = "perf_raw::r1021",
            [ROLE_L3_MISS_READ_OCCUPANCY] = "perf_raw::r1020",
            [ROLE_LLC_READS] = "perf_raw::r0121",
            [ROLE_L3_MISS_READ_ACTIVE] = "perf_raw::r1001020",
            [ROLE_LLC_READ_OCCUPANCY] = "perf_raw::r0120",
            [ROLE_LLC_READ_ACTIVE] = "perf_raw::r1000120",
            [ROLE_STALLS_L3_MISS] = "perf_raw::r60006a3",
            [ROLE_LOADS_LOCAL_DRAM] = "perf_raw::r01d3",
            [ROLE_LOADS_REMOTE_DRAM] = "perf_raw::r02d3",
            [ROLE_STORES] = "perf_raw::r82d0",
            [ROLE_LOADS] = "perf_raw::r81d0",
            [ROLE_LLC_MISSES] = "perf_raw::r412e",
            [ROLE_RFO] = "perf_raw::r0421",
        },
    .channels = 2,
    .uncore_event =
        {
            {
                [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x01,umask=0x01/",
                [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x30/",
                [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/ + "
                                       "pmu:NAME/event=0x81,umask=0x00/",
                [ROLE_CAS_READS] = "pmu:NAME/event=0x05,umask=0xcf/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x05,umask=0xf0/",
            },
            {
                [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x01,umask=0x01/",
                [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0xc0/",
                [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x82,umask=0x00/ + "
                                       "pmu:NAME/event=0x83,umask=0x00/",
                [ROLE_CAS_READS] = "pmu:NAME/event=0x06,umask=0xcf/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x06,umask=0xf0/",
            },
        },
};
