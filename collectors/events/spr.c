#include "collectors/events/events.h"

/* Raw, because libpfm4 4.13 knows neither Emerald nor Granite Rapids, and refuses the spr names
 * there. */
#define RAW_EVENTS                                                                                 \
    [ROLE_CYCLES] = "perf_raw::r003c", [ROLE_REF_CYCLES] = "perf_raw::r0300",                      \
    [ROLE_INSTRUCTIONS] = "perf_raw::r00c0", [ROLE_L3_MISS_READS] = "perf_raw::r1021",             \
    [ROLE_L3_MISS_READ_OCCUPANCY] = "perf_raw::r1020", [ROLE_LLC_READS] = "perf_raw::r0121",       \
    [ROLE_L3_MISS_READ_ACTIVE] = "perf_raw::r1001020",                                             \
    [ROLE_LLC_READ_OCCUPANCY] = "perf_raw::r0120", [ROLE_LLC_READ_ACTIVE] = "perf_raw::r1000120",  \
    [ROLE_STALLS_L3_MISS] = "perf_raw::r60006a3", [ROLE_LOADS_LOCAL_DRAM] = "perf_raw::r01d3",     \
    [ROLE_LOADS_REMOTE_DRAM] = "perf_raw::r02d3", [ROLE_STORES] = "perf_raw::r82d0",               \
    [ROLE_LOADS] = "perf_raw::r81d0", [ROLE_LLC_MISSES] = "perf_raw::r412e",                       \
    [ROLE_RFO] = "perf_raw::r0421"

#define QUEUES                                                                                     \
    [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x01,umask=0x01/",                                     \
    [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x03/",                                        \
    [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/ + "                                    \
                           "pmu:NAME/event=0x81,umask=0x00/",                                      \
    [ROLE_PMM_RPQ_INSERTS] = "pmu:NAME/event=0xe3,umask=0x00/",                                    \
    [ROLE_PMM_RPQ_OCCUPANCY] = "pmu:NAME/event=0xe0,umask=0x01/ + "                                \
                               "pmu:NAME/event=0xe0,umask=0x02/",                                  \
    [ROLE_CAS_READS] = "pmu:NAME/event=0x05,umask=0xcf/",                                          \
    [ROLE_CAS_WRITES] = "pmu:NAME/event=0x05,umask=0xf0/"

/*
 * Sapphire Rapids. libpfm4 4.13 has no names for some unit masks: raw ones. The occupancy
 * counts only from when the miss is known, so c_cache is not Cascade Lake's: calibrated.
 * Read queues as on Ice Lake; persistent memory's occupancy counts by subchannel, its inserts once.
 */
const struct event_table event_table_spr = {
    .microarchitecture = "spr",
    .models = "Sapphire Rapids",
    .known_error = "not known",
    .pmu_names = {"sapphire_rapids"},
    .cache_core_cycles = 16,
    .general_counters = 4,
    .event =
        {
            [ROLE_CYCLES] = "spr::UNHALTED_CORE_CYCLES",
            [ROLE_REF_CYCLES] = "spr::UNHALTED_REFERENCE_CYCLES",
            [ROLE_INSTRUCTIONS] = "spr::INSTRUCTION_RETIRED",
            [ROLE_L3_MISS_READS] = "spr::OFFCORE_REQUESTS:0x10",
            [ROLE_L3_MISS_READ_OCCUPANCY] = "spr::OFFCORE_REQUESTS_OUTSTANDING:0x10",
            [ROLE_LLC_READS] = "spr::OFFCORE_REQUESTS:DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_ACTIVE] = "spr::OFFCORE_REQUESTS_OUTSTANDING:0x10:c=1",
            [ROLE_LLC_READ_OCCUPANCY] = "spr::OFFCORE_REQUESTS_OUTSTANDING:0x01",
            [ROLE_LLC_READ_ACTIVE] = "spr::OFFCORE_REQUESTS_OUTSTANDING:0x01:c=1",
            [ROLE_STALLS_L3_MISS] = "spr::CYCLE_ACTIVITY:STALLS_L3_MISS",
            [ROLE_LOADS_LOCAL_DRAM] = "spr::MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",
            [ROLE_LOADS_REMOTE_DRAM] = "spr::MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM",
            [ROLE_LOADS_LOCAL_PMM] = "spr::MEM_LOAD_RETIRED:LOCAL_PMM",
            [ROLE_LOADS_REMOTE_PMM] = "spr::MEM_LOAD_L3_MISS_RETIRED:REMOTE_PMM",
            [ROLE_STORES] = "spr::MEM_INST_RETIRED:ALL_STORES",
            [ROLE_LOADS] = "spr::MEM_INST_RETIRED:ALL_LOADS",
            [ROLE_LLC_MISSES] = "spr::LONGEST_LAT_CACHE:MISS",
            [ROLE_RFO] = "spr::OFFCORE_REQUESTS:0x04",
        },
    .channels = 1,
    .uncore_event = {{QUEUES}},
};

/* Emerald Rapids: Sapphire Rapids' core and memory controller. c_cache is calibrated. */
const struct event_table event_table_emr = {
    .microarchitecture = "emr",
    .models = "Emerald Rapids",
    .known_error = "not known",
    .pmu_names = {"sapphire_rapids"},
    .cache_core_cycles = 16,
    .general_counters = 4,
    .event = {RAW_EVENTS},
    .channels = 1,
    .uncore_event = {{QUEUES}},
};

/*
 * Granite Rapids, without persistent memory. A group for each of the two subchannels, whose two
 * pseudo-channels are summed. The two groups take turns. c_cache is calibrated.
 */
const struct event_table event_table_gnr = {
    .microarchitecture = "gnr",
    .models = "Granite Rapids",
    .known_error = "not known",
    .pmu_names = {"granite_rapids", "sapphire_rapids"}, /* from Linux 6.11 on, before */
    .cache_core_cycles = 16,
    .general_counters = 4,
    .event = {RAW_EVENTS},
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
