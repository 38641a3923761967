#include "collectors/events/events.h"

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
    .event =
        {
            [ROLE_CYCLES] = "perf_raw::r0076",
            [ROLE_REF_CYCLES] = "pmu:msr/tsc/",
            [ROLE_INSTRUCTIONS] = "perf_raw::r00c0",
            [ROLE_L1D_MISS_OCCUPANCY] = "perf_raw::r005f",
            [ROLE_L1D_FILLS_L2] = "perf_raw::r0144",
            [ROLE_L1D_FILLS_L3] = "perf_raw::r0244",
            [ROLE_L1D_FILLS_MEMORY] = "perf_raw::r5c44",
            [ROLE_L1D_FILLS_NEAR_DRAM] = "perf_raw::r0844",
            [ROLE_L1D_FILLS_FAR_DRAM] = "perf_raw::r4044",
            [ROLE_L1D_FILLS_OTHER_CCX] = "perf_raw::r1444",
        },
    .channels = 1,
    .uncore_event =
        {
            {
                [ROLE_L3_ANY_WAIT] = "pmu:amd_l3/event=0x90/",
                [ROLE_L3_ANY_READS] = "pmu:amd_l3/event=0x9a,umask=0xff/",
                [ROLE_L3_CPU_CYCLES] = "pmu:msr/aperf/",
                [ROLE_L3_CPU_REF_CYCLES] = "pmu:msr/mperf/",
            },
        },
};
