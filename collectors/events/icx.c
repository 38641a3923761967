#include "collectors/events/events.h"

/*
 * Ice Lake-SP. A channel's read queue counts by pseudo-channel: inserts by bits of the unit mask,
 * occupancy by events of its own. The four counters of a box hold both.
 * Intel says of the L3-miss occupancy here, as of later CPUs, that it counts only from when the
 * miss is known, and marks OFFCORE_REQUESTS_OUTSTANDING:L3_MISS_DEMAND_DATA_RD as deprecated: the
 * latency is unconfirmed until its error was seen on silicon.
 * pmm_rfo: requests for ownership that local persistent memory served, as on Cascade Lake.
 */
const struct event_table event_table_icx = {
    .microarchitecture = "icx",
    .models = "Ice Lake-SP",
    .known_error = "not known",
    .pmu_names = {"icelake"},
    .cache_core_cycles = 16,
    .general_counters = 4,
    .event =
        {
            [ROLE_CYCLES] = "icx::UNHALTED_CORE_CYCLES",
            [ROLE_REF_CYCLES] = "icx::UNHALTED_REFERENCE_CYCLES",
            [ROLE_INSTRUCTIONS] = "icx::INSTRUCTION_RETIRED",
            [ROLE_L3_MISS_READS] = "icx::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_OCCUPANCY] =
                "icx::OFFCORE_REQUESTS_OUTSTANDING:L3_MISS_DEMAND_DATA_RD",
            [ROLE_LLC_READS] = "icx::OFFCORE_REQUESTS:DEMAND_DATA_RD",
            [ROLE_L3_MISS_READ_ACTIVE] =
                "icx::OFFCORE_REQUESTS_OUTSTANDING:CYCLES_WITH_L3_MISS_DEMAND_DATA_RD",
            [ROLE_LLC_READ_OCCUPANCY] = "icx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD",
            [ROLE_LLC_READ_ACTIVE] = "icx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD:c=1",
            [ROLE_STALLS_L3_MISS] = "icx::CYCLE_ACTIVITY:STALLS_L3_MISS",
            [ROLE_LOADS_LOCAL_DRAM] = "icx::MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",
            [ROLE_LOADS_REMOTE_DRAM] = "icx::MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM",
            [ROLE_LOADS_LOCAL_PMM] = "icx::MEM_LOAD_RETIRED:LOCAL_PMM",
            [ROLE_LOADS_REMOTE_PMM] = "icx::MEM_LOAD_L3_MISS_RETIRED:REMOTE_PMM",
            [ROLE_STORES] = "icx::MEM_INST_RETIRED:ALL_STORES",
            [ROLE_LOADS] = "icx::MEM_INST_RETIRED:ALL_LOADS",
            [ROLE_LLC_MISSES] = "icx::LONGEST_LAT_CACHE:MISS",
            [ROLE_RFO] = "icx::OFFCORE_REQUESTS:DEMAND_RFO",
            [ROLE_PMM_RFO] = "icx::OCR:0x100400002",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x00,umask=0x00/",
                [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x03/",
                [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/ + "
                                       "pmu:NAME/event=0x81,umask=0x00/",
                [ROLE_PMM_RPQ_INSERTS] = "pmu:NAME/event=0xe3,umask=0x00/",
                [ROLE_PMM_RPQ_OCCUPANCY] = "pmu:NAME/event=0xe0,umask=0x01/",
                [ROLE_CAS_READS] = "pmu:NAME/event=0x04,umask=0x0f/",
                [ROLE_CAS_WRITES] = "pmu:NAME/event=0x04,umask=0x30/",
            },
        },
};
