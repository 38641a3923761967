#include "collectors/formulas/attribution.h"

#include <math.h>

double attribution_per_effect(double latency_ns, double effect)
{
    return effect > 0 ? latency_ns * (-expm1(-effect) / effect) : latency_ns;
}

/* Seconds that a victim's reads waited, per weight of the others; rounding must not make somebody
 * out of nobody. */
static double seconds_a_weight(double total, const struct attribution_traffic *victim)
{
    double others = total - victim->weight;
    return others > 1e-9 * total ? victim->reads * victim->excess_seconds / others : 0;
}

struct attribution_sums attribution_sums(const struct attribution_traffic *all, size_t n,
                                         double host_weight)
{
    struct attribution_sums sums = {.weight = host_weight};
    for (size_t i = 0; i < n; i++)
        sums.weight += all[i].weight;
    for (size_t i = 0; i < n; i++)
        sums.seconds_a_weight += seconds_a_weight(sums.weight, &all[i]);
    return sums;
}

double attribution_caused_seconds(const struct attribution_sums *sums,
                                  const struct attribution_traffic *aggressor,
                                  const struct attribution_traffic *victim)
{
    double others = sums->weight - victim->weight;
    return others > 1e-9 * sums->weight ? victim->excess_seconds * aggressor->weight / others : 0;
}

double attribution_wait_seconds(const struct attribution_sums *sums,
                                const struct attribution_traffic *aggressor)
{
    double others = sums->seconds_a_weight - seconds_a_weight(sums->weight, aggressor);
    return aggressor->weight * fmax(0, others);
}
