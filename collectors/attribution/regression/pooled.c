#include "collectors/attribution/regression/pooled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/learned/keep.h"

static const double significant = 4; /* standard errors */
/* Traffic that nobody's latency shows, 0.3 GB/s, is no peak. */
static const double least_unit = 5e6;

int pooled_new(struct pooled **out)
{
    const struct attribution_config config = attribution_config_pooled();
    struct pooled *pooled = calloc(1, sizeof *pooled);
    if (!pooled)
        return -ENOMEM;
    attribution_init(&pooled->domain, &config);
    pooled->unit = least_unit;
    *out = pooled;
    return 0;
}

/* What the sums of a quarter of an hour can be, of activities and latencies that are taken. */
static const double max_unit = 1e11, max_square = 1e15, max_latency_square = 2e6;

/* Of its only column. */
static void fit_keep(struct pooled *pooled, struct state_fields *fields)
{
    struct attribution_domain *d = &pooled->domain;
    struct attribution_slot *slot = &d->slots[0];
    bool known = attribution_has_slot(d, &pooled->all);
    state_bool(fields, &known);
    if (!known)
        return;
    state_double(fields, &d->g[0][0], 0, max_square);
    state_double(fields, &slot->latency_square, 0, max_latency_square);
    state_double(fields, &d->b[0], -max_square, max_square);
    state_double(fields, &d->beta[0], 0, max_square);
    state_check(fields, d->b[0] * d->b[0] <= 1.000001 * d->g[0][0] * slot->latency_square);
    if (state_reading(fields))
        slot->ticket = pooled->all.ticket = ++d->tickets;
}

void pooled_keep(struct pooled *pooled, struct state_fields *fields)
{
    rate_peak_keep(&pooled->peak, fields);
    state_double(fields, &pooled->unit, least_unit, max_unit);
    fit_keep(pooled, fields);
}

double pooled_measure(struct pooled *pooled, uint64_t mono_ns, double total,
                      struct attribution_scratch *scratch)
{
    rate_peak_add(&pooled->peak, mono_ns, total);
    double unit = fmax(least_unit, rate_peak_find(&pooled->peak));
    if (unit == pooled->unit)
        return 1;
    double factor = pooled->unit / unit;
    pooled->unit = unit;
    attribution_rescale(&pooled->domain, factor, scratch);
    attribution_member_rescale(&pooled->all, factor);
    return factor;
}

void pooled_take(struct pooled *pooled, double latency_ns, double total,
                 struct attribution_scratch *scratch)
{
    if (isnan(total) || attribution_begin(&pooled->domain, latency_ns) != 0)
        return;
    attribution_add(&pooled->domain, &pooled->all, total / pooled->unit);
    attribution_end(&pooled->domain, scratch);
}

void pooled_shift(struct pooled *pooled, double lines_per_second)
{
    struct attribution_member *all = &pooled->all;
    double by = lines_per_second / pooled->unit;
    if (!all->seen)
        return;
    all->mean = fmax(0, all->mean + by);
    all->smoothed = fmax(0, all->smoothed + by);
    all->lowest = fmax(0, all->lowest + by);
    all->ground = fmax(0, all->ground + by);
}

double pooled_slope(const struct pooled *pooled)
{
    const struct attribution_slot *slot = attribution_candidate(&pooled->domain, &pooled->all);
    return slot && slot->score >= significant ? pooled->domain.beta[pooled->all.slot] : 0;
}
