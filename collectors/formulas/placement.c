#include "collectors/formulas/placement.h"

#include <math.h>

enum placement_status placement_serial_reads(const struct placement_counts *c,
                                             struct placement_reads *out)
{
    if (!(c->reads > 0)) {
        *out = (struct placement_reads){.parallelism = 1};
        return PLACEMENT_OK;
    }
    if (!(c->occupancy > 0) || !(c->active > 0) || c->active > PLACEMENT_MOST_ACTIVE * c->cpu)
        return PLACEMENT_IMPLAUSIBLE;
    if (!(c->cache >= 0))
        return PLACEMENT_UNKNOWN;
    struct placement_reads reads = {
        .latency = c->occupancy / c->reads,
        .parallelism = fmax(1, c->occupancy / c->active), /* below 1: rounding */
    };
    double period = reads.latency + c->cache * (1 - 1 / reads.parallelism);
    double fit = c->cpu / (reads.latency + c->cache);
    reads.serial = fmin(fmin(c->reads, c->active / period), fit);
    *out = reads;
    return PLACEMENT_OK;
}

enum placement_status placement_mean_latency(const double *weight, const double *latency, size_t n,
                                             double *out)
{
    double weights = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weight[i] > 0))
            continue;
        if (!(latency[i] > 0))
            return PLACEMENT_UNKNOWN;
        weights += weight[i];
        sum += weight[i] * latency[i];
    }
    if (!(weights > 0))
        return PLACEMENT_UNKNOWN;
    *out = sum / weights;
    return PLACEMENT_OK;
}

enum placement_status placement_predict(const struct placement_time *t, double now_seconds,
                                        double target_seconds, double *out)
{
    if (!(now_seconds > 0) || !(target_seconds > 0))
        return PLACEMENT_UNKNOWN;
    double predicted = t->cpu + t->serial_reads * (target_seconds - now_seconds);
    double least = fmax(t->cpu - t->active, t->cpu * target_seconds / now_seconds);
    *out = target_seconds < now_seconds ? fmax(predicted, least) : predicted;
    return PLACEMENT_OK;
}

/* The share of the waiting time that is of the slow ones, where any slow one of 'parallelism'
 * makes all of them wait. */
static double slow_part(double share, double parallelism)
{
    double slow = parallelism * share;
    return slow / (slow + 1 - share);
}

struct placement_bounds placement_share(double share, double ratio, double parallelism)
{
    struct placement_bounds bounds = {.lower = 1 + share * (ratio - 1)};
    bounds.upper = ratio >= 1 ? 1 + slow_part(share, parallelism) * (ratio - 1)
                              : ratio + slow_part(1 - share, parallelism) * (1 - ratio);
    return bounds;
}
