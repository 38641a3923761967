#include "collectors/events/events.h"

/*
 * Cascade Lake.
 */
const struct event_table event_table_clx = {
    .microarchitecture = "clx",
    .models = "Cascade Lake, Cooper Lake",
    .known_error = "at most 3.04 % (Shen & Li 2020, six cases on Cascade Lake)",
    .pmu_names = {"skylake"},
    /* Shen & Li 2020, section 3. */
    .cache_cycles = 44,
    .general_counters = 4,
    .event =
        {
            [ROLE_CYCLES] = "clx::UNHALTED_CORE_CYCLES",
            [ROLE_REF_CYCLES] = "clx::UNHALTED_REFERENCE_CYCLES",
            [ROLE_INSTRUCTIONS] = "clx::INSTRUCTION_RETIRED",
            [ROLE_L3_MISS_READS] = "clx::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_OCCUPANCY] =
                "clx::OFFCORE_REQUESTS_OUTSTANDING:L3_MISS_DEMAND_DATA_RD",
            [ROLE_LLC_READS] = "clx::OFFCORE_REQUESTS:DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_ACTIVE] =
                "clx::OFFCORE_REQUESTS_OUTSTANDING:CYCLES_WITH_L3_MISS_DEMAND_DATA_RD",
            [ROLE_LLC_READ_OCCUPANCY] = "clx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD",
            [ROLE_LLC_READ_ACTIVE] = "clx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD:c=1",
            [ROLE_STALLS_L3_MISS] = "clx::CYCLE_ACTIVITY:STALLS_L3_MISS",
            [ROLE_LOADS_LOCAL_DRAM] = "clx::MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",
            [ROLE_LOADS_REMOTE_DRAM] = "clx::MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM",
            [ROLE_LOADS_LOCAL_PMM] = "clx::MEM_LOAD_RETIRED:LOCAL_PMM",
            [ROLE_LOADS_REMOTE_PMM] = "clx::MEM_LOAD_L3_MISS_RETIRED:REMOTE_PMM",
            [ROLE_STORES] = "clx::MEM_INST_RETIRED:ALL_STORES",
            [ROLE_LOADS] = "clx::MEM_INST_RETIRED:ALL_LOADS",
            [ROLE_LLC_MISSES] = "clx::LONGEST_LAT_CACHE:MISS",
            [ROLE_RFO] = "clx::OFFCORE_REQUESTS:DEMAND_RFO",
            [ROLE_PMM_RFO] = "clx::OFFCORE_RESPONSE_0:0x3f80400002",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x00,umask=0x00/",
                [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x00/",
                [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/",
                [ROLE_PMM_RPQ_INSERTS] = "pmu:NAME/event=0xe3,umask=0x00/",
                [ROLE_PMM_RPQ_OCCUPANCY] = "pmu:NAME/event=0xe0,umask=0x01/",
                [ROLE_CAS_READS] = "pmu:NAME/event=0x04,umask=0x03/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x04,umask=0x0c/",
            },
        },
};
