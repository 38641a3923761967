#include "collectors/events/events.h"

/* From Skylake-SP to Ice Lake-SP: libpfm4 has the same names for all three. */
#define CORE_EVENTS(cpu)                                                                           \
    [ROLE_CYCLES] = cpu "::UNHALTED_CORE_CYCLES",                                                  \
    [ROLE_REF_CYCLES] = cpu "::UNHALTED_REFERENCE_CYCLES",                                         \
    [ROLE_INSTRUCTIONS] = cpu "::INSTRUCTION_RETIRED",                                             \
    [ROLE_L3_MISS_READS] = cpu "::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD",                        \
    [ROLE_L3_MISS_READ_OCCUPANCY] = cpu "::OFFCORE_REQUESTS_OUTSTANDING:L3_MISS_DEMAND_DATA_RD",   \
    [ROLE_LLC_READS] = cpu "::OFFCORE_REQUESTS:DEMAND_DATA_RD",                                    \
    [ROLE_L3_MISS_READ_ACTIVE] =                                                                   \
        cpu "::OFFCORE_REQUESTS_OUTSTANDING:CYCLES_WITH_L3_MISS_DEMAND_DATA_RD",                   \
    [ROLE_LLC_READ_OCCUPANCY] = cpu "::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD",               \
    [ROLE_LLC_READ_ACTIVE] = cpu "::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_DATA_RD:c=1",              \
    [ROLE_STALLS_L3_MISS] = cpu "::CYCLE_ACTIVITY:STALLS_L3_MISS",                                 \
    [ROLE_LOADS_LOCAL_DRAM] = cpu "::MEM_LOAD_L3_MISS_RETIRED:LOCAL_DRAM",                         \
    [ROLE_LOADS_REMOTE_DRAM] = cpu "::MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM",                       \
    [ROLE_STORES] = cpu "::MEM_INST_RETIRED:ALL_STORES",                                           \
    [ROLE_LOADS] = cpu "::MEM_INST_RETIRED:ALL_LOADS",                                             \
    [ROLE_LLC_MISSES] = cpu "::LONGEST_LAT_CACHE:MISS",                                            \
    [ROLE_RFO] = cpu "::OFFCORE_REQUESTS:DEMAND_RFO"

#define PMM_LOADS(cpu)                                                                             \
    [ROLE_LOADS_LOCAL_PMM] = cpu "::MEM_LOAD_RETIRED:LOCAL_PMM",                                   \
    [ROLE_LOADS_REMOTE_PMM] = cpu "::MEM_LOAD_L3_MISS_RETIRED:REMOTE_PMM"

/* Of Skylake-SP and Cascade Lake. */
#define QUEUES                                                                                     \
    [ROLE_IMC_CLOCKTICKS] = "pmu:NAME/event=0x00,umask=0x00/",                                     \
    [ROLE_RPQ_INSERTS] = "pmu:NAME/event=0x10,umask=0x00/",                                        \
    [ROLE_RPQ_OCCUPANCY] = "pmu:NAME/event=0x80,umask=0x00/",                                      \
    [ROLE_CAS_READS] = "pmu:NAME/event=0x04,umask=0x03/",                                          \
    [ROLE_CAS_WRITES] = "pmu:NAME/event=0x04,umask=0x0c/"

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
    .event = {CORE_EVENTS("skx")},
    .channels = 1,
    .uncore_event = {{QUEUES}},
};

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
            CORE_EVENTS("clx"),
            PMM_LOADS("clx"),
            [ROLE_PMM_RFO] = "clx::OFFCORE_RESPONSE_0:0x3f80400002",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                QUEUES,
                [ROLE_PMM_RPQ_INSERTS] = "pmu:NAME/event=0xe3,umask=0x00/",
                [ROLE_PMM_RPQ_OCCUPANCY] = "pmu:NAME/event=0xe0,umask=0x01/",
            },
        },
};

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
            CORE_EVENTS("icx"),
            PMM_LOADS("icx"),
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
