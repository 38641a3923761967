/*
 * Who makes memory slow for whom, in shares that add up (ATTRIBUTION.md sections 2 and 6).
 *
 * Latency that depends on the total of what all do is shared out in proportion to what each does:
 * the Aumann-Shapley value, which does not depend on an order and adds up to the whole excess.
 */
#ifndef IE_FORMULAS_ATTRIBUTION_H
#define IE_FORMULAS_ATTRIBUTION_H

#include <stddef.h>

/*
 * F: nanoseconds of a latency Y for each unit of log latency, of which all together cause S >= 0:
 *
 *     F = Y (1 - exp(-S)) / S        Y if S = 0
 *
 * Worked: Y 180 ns, S 0.2 -> F = 163.1423 ns; two that cause 0.15 and 0.05 get 24.4713 and
 *         8.1571 ns, together Y (1 - exp(-0.2)) = 32.6285 ns.
 */
double attribution_per_effect(double latency_ns, double effect);

/* One container of a memory domain in one window. */
struct attribution_traffic {
    double weight;         /* beta T: its traffic, times how much that hurts; >= 0 */
    double reads;          /* whose latency it waits for */
    double excess_seconds; /* E: of one read, above its baseline; 0 where there is none */
};

struct attribution_sums {
    double weight;           /* W */
    double seconds_a_weight; /* A */
};

/*
 *     W = sum_j beta_j T_j + host       A = sum_v reads_v E_v / (W - beta_v T_v)
 *
 * A victim beside which nobody has traffic is not counted: nobody made it wait. 'host_weight': of
 * who has traffic and is no container; 0 where that is not known.
 *
 * Worked: the three containers below beside a host of 10 -> W 20, A 2e6 30e-9 / 17 + 4e6 50e-9 / 19
 * = 0.01405573 s; the host makes them wait 0.1405573 s, the first container 0.0843344 s.
 */
struct attribution_sums attribution_sums(const struct attribution_traffic *all, size_t n,
                                         double host_weight);

/* What aggressor i adds to one read of victim v, seconds; i != v:
 *
 *     caused = E_v beta_i T_i / (W - beta_v T_v)        0 where nobody but v has traffic
 */
double attribution_caused_seconds(const struct attribution_sums *sums,
                                  const struct attribution_traffic *aggressor,
                                  const struct attribution_traffic *victim);

/*
 * What i makes all others wait, seconds:
 *
 *     wait = beta_i T_i (A - reads_i E_i / (W - beta_i T_i))
 *
 * Worked: beta T (6, 3, 1), reads (1e6, 2e6, 4e6), E (0, 30, 50) ns -> A 3.079365e-2,
 *         wait 0.1847619, 0.0666667, 0.0085714 s, together 0.26 s = 2e6 * 30 ns + 4e6 * 50 ns.
 */
double attribution_wait_seconds(const struct attribution_sums *sums,
                                const struct attribution_traffic *aggressor);

#endif
