/*
 * Memory read latency as a core sees it: Shen & Li 2020, "Runtime Estimation of Application Memory
 * Latency for Performance Analysis and Optimization", section 3, table 1 (FORMULAS.md section 1).
 *
 *     f       = cycles / ref_cycles * f_base                        [Hz]
 *     latency = (c_cache + occupancy / reads) / f                   [s]
 *
 * On Ice Lake and later the occupancy begins when the miss is known, so the look through the caches
 * is mostly in the mesh and the last-level cache, which have a clock of their own. It then has two
 * parts (ours, not the paper's):
 *
 *     latency = c_core / f + t_uncore + occupancy / reads / f       [s]
 *
 * The four counts come from one group over one window, so their ratios need no scaling for
 * multiplexing; scaled alike they give the same result.
 *
 * Worked: f_base 2.1 GHz, cycles = ref_cycles, occupancy / reads 124.5, c_cache 44
 *         -> 168.50 cycles -> 80.238 ns.
 * Worked: 2.0 GHz, c_core 16, t_uncore 30 ns, occupancy / reads 130 -> 8 + 30 + 65 = 103 ns.
 * Worked: cycles / ref_cycles 2.6 / 2.1, occupancy / reads 156.90 -> 200.90 cycles -> 77.269 ns.
 *
 * Everything is pure. A result that cannot be computed is -ENODATA, and the output is untouched.
 */
#ifndef IE_FORMULAS_CORE_LATENCY_H
#define IE_FORMULAS_CORE_LATENCY_H

#include <stdint.h>

#include "exporter/source/machine.h"

struct core_latency_counts {
    uint64_t cycles;     /* unhalted core cycles */
    uint64_t ref_cycles; /* unhalted cycles at the TSC's frequency */
    uint64_t reads;      /* demand data reads that missed the LLC */
    uint64_t occupancy;  /* sum over cycles of such reads outstanding */
};

/* The look through the caches. cycles 0: not known. */
struct core_cache {
    double cycles;  /* at the core's clock: c_cache, or c_core where there are two parts */
    double seconds; /* t_uncore; 0 where there is one part */
};

struct core_latency {
    double frequency_hz;    /* of several CPUs the mean over the reads, harmonic */
    double cycles;          /* of one read, the caches included */
    double latency_seconds; /* of one read */
    double wait_seconds;    /* latency x reads: adds up over windows and containers */
    double beyond_seconds;  /* of one read, what comes after the look-up in the caches */
};

/* The same for a window over several CPUs, each at a frequency of its own: sums over the CPUs of
 * a count times ref_cycles / cycles of its CPU (window.h). */
struct core_latency_sums {
    uint64_t reads;
    double reference_reads;     /* of reads */
    double reference_occupancy; /* of occupancy */
};

static inline struct core_cache core_cache_of(const struct machine *machine)
{
    return (struct core_cache){machine->cache_cycles, machine->cache_seconds};
}

/* Seconds of a look through the caches at this frequency; NaN when one of the two is not known. */
double core_cache_seconds(struct core_cache cache, double frequency_hz);

/* The mean core frequency while not halted. -ENODATA without cycles, ref_cycles or f_base. */
int core_frequency_hz(uint64_t cycles, uint64_t ref_cycles, double base_frequency_hz, double *out);

/*
 * 'cache': 44 cycles on Cascade Lake, elsewhere calibrated. -ENODATA when there was no read in the
 * window, or when the frequency or 'cache' is unknown.
 */
int core_latency_estimate(const struct core_latency_counts *counts, double base_frequency_hz,
                          struct core_cache cache, struct core_latency *out);

/*
 * The wait of a window over several CPUs:
 *
 *     wait = sum over CPUs of (c_cache reads_i + occupancy_i) / f_i + t_uncore reads_i
 *     latency = wait / sum reads_i
 *
 * Worked: two CPUs at a base of 2 GHz; one at 3.5 GHz makes 1e6 reads of 236 cycles, the other
 * spins at 2 GHz and reads nothing. c_cache 44: 80.0 ns, as the first CPU alone; the mean frequency
 * of both would say 101.8. -ENODATA as above.
 */
int core_latency_estimate_sums(const struct core_latency_sums *sums, double base_frequency_hz,
                               struct core_cache cache, struct core_latency *out);

/*
 * Where the occupancy is cycles stalled for memory: what a read stalls for, in the latency's place.
 * Less than a latency where reads overlap.
 * Worked: 4e6 reads, 2e8 stalled cycles at 2.5 GHz, in time 1e9 Hz: reference_occupancy 8e7
 * -> 20 ns per read. -ENODATA without reads or a base frequency.
 */
int core_latency_of_stalls(const struct core_latency_sums *sums, double base_frequency_hz,
                           struct core_latency *out);

/*
 * The look through the caches from a thread that knows its true latency, the probe's:
 *
 *     c_cache  = true_latency * f - occupancy / reads               (ours, not the paper's)
 *     t_uncore = true_latency - (c_core + occupancy / reads) / f    where c_core is given
 *
 * 'core_cycles': c_core, or 0 for one part, all in cycles.
 * Worked: the first numbers above backwards: 80.238095 ns at 2.1 GHz, 124.5 -> 44.
 * Worked: 99.2105 ns at 3.8 GHz, c_core 16, 247 cycles -> 30 ns. In one part these are 130 cycles,
 *         which at 2.0 GHz make 130 ns of the 103 above.
 * -ENODATA as above; -ERANGE when a part is not positive: then the counters and the known
 * latency are not of the same reads; or when the caches would take more than the largest share of
 * the latency: then the occupancy misses most of what it should count.
 */
#define CORE_CACHE_LARGEST_SHARE 0.6
int core_latency_calibrate(const struct core_latency_counts *counts, double base_frequency_hz,
                           double true_latency_seconds, double core_cycles, struct core_cache *out);

/*
 * |estimate - truth| / truth. Worked, table 2 of the paper: measured 88.8 ns, estimated 86.31 ns
 * -> 0.0280; 174.5 against 179.81 -> 0.0304, its worst. -ENODATA unless truth > 0.
 */
int core_latency_error_ratio(double estimate_seconds, double true_seconds, double *out);

#endif
