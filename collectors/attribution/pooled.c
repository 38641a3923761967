#include "collectors/attribution/pooled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

double pooled_slope(const struct pooled *pooled)
{
    const struct attribution_slot *slot = attribution_candidate(&pooled->domain, &pooled->all);
    return slot && slot->score >= significant ? pooled->domain.beta[pooled->all.slot] : 0;
}
