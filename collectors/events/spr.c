#include "collectors/events/events.h"

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
    .uncore_event =
        {
            {
                [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x01,umask=0x01/",
                [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x03/",
                [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/ + "
                                       "pmu:NAME/event=0x81,umask=0x00/",
                [ROLE_PMM_RPQ_INSERTS] = "pmu:NAME/event=0xe3,umask=0x00/",
                [ROLE_PMM_RPQ_OCCUPANCY] = "pmu:NAME/event=0xe0,umask=0x01/ + "
                                           "pmu:NAME/event=0xe0,umask=0x02/",
                [ROLE_CAS_READS] = "pmu:NAME/event=0x05,umask=0xcf/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x05,umask=0xf0/",
            },
        },
};
