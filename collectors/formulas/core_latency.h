/*
 * Memory read latency as a core sees it: Shen & Li 2020, "Runtime Estimation of Application Memory
 * Latency for Performance Analysis and Optimization", section 3, table 1 (FORMULAS.md section 1).
 *
 *     f       = cycles / ref_cycles * f_base                        [Hz]
 *     latency = (c_cache + occupancy / reads) / f                   [s]
 *
 * The four counts come from one group over one window, so their ratios need no scaling for
 * multiplexing; scaled alike they give the same result.
 *
 * Worked: f_base 2.1 GHz, cycles = ref_cycles, occupancy / reads 124.5, c_cache 44
 *         -> 168.50 cycles -> 80.238 ns.
 * Worked: cycles / ref_cycles 2.6 / 2.1, occupancy / reads 156.90 -> 200.90 cycles -> 77.269 ns.
 *
 * Everything is pure. A result that cannot be computed is -ENODATA, and the output is untouched.
 */
#ifndef IE_FORMULAS_CORE_LATENCY_H
#define IE_FORMULAS_CORE_LATENCY_H

#include <stdint.h>

struct core_latency_counts {
    uint64_t cycles;     /* unhalted core cycles */
    uint64_t ref_cycles; /* unhalted cycles at the TSC's frequency */
    uint64_t reads;      /* demand data reads that missed the LLC */
    uint64_t occupancy;  /* sum over cycles of such reads outstanding */
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

/* The mean core frequency while not halted. -ENODATA without cycles, ref_cycles or f_base. */
int core_frequency_hz(uint64_t cycles, uint64_t ref_cycles, double base_frequency_hz, double *out);

/*
 * 'cache_cycles' is c_cache, cycles to look through the caches: 44 on Cascade Lake, elsewhere
 * calibrated. -ENODATA when there was no read in the window, or when the frequency or c_cache is
 * unknown (0).
 */
int core_latency_estimate(const struct core_latency_counts *counts, double base_frequency_hz,
                          double cache_cycles, struct core_latency *out);

/*
 * The wait of a window over several CPUs:
 *
 *     wait = sum over CPUs of (c_cache reads_i + occupancy_i) / f_i,   latency = wait / sum reads_i
 *
 * Worked: two CPUs at a base of 2 GHz; one at 3.5 GHz makes 1e6 reads of 236 cycles, the other
 * spins at 2 GHz and reads nothing. c_cache 44: 80.0 ns, as the first CPU alone; the mean frequency
 * of both would say 101.8. -ENODATA as above.
 */
int core_latency_estimate_sums(const struct core_latency_sums *sums, double base_frequency_hz,
                               double cache_cycles, struct core_latency *out);

/*
 * c_cache from a thread that knows its true latency (the probe's pointer chase):
 *
 *     c_cache = true_latency * f - occupancy / reads                (ours, not the paper's)
 *
 * Worked: the first numbers above backwards: 80.238095 ns at 2.1 GHz, 124.5 -> 44.
 * -ENODATA as above; -ERANGE when the result is not positive: then the counters and the known
 * latency are not of the same reads; or when the caches would take more than the largest share of
 * the latency: then the occupancy misses most of what it should count.
 */
#define CORE_CACHE_LARGEST_SHARE 0.6
int core_latency_calibrate(const struct core_latency_counts *counts, double base_frequency_hz,
                           double true_latency_seconds, double *cache_cycles);

/*
 * |estimate - truth| / truth. Worked, table 2 of the paper: measured 88.8 ns, estimated 86.31 ns
 * -> 0.0280; 174.5 against 179.81 -> 0.0304, its worst. -ENODATA unless truth > 0.
 */
int core_latency_error_ratio(double estimate_seconds, double true_seconds, double *out);

#endif
