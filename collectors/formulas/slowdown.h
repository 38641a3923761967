/*
 * How many times slower an application runs because of its neighbours (FORMULAS.md section 3).
 *
 * Two models; a third is in shadow.h. All are pure; a result that cannot be computed is a status
 * other than SLOWDOWN_OK, which says why, and the output is untouched.
 *
 * asm: Subramanian et al. 2015, "The Application Slowdown Model", section 4. A quantum is split
 * into epochs, each given to one application, whose requests then go first at the memory
 * controller; E = epoch length in cycles:
 *
 *     CAR_shared         = accesses / quantum_cycles
 *     epoch_ats_hits     = ats_hits / (ats_hits + ats_misses) * (hits + misses), misses alike
 *     contention_misses  = max(0, epoch_ats_hits - hits)
 *     excess_cycles      = contention_misses * (miss_time / misses - hit_time / hits)
 *     avg_queueing_delay = queueing_cycles / misses
 *     CAR_alone          = (hits + misses)
 *                          / (epoch_count * E - excess_cycles
 *                             - epoch_ats_misses * avg_queueing_delay)
 *     slowdown           = CAR_alone / CAR_shared
 *
 * Worked: epoch_count 125, E 10000, hits 5000, misses 2500, ATS hit fraction 0.8, hit_time 75000,
 *         miss_time 375000, queueing 25000 -> contention misses 1000, excess 135000,
 *         CAR_alone = 7500 / 1100000 = 6.8182e-3; 27000 accesses in a quantum of 5000000
 *         -> CAR_shared 5.4e-3, slowdown 1.2626.
 *
 * passive: ours, from core counters alone. T = cycles, lat = occupancy / misses:
 *
 *     memory_excess     = active * max(0, 1 - lat0 / lat)
 *     contention_misses = max(0, misses - calm_ratio * accesses)
 *     cache_excess      = contention_misses * max(0, active / misses * min(1, lat0 / lat)
 *                                                    - hit_cycles)
 *     slowdown          = T / (T - memory_excess - cache_excess)
 *
 * Worked: T 1e9, active 4e8, lat 300, lat0 200, accesses 4e6, misses 2e6, calm_ratio 0.4,
 *         hit_cycles 20 -> memory_excess 1.3333e8; contention misses 4e5, each exposed for
 *         200 * 2/3 = 133.33 cycles, minus 20 = 113.33 -> cache_excess 4.5333e7
 *         -> slowdown 1e9 / 8.213333e8 = 1.217532.
 *
 * Memory's part as N (lat - lat0), with the serial reads N of placement.h in place of active / lat,
 * was tried on the simulated node (RESULTS-slowdown.md): mean error 10.4 % for 11.4 %, better or
 * equal in 16 of 17 classes, but 16.3 % for 15.8 % where memory is read seldom. So it is not used.
 *
 * Excess is never negative, so that noise of lat around lat0 does not cancel: without any
 * interference, at active / T = 60 % and noise of 2.4 / 4.8 / 9.6 %, 0.5 / 1.0 / 1.8 % of the
 * cycles count as lost.
 */
#ifndef IE_FORMULAS_SLOWDOWN_H
#define IE_FORMULAS_SLOWDOWN_H

#include <stdint.h>

#include "collectors/formulas/core_latency.h"

enum slowdown_status {
    SLOWDOWN_OK,
    SLOWDOWN_NO_EPOCH,    /* asm: none of the quantum's epochs were the application's */
    SLOWDOWN_NO_ACCESSES, /* nothing to compare: no accesses, or no sampled tag saw one */
    SLOWDOWN_NO_MISSES,   /* no miss, or (asm, with contention misses) no hit: no mean time of it */
    SLOWDOWN_DENOMINATOR, /* more interference than cycles: the counters contradict the model */
    SLOWDOWN_UNKNOWN,     /* passive: lat0 is not known */
    SLOWDOWN_STATUSES
};

/* asm: differences over one quantum; epoch_* of the application's own epochs only. */
struct slowdown_asm_counts {
    uint64_t quantum_cycles;
    uint64_t accesses; /* to the shared cache, in the whole quantum */
    uint64_t epoch_count;
    uint64_t epoch_length; /* cycles */
    uint64_t hits, misses;
    uint64_t hit_time, miss_time;  /* cycles with at least one outstanding */
    uint64_t ats_hits, ats_misses; /* of all sets or of the sampled ones: only their ratio counts */
    uint64_t queueing_cycles;
};

struct slowdown_asm {
    double contention_misses;
    double excess_cycles; /* negative where misses overlap so well that they cost less than hits */
    double queueing_delay_cycles;   /* of one miss */
    double alone_rate, shared_rate; /* accesses per cycle: CAR_alone, CAR_shared */
    double raw;                     /* alone_rate / shared_rate */
    double ratio;                   /* the slowdown: raw, but at least 1 */
};

enum slowdown_status slowdown_asm(const struct slowdown_asm_counts *counts,
                                  struct slowdown_asm *out);

/* passive: differences over one window. */
struct slowdown_passive_counts {
    uint64_t cycles;    /* T, unhalted core cycles */
    uint64_t accesses;  /* demand reads that left the core's own caches */
    uint64_t misses;    /* of these, those that missed the last-level cache */
    uint64_t occupancy; /* sum over cycles of such misses outstanding */
    uint64_t active;    /* cycles with at least one outstanding */
};

/* What the application sees when left alone, and of the machine. NaN: not known. */
struct slowdown_passive_alone {
    double latency_cycles; /* lat0, at this window's frequency */
    double miss_ratio;     /* calm_ratio */
    double hit_cycles;     /* exposed cycles of a hit in the last-level cache */
};

struct slowdown_passive {
    double memory_excess; /* cycles lost to slower memory */
    double cache_excess;  /* cycles lost to lines that neighbours evicted; NaN: not known */
    double ratio;         /* the slowdown, at least 1; NaN with cache_excess */
};

/*
 * Without hit_cycles or calm_ratio there is no cache_excess and hence no ratio; memory_excess
 * stands for itself, and the status is SLOWDOWN_OK. Without lat0: SLOWDOWN_UNKNOWN.
 */
enum slowdown_status slowdown_passive(const struct slowdown_passive_counts *counts,
                                      const struct slowdown_passive_alone *alone,
                                      struct slowdown_passive *out);

/*
 * lat0 from the memory probe: what it measures beyond the caches, seconds.
 *
 *     lat0 = probe - c_cache / f - t_uncore
 *
 * Worked: 80.238095 ns, c_cache 44 at 2.1 GHz (20.952 ns) -> 59.286 ns. NaN when the result is not
 * positive or a value is not known (0).
 */
double slowdown_probe_latency(double probe_seconds, struct core_cache cache, double frequency_hz);

/*
 * hit_cycles from the memory probe, which measures what a load takes that hits the last-level
 * cache. A miss takes c_cache (core_latency.h: in one part or two) and then lat, so of a hit's time
 * only what lies beyond c_cache is
 * left to be taken off:
 *
 *     hit_cycles = max(0, (hit - t_uncore) * f - c_cache)
 *
 * Loads of a chase wait for each other; others overlap and wait less for each. So this is the most
 * that a hit costs, and the cache_excess made with it is the least.
 *
 * Worked: 30 ns at 2.1 GHz are 63 cycles, c_cache 44 -> 19. NaN when a value is not known (0).
 */
double slowdown_hit_cycles(double hit_seconds, struct core_cache cache, double frequency_hz);

/* Accesses per second of running time that the application would make alone: those that it made in
 * a window, and how many times slower it ran. NaN: it did not run. */
double slowdown_alone_rate_hz(double accesses, uint64_t enabled_ns, double ratio);

#endif
