/*
 * What it would cost a container to have its memory elsewhere: Serrano et al. 2011, "A Cluster
 * Computer Performance Predictor for Memory Scheduling", section 3 (FORMULAS.md section 5), and
 * what one sample tells (ours).
 *
 * The paper runs a program once with all memory in each region and weights what it saw, equation 4:
 *
 *     T = sum over regions of C_x f_x + k
 *
 * C_x are the stall cycles of the sample with all memory in region x, f_x is the share of accesses
 * (not of pages) to region x, and k is what does not depend on the region: the mean over the
 * samples of their cycles less C_x.
 *
 * Worked, FFT: C = 44687, 62236, 166757, k 2721346.3; f (.5, .5, 0) -> 2774807.8 cycles, where a
 *         cycle-accurate simulation has 2774931; f (0, 0, 1) -> 2888103.3.
 *
 * An exporter has one sample: the container where it is. Ours is then the number of reads that it
 * waits for one after another, its serial reads N; in any one unit of time:
 *
 *     lat = occupancy / reads
 *     MLP = max(1, occupancy / active)                                memory-level parallelism
 *     N   = min(reads, active / (lat + cache (1 - 1 / MLP)), T / (lat + cache))
 *     T(target) = T + N (latency(target) - latency(now))
 *
 * Misses one at a time leave a gap, the look through the caches, in 'active', so that a period is
 * lat; overlapping ones hide it, and a period is lat + cache. Work that goes on beside a read is in
 * 'active', too; but no more reads fit into T one after another than T / (lat + cache).
 *
 * Worked: reads 2e6, occupancy 6e8, active 4e8, cache 44 -> lat 300, MLP 1.5,
 *         N = 4e8 / (300 + 44 / 3) = 1271186.4407.
 * Worked: reads 1e6, occupancy = active = 1.245e8, a chase -> N = 1e6: every read is serial.
 * Worked: reads 1e6, occupancy 1.5e8, active 1.5e7 -> MLP 10, N = 79113.9241.
 * Worked: the first, but T 4.128e8 -> N = 4.128e8 / 344 = 1.2e6.
 * Worked: the first N, T 1e9 cycles at 2.1 GHz, 88.8 -> 148.4 ns: 1.159102 times as long; to
 *         174.5 ns 1.228775; to 250 ns 1.430322.
 *
 * Blind: reads are demand reads. What is stored or prefetched waits for memory, too, and is in none
 * of these counts: the prediction is too near to 1 for what mainly does so, too low for a slower
 * target, too high for a faster one. Nor does it know that a target can be short of bandwidth.
 *
 * Pure. A status other than PLACEMENT_OK leaves the output untouched.
 */
#ifndef IE_FORMULAS_PLACEMENT_H
#define IE_FORMULAS_PLACEMENT_H

#include <stddef.h>

enum placement_status {
    PLACEMENT_OK,
    PLACEMENT_UNKNOWN,     /* a latency, or the look through the caches, is not known */
    PLACEMENT_IMPLAUSIBLE, /* the counters contradict each other */
};

/* Of one window. The four times are in one unit, cycles or seconds. */
struct placement_counts {
    double reads;     /* demand data reads that missed the LLC */
    double occupancy; /* sum over time of such reads outstanding */
    double active;    /* time with at least one outstanding */
    double cache;     /* of one look through the caches; NaN: not known */
    double cpu;       /* the window's CPU time */
};

struct placement_reads {
    double latency; /* of a read, beyond the caches, in the unit of the counts; 0 without reads */
    double parallelism; /* MLP, at least 1 */
    double serial;      /* N, at most the reads, and as many as fit into the CPU time */
};

/* More time with a read outstanding than there was, by more than this: no such thing. */
#define PLACEMENT_MOST_ACTIVE 1.05

/*
 * Without reads there is nothing to wait for: PLACEMENT_OK with N = 0, whatever else is known.
 * PLACEMENT_IMPLAUSIBLE: reads that took no time, or active above PLACEMENT_MOST_ACTIVE of cpu.
 */
enum placement_status placement_serial_reads(const struct placement_counts *counts,
                                             struct placement_reads *out);

/*
 * The latency of a mix: the mean of the regions' latencies, by weights that need not sum to 1.
 * Worked: .7 of 88.8 ns and .3 of 148.4 ns -> 106.68 ns. PLACEMENT_UNKNOWN when nothing has any
 * weight, or when a latency with some is NaN or not positive.
 */
enum placement_status placement_mean_latency(const double *weight, const double *latency, size_t n,
                                             double *out);

/* What a prediction is made of, in seconds. */
struct placement_time {
    double cpu, active; /* active: of it, with at least one read outstanding */
    double serial_reads;
};

/*
 * T(target), in seconds like everything here. Worked: the first N, .47619048 s, now 106.68 ns: to
 * 88.8 ns .952269 times as long, to 148.4 ns 1.111371. PLACEMENT_UNKNOWN when a latency is NaN or
 * not positive.
 *
 * A gain has two limits, since the latencies are not those of the container's own reads, which can
 * be far shorter (open rows): no more than 'active' can be gained, and all of T becomes no shorter
 * than by the ratio of the latencies, as a chase of nothing but misses does:
 *
 *     T(target) >= max(T - active, T latency(target) / latency(now))
 *
 * Worked: T 1 s, reads of 120 ns one after another, from 350 to 90 ns: active .36 s, N 3e6 -> .64 s
 * in place of .22; active .9 s, N 7.5e6 -> .257143 s in place of -.95.
 */
enum placement_status placement_predict(const struct placement_time *t, double now_seconds,
                                        double target_seconds, double *out);

/* ---- a part of the memory ---- */

struct placement_bounds {
    double lower, upper; /* T of T now */
};

/*
 * When only a share of the accesses moves, and all of them would make it 'ratio' times as long.
 * Misses that overlap wait for the slowest of them: so the first ones that become slow cost the
 * most, and the last ones that become fast gain the most. With g(x) = MLP x / (MLP x + 1 - x):
 *
 *     lower = 1 + share (ratio - 1)                         nothing overlaps: equation 4
 *     upper = 1 + g(share) (ratio - 1)                      ratio >= 1
 *           = ratio + g(1 - share) (1 - ratio)              ratio < 1: the same, seen from there
 *
 * Worked: ratio 1.159102, MLP 1.5, share .25 -> 1.039775 to 1.053034; .5 -> 1.079551 to 1.095461.
 * share is within 0 to 1, parallelism at least 1.
 */
struct placement_bounds placement_share(double share, double ratio, double parallelism);

#endif
