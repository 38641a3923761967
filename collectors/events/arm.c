#include "collectors/events/events.h"

/*
 * Arm's server cores, and cores of others with Arm's numbers: from ARM-software/data (pmu/, January
 * 2025) and the files of Linux's perf tool. No fixed counter but that of cycles, which the kernel
 * gives to event 0x11. The frequency of what counts at a constant one (CNT_CYCLES) is the system
 * counter's, which nobody tells us, and takes a counter: so time is the kernel's, in nanoseconds.
 *
 * Last-level reads and misses are what CPUECTLR.EXTLLC makes them: of the interconnect's cache
 * where the firmware sets it, as it does where there is one, else of the last cache of the cluster.
 */
#define BASICS                                                                                     \
    [ROLE_CYCLES] = "perf_raw::r0011", [ROLE_REF_CYCLES] = "software:cpu-clock",                   \
    [ROLE_INSTRUCTIONS] = "perf_raw::r0008"
#define LAST_LEVEL [ROLE_LLC_READS] = "perf_raw::r0036", [ROLE_L3_MISS_READS] = "perf_raw::r0037"
#define STALLS [ROLE_MEMORY_STALLS] = "perf_raw::r4005"
#define IN_FLIGHT(l1_misses)                                                                       \
    [ROLE_LOADS_IN_FLIGHT] = "perf_raw::r8121", [ROLE_LOAD_ACCESSES] = "perf_raw::r0066",          \
    [ROLE_L1D_LOAD_MISSES] = (l1_misses)

/* In simulation: tests/simnode/RESULTS-arm.md. */
#define SHARED_LINES "not known; too high where loads wait for one line together"

/* The rows that a core has, and what is the same for all. */
#define ARM(name, machines, error, l1_cycles, ...)                                                 \
    {                                                                                              \
        .microarchitecture = (name), .models = (machines), .known_error = (error),                 \
        .l1d_hit_cycles = (l1_cycles), .l1d_hits_in_flight = (l1_cycles) > 0, .ref_is_time = true, \
        .general_counters = 6, .event = {BASICS, __VA_ARGS__},                                     \
    }

/* L1D_CACHE_REFILL_RD; N3 has none, and its L1D_CACHE_LMISS_RD is, on V3, the same count. */
const struct event_table event_table_neoverse_v3 =
    ARM("neoverse-v3", "Neoverse V3: AWS 9g", SHARED_LINES, 4, LAST_LEVEL, STALLS,
        IN_FLIGHT("perf_raw::r0042"));
const struct event_table event_table_neoverse_n3 =
    ARM("neoverse-n3", "Neoverse N3", SHARED_LINES, 4, LAST_LEVEL, STALLS,
        IN_FLIGHT("perf_raw::r0039"));
/* Vera. LL_CACHE_RD includes prefetches of the core, by its own file: the probe judges. */
const struct event_table event_table_olympus = ARM(
    "olympus", "NVIDIA Vera", SHARED_LINES, 4, LAST_LEVEL, STALLS, IN_FLIGHT("perf_raw::r0042"));

const struct event_table event_table_neoverse_v2 =
    ARM("neoverse-v2", "Neoverse V2: AWS 8g, Google C4A, NVIDIA Grace", "no latency", 0, LAST_LEVEL,
        STALLS);
const struct event_table event_table_neoverse_n2 =
    ARM("neoverse-n2", "Neoverse N2: Azure Cobalt 100", "no latency", 0, LAST_LEVEL, STALLS);
const struct event_table event_table_neoverse_v1 =
    ARM("neoverse-v1", "Neoverse V1: AWS 7g", "no latency", 0, LAST_LEVEL, STALLS);

/* Stalls, but not what they wait for. */
const struct event_table event_table_neoverse_n1 =
    ARM("neoverse-n1", "Neoverse N1: AWS 6g, Ampere Altra", "no latency", 0, LAST_LEVEL);
/* Its files have no event of a last-level cache, and none of loads in flight. */
const struct event_table event_table_ampereone =
    ARM("ampereone", "AmpereOne", "no latency", 0, STALLS);
