#include "collectors/events/events.h"

/*
 * Skylake-SP: Cascade Lake's core, without persistent memory. Its own c_cache was never published;
 * the probe calibrates it.
 */
const struct event_table event_table_skx = {
    .microarchitecture = "skx",
    .models = "Skylake-SP",
    .known_error = "not known; Cascade Lake's core",
    .pmu_names = {"skylake"},
    .general_counters = 4,
    .event =
        {
            [ROLE_CYCLES] = "skx::UNHALTED_CORE_CYCLES",
            [ROLE_REF_CYCLES] = "skx::UNHALTED_REFERENCE_CYCLES",
            [ROLE_INSTRUCTIONS] = "skx::INSTRUCTION_RETIRED",
            [ROLE_L3_MISS_READS] = "skx::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_OCCUPANCY] =
                "skx::OFFCORE_REQUESTS_OUTSTANDING:L3_MISS_DEMAND_DATA_RD",
            [ROLE_LLC_READS] = "skx::OFFCORE_REQUESTS:DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_ACTIVE] =
                "skx::OFFCORE_REQUESTS_OUTSTANDING:CYCLES_WITH_L3_MISS_DEMAND_DATA_RD",
            [ROLE_LLC_READ_OCCUPANCY] = "skx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD",
            [ROLE_LLC_READ_ACTIVE] = "skx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD:c=1",
            [ROLE_STALLS_L3_MISS] = "skx::CYCLE_ACTIVITY:STALLS_L3_MISS",
            [ROLE_LOADS_LOCAL_DRAM] = "skx::MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",
            [ROLE_LOADS_REMOTE_DRAM] = "skx::MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM",
            [ROLE_STORES] = "skx::MEM_INST_RETIRED:ALL_STORES",
            [ROLE_LOADS] = "skx::MEM_INST_RETIRED:ALL_LOADS",
            [ROLE_LLC_MISSES] = "skx::LONGEST_LAT_CACHE:MISS",
            [ROLE_RFO] = "skx::OFFCORE_REQUESTS:DEMAND_RFO",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x00,umask=0x00/",
                [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x00/",
                [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/",
                [ROLE_CAS_READS] = "pmu:NAME/event=0x04,umask=0x03/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x04,umask=0x0c/",
            },
        },
};
