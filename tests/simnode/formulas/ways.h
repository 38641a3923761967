/*
 * Which ways of a cache each application gets: ASM-Cache and ASM-QoS (Subramanian et al. 2015, "The
 * Application Slowdown Model", sections 7.1 and 7.3), with the look-ahead of utility-based cache
 * partitioning (Qureshi and Patt 2006). Pure.
 *
 * What is enforced is a mask, not a number of lines: contiguous, in the order of the applications.
 * A mask cannot be empty. So that look-ahead can start from zero ways, those who end with none
 * share a pool, which is taken off first.
 */
#ifndef IE_SIMNODE_WAYS_H
#define IE_SIMNODE_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTROL_WAYS = 32 }; /* of a cache, at most */

/* ---- how slow it would be ---- */

/* Of one application in one quantum; times in cycles, summed over the accesses. */
struct control_cache_counts {
    double quantum_cycles;
    double hits, misses, hit_time, miss_time;
    double alone_rate; /* CAR_alone: accesses a cycle that it would make alone */
};

/*
 * Hits with 0 to 'ways' ways, from the sampled sets of a tag store of the application's own, where
 * it had all ways: way_hits[i] of them were to the i-th most recent line.
 *
 *     hits_n = sum of way_hits[0..n-1] / all sampled accesses * accesses
 *
 * Worked: way_hits 300 100 60 40, misses 100, 24000 accesses -> 0 12000 16000 18400 20000.
 */
void control_hits_by_ways(const double *way_hits, double sampled_misses, unsigned ways,
                          double accesses, double *hits);

/*
 * Slowdowns with 0 to 'ways' ways; not clamped, since below 1 it still tells who gains more.
 *
 *     cycles_n = quantum - (hits_n - hits) (miss_time / misses - hit_time / hits)
 *     slowdown_n = alone_rate cycles_n / (hits + misses)
 *
 * cycles_n is at least 2 % of the quantum: with sampled sets it could be below 0. Where no hit or
 * no miss was seen, or nothing is known of being alone, nothing can be said: false, and all are 1.
 *
 * Worked: quantum 5e6, hits 16000 in 240000, misses 8000 in 1800000, alone 6e-3; hits_n 0 8000
 * 16000 20000 22000 -> cycles_n 8.36e6 6.68e6 5e6 4.16e6 3.74e6, slowdown_n 2.09 1.67 1.25 1.04
 *         0.935.
 */
bool control_slowdown_by_ways(const struct control_cache_counts *counts, const double *hits,
                              unsigned ways, double *slowdown);

/* ---- who gets what ---- */

struct control_cache {
    unsigned ways;     /* up to CONTROL_WAYS */
    unsigned min_bits; /* of a mask; >= 1 */
    bool pool;         /* else everybody has min_bits at least */
};

struct control_ways {
    const double *slowdown; /* with 0 to cache->ways ways */
    double bound;           /* not to be slower than; 0: none. For control_ways_qos */
    /* Results. */
    unsigned ways; /* 0: the pool's */
    bool missed;   /* the bound is not reached with all ways that there are for it */
    uint32_t mask;
};

/*
 * ASM-Cache: while ways are left, they go to the greatest (slowdown_n - slowdown_{n+k}) / k of all
 * applications and all k that are left, those k at once. Of equals the first application, then the
 * fewest ways. Where nobody gains, one at a time to who has fewest. Where nobody needs the pool,
 * its ways are given out as well.
 *
 * False: there are more applications than masks; nothing is set.
 *
 * Worked, 8 ways: A 8 5 4.8 4.7 1.6 1.5 1.4 1.35 1.3, B 3 2.6 2.3 2.1 2 1.95 1.92 1.9 1.89, C 1.5
 *         throughout -> without pool 4 3 1, masks 0f 70 80; with it 4 3 0, masks 0f 70 80. Three
 *         that do not gain: 3 3 2.
 */
bool control_ways_divide(struct control_ways *apps, size_t n, const struct control_cache *cache);

/*
 * ASM-QoS: who has a bound gets the fewest ways with which it is kept, in the order of the
 * applications, or all that the others can spare, and then it is missed. The others divide the
 * rest.
 *
 * Worked, A as above with the bound, no pool: 5 -> 1 6 1; 4.75 -> 3 4 1; 2 -> 4 3 1; 1.55 -> 5 2
 * 1; 1.45
 *         -> 6 1 1; 1.2 -> 6 1 1, and missed.
 */
bool control_ways_qos(struct control_ways *apps, size_t n, const struct control_cache *cache);

#endif
