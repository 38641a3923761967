/*
 * Memory read latency from the misses of the L1 data cache that are in flight, as AMD's cores count
 * them (FORMULAS.md section 1, "AMD"; the form of Shen & Li 2020, section 3).
 *
 *     t_mem = (A - n2 t2 - n3 t3) / n_mem                            [core cycles]
 *
 * A is the sum over cycles of the misses in flight; n2, n3, n_mem are the fills of the L1 from the
 * core's L2, from its complex (the L3, other L2s there), and from beyond (DRAM, CXL, other
 * complexes), all of them for demand and prefetch, loads and stores alike, as A has them. A miss
 * that the L2 serves is in flight for t2 cycles, one that the complex serves for t3: what the
 * probe's chases through lines in the L2 and in the L3 take per load, less a hit in the L1, which
 * comes before a miss is in flight.
 *
 * A look through the caches that finds nothing takes as long as one that finds it in the L3, and at
 * the core complex's clock. So, in the terms of core_latency.h,
 *
 *     c_cache   = t1 + t3           occupancy = A - n2 t2 - (n3 + n_mem) t3
 *     latency   = (c_cache + occupancy / n_mem) / f = (t1 + t_mem) / f                       [s]
 *
 * where only the occupancy is what neighbours make longer. All of it is linear in the counts, so
 * the counts may be sums over CPUs, each count times ref_cycles / cycles of its CPU (window.h).
 *
 * What it does not know (tests/simnode/RESULTS-amd.md has the sizes). Up: contention in the L3
 * makes n3 t3 longer; a load that waits for a prefetch into the L2 may count as an L2 fill of more
 * than t2 cycles; a prefetch into the L1 is in flight for all of memory's latency, of which the
 * load waits a part. Down: a page walk, and a wait for a miss address buffer when all are taken,
 * come before a miss is in flight; and if it is in flight for less than a load takes beyond t1,
 * each fill, hits included, lacks that.
 *
 * Worked: t1 4, t2 10, t3 46; n2 2e6, n3 5e5, n_mem 1e6; A = 2e6 * 10 + 5e5 * 46 + 1e6 * 396
 * = 4.39e8
 *         -> t_mem 396 cycles; occupancy 4.39e8 - 2e7 - 1.5e6 * 46 = 3.5e8; c_cache 50,
 *         latency 400 cycles: 160 ns at 2.5 GHz.
 * Worked: the same with A 3e7: less than the caches' part alone (4.3e7), implausible.
 *
 * Arm's newer cores (Neoverse V3, N3) count loads in place of misses, from the look into the L1 on,
 * so that A has the hits, too, and all times are whole:
 *
 *     t_mem = (A - (n - m1) t1 - (m1 - m2) t2 - (m2 - m3) t3) / m3
 *     c_cache = t3    latency = t_mem / f
 *
 * n loads, of which m1 miss the L1, m2 leave the core's caches, and m3 the last-level cache too. At
 * a hundred loads for each miss an error of 1 % in t1 is four cycles of t_mem: so no result where
 * the hits are more than half of A.
 *
 * Worked: t1 4, t2 11, t3 60; n 6e7, m1 2e6, m2 1.5e6, m3 1e6; A = 5.8e7 * 4 + 5e5 * 11 + 5e5 * 60
 * + 1e6 * 350 = 6.175e8 -> t_mem 350; n 1e8: A 7.775e8, of which hits are 55 %: no result.
 *
 * Pure. A result that cannot be computed leaves the output untouched.
 */
#ifndef IE_FORMULAS_FILL_LATENCY_H
#define IE_FORMULAS_FILL_LATENCY_H

/* Counts of a window, or sums of them by CPU, each weighed by its CPU's frequency. */
struct fills {
    double in_flight; /* A, cycles */
    double l2, l3, memory;
    double l1; /* hits that A has; 0 where it has none */
};

/* Core cycles that a miss is in flight, or a hit; l2, l3 0: not known. */
struct fill_times {
    double l2, l3;
    double l1;
};

/* Where more of A than this is the caches', t_mem would be further off, in per cent, than the times
 * of hits are. With two of ten cycles of t2 wrong it is a fifth too low at 0.55, two fifths at 0.79
 * (tests/simnode/RESULTS-amd.md). */
#define FILLS_LARGEST_CACHE_SHARE 0.5

/* Less in flight than this share of what all looks through the caches take: no error of their times
 * explains it, and A is not what it is taken for. */
#define FILLS_LEAST_SHARE_OF_LOOKS 0.5

/*
 * The part of A that is beyond the caches, A - n2 t2 - (n3 + n_mem) t3.
 * -ENODATA: no fills from memory; times not known; or caches make up too much of A to tell.
 * -ERANGE: implausible: it is not positive, so that memory would be no slower than the L3; not
 * where the caches make up most of A and a small error of their times explains it.
 */
int fills_beyond(const struct fills *fills, struct fill_times times, double *out);

/*
 * From counts of loads: A, n, m1, m2, m3 as above. -ERANGE where more go on than came, by more than
 * a twentieth: prefetches, or others' accesses, are in one of them.
 */
int fills_of_loads(double in_flight, double loads, double l1_misses, double llc_reads,
                   double llc_misses, struct fills *out);

/*
 * The share of what is in flight during the probe's chase, with one miss at a time, that A counts:
 * near 1 where the event counts what its name says. Some revisions' documents say that it counts in
 * fours, rounded down: then it is near 0.
 * Worked: 5000 fills from memory, 250 ns at 2 GHz each: 2.5e6 cycles; A 2.4e6 -> 0.96.
 * -ENODATA without reads, frequency or latency.
 */
int fills_self_test(const struct fills *fills, double latency_seconds, double frequency_hz,
                    double *out);

/* The shares with which it passes: hits and the kernel's misses are counted along. */
#define FILLS_SELF_TEST_LEAST 0.5
#define FILLS_SELF_TEST_MOST 2.0
/* Of loads in flight: on some cores the last level's misses may count prefetches, too. More of them
 * than loads by a tenth would make the latency too low by as much. */
#define LOADS_SELF_TEST_LEAST 0.9
#define LOADS_SELF_TEST_MOST 1.1

#endif
