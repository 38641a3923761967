#include "collectors/events/events.h"

/* Of all of them. A CPU's table is what it has in common with those before, and what differs. */
#define CORE_EVENTS                                                                                \
    [ROLE_CYCLES] = "perf_raw::r0076", [ROLE_REF_CYCLES] = "pmu:msr/tsc/",                         \
    [ROLE_INSTRUCTIONS] = "perf_raw::r00c0",

/* From Zen 3 on. */
#define FILL_EVENTS                                                                                \
    [ROLE_L1D_MISS_OCCUPANCY] = "perf_raw::r005f", [ROLE_L1D_FILLS_L2] = "perf_raw::r0144",        \
    [ROLE_L1D_FILLS_L3] = "perf_raw::r0244", [ROLE_L1D_FILLS_NEAR_DRAM] = "perf_raw::r0844",       \
    [ROLE_L1D_FILLS_FAR_DRAM] = "perf_raw::r4044", [ROLE_L1D_FILLS_OTHER_CCX] = "perf_raw::r1444",

/* The L3's of Zen 2 and 3. */
#define L3_EVENTS(any)                                                                             \
    [ROLE_L3_ANY_WAIT] = "pmu:amd_l3/event=0x90/",                                                 \
    [ROLE_L3_ANY_READS] = "pmu:amd_l3/event=0x9a,umask=" #any "/",                                 \
    [ROLE_L3_CPU_CYCLES] = "pmu:msr/aperf/", [ROLE_L3_CPU_REF_CYCLES] = "pmu:msr/mperf/"

/* Of all cores, threads and slices: the kernel fills them in only where no thread mask is given,
 * and then for one slice. */
#define L3_SAMPLED(event, umask)                                                                   \
    "pmu:amd_l3/event=" #event ",umask=" #umask                                                    \
    ",enallcores=1,enallslices=1,sliceid=3,threadmask=3/"

/* From Zen 4 on, with memory behind CXL. */
#define CXL_EVENTS                                                                                 \
    [ROLE_L1D_FILLS_MEMORY] = "perf_raw::rdc44", [ROLE_L1D_FILLS_CXL] = "perf_raw::r8044",

#define SAMPLED_L3_EVENTS                                                                          \
    [ROLE_CAS_READS] = "pmu:NAME/event=0x0a,rdwrmask=1/",                                          \
    [ROLE_CAS_WRITES] = "pmu:NAME/event=0x0a,rdwrmask=2/",                                         \
    [ROLE_L3_NEAR_DRAM_WAIT] = L3_SAMPLED(0xac, 0x01),                                             \
    [ROLE_L3_NEAR_DRAM_READS] = L3_SAMPLED(0xad, 0x01),                                            \
    [ROLE_L3_FAR_DRAM_WAIT] = L3_SAMPLED(0xac, 0x02),                                              \
    [ROLE_L3_FAR_DRAM_READS] = L3_SAMPLED(0xad, 0x02),                                             \
    [ROLE_L3_OTHER_CCX_WAIT] = L3_SAMPLED(0xac, 0x0c),                                             \
    [ROLE_L3_OTHER_CCX_READS] = L3_SAMPLED(0xad, 0x0c),                                            \
    [ROLE_L3_CXL_WAIT] = L3_SAMPLED(0xac, 0x30), [ROLE_L3_CXL_READS] = L3_SAMPLED(0xad, 0x30)

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
    .event = {CORE_EVENTS},
    .channels = 1,
    .uncore_event = {{L3_EVENTS(0x3f)}},
};

/*
 * Zen 3: EPYC 7003 (Milan), Ryzen 5000, 6000. Raw, as all of AMD's tables: libpfm4 4.13 refuses the
 * names of another CPU than the running one, and does not know Zen 5.
 *
 * Reference cycles are the TSC's, by the kernel's msr PMU, on all three. It needs no counter, so
 * that the six hold the rest, and the kernel lets it into a group of the core's events (its context
 * is the software events'). A container's thread that runs is not halted, so the TSC counts what
 * MPERF would, which virtual machines do not have, and what event 0x120 would, which Zen 3 does not
 * document and which takes a counter. But time that a hypervisor steals counts, too: frequencies
 * come out too low, and latencies too high, by the share of stolen time.
 *
 * Fills from memory are of all sources beyond the core complex: DRAM near and far (0x48), caches of
 * other complexes, near and far (0x14).
 *
 * The L3 counts what waits in its own clock, whose frequency follows the fastest core's; here, that
 * of the complex's first CPU while it is not halted.
 */
const struct event_table event_table_zen3 = {
    .microarchitecture = "zen3",
    .models = "Zen 3: EPYC 7003",
    .known_error = "not known",
    .l1d_hit_cycles = 4,
    .general_counters = 6,
    .no_fixed_counters = true,
    .event = {[ROLE_L1D_FILLS_MEMORY] = "perf_raw::r5c44", CORE_EVENTS FILL_EVENTS},
    .channels = 1,
    .uncore_event = {{L3_EVENTS(0xff)}},
};

/*
 * Zen 4: EPYC 9004 and 8004 (Genoa, Bergamo, Siena), Ryzen 7000, 8000. As Zen 3; memory behind CXL
 * is a source of its own (0x80).
 */
const struct event_table event_table_zen4 = {
    .microarchitecture = "zen4",
    .models = "Zen 4: EPYC 9004, 8004",
    .known_error = "not known",
    .l1d_hit_cycles = 4,
    .general_counters = 6,
    .no_fixed_counters = true,
    .event = {CORE_EVENTS FILL_EVENTS CXL_EVENTS},
    .channels = 1,
    .uncore_event = {{SAMPLED_L3_EVENTS}},
};

/*
 * Zen 5: EPYC 9005 (Turin), Ryzen 9000; and Zen 6, whose published events are the same for all of
 * these roles. As Zen 4. llc_misses: fills of the L2 from beyond the core complex, all of its
 * prefetchers included (event 0x165, whose high bits stand at bit 32).
 */
const struct event_table event_table_zen5 = {
    .microarchitecture = "zen5",
    .models = "Zen 5: EPYC 9005; Zen 6",
    .known_error = "not known",
    .l1d_hit_cycles = 4,
    .general_counters = 6,
    .no_fixed_counters = true,
    .event = {[ROLE_LLC_MISSES] = "perf_raw::r10000dc65", CORE_EVENTS FILL_EVENTS CXL_EVENTS},
    .channels = 1,
    .uncore_event = {{SAMPLED_L3_EVENTS}},
};
