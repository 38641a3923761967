#include "collectors/attribution/node/traffic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/attribution/node/node.h"
#include "collectors/learned/serialise.h"

static const double significant = 4; /* standard errors */
/* Traffic that nobody's latency shows, 0.3 GB/s, is no peak. */
static const double least_unit = 5e6;
static const double absent_share = 0.1; /* of a node's traffic */
static const double usual_gain = 1.0 / 30;
/* Of the total: so much more the containers may have without being contradicted. Windows of the two
 * are not of the same instant. */
static const double tolerance = 0.1;

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
static void fit_serialise(struct pooled *pooled, struct state_fields *fields)
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

void pooled_serialise(struct pooled *pooled, struct state_fields *fields)
{
    rate_peak_serialise(&pooled->peak, fields);
    state_double(fields, &pooled->unit, least_unit, max_unit);
    fit_serialise(pooled, fields);
}

/* The tick's total, lines a second; NaN: not known. What activities until now must be multiplied
 * by, as this one's own have been already. */
static double measure(struct pooled *pooled, uint64_t mono_ns, double total,
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

/* The tick's latency, after that. */
static void take(struct pooled *pooled, double latency_ns, double total,
                 struct attribution_scratch *scratch)
{
    if (isnan(total) || attribution_begin(&pooled->domain, latency_ns) != 0)
        return;
    attribution_add(&pooled->domain, &pooled->all, total / pooled->unit);
    attribution_end(&pooled->domain, scratch);
}

/* From now on the total is of others as well, or no longer of them, who have so many lines a
 * second: no change of activity. */
static void shift(struct pooled *pooled, double lines_per_second)
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

/* ---- the traffic of a node ---- */

double attribution_seat_traffic(const struct attribution_node *node, size_t slot)
{
    const struct attribution_seat *seat = &node->seats[slot];
    if (!isnan(seat->rate))
        return seat->rate;
    return seat->usual;
}

/* Of who is not counted in a tick. */
static void follow_usual(struct attribution_node *node)
{
    for (size_t i = 0; i < node->n_seats; i++) {
        struct attribution_seat *seat = &node->seats[i];
        if (!isnan(seat->rate))
            seat->usual += (seat->usual > 0 ? usual_gain : 1) * (seat->rate - seat->usual);
    }
}

double attribution_node_traffic(const struct attribution_node *node)
{
    double all = 0, absent = 0;
    for (size_t i = 0; i < node->n_seats; i++) {
        double rate = attribution_seat_traffic(node, i);
        all += rate;
        absent += isnan(node->seats[i].rate) ? rate : 0;
    }
    return absent > absent_share * all ? NAN : all;
}

/* What of everybody's traffic the containers do not have; NaN: not known, or it does not fit. */
static double host_of(double everybody, double containers)
{
    return containers <= (1 + tolerance) * everybody ? fmax(0, everybody - containers) : NAN;
}

void attribution_node_measure(struct attribution_node *node, bool counted, double everybody)
{
    struct attribution_total *total = &node->total;
    double sum = attribution_node_traffic(node);
    total->host = counted ? host_of(everybody, sum) : NAN;
    if (counted && !total->counted && !isnan(total->host)) {
        shift(node->pooled, total->host);
        total->counted = true;
    } else if (!counted && total->counted) {
        shift(node->pooled, -total->last_host);
        total->counted = false;
    }
    if (!isnan(total->host))
        total->last_host = total->host;
    total->all = sum;
    if (total->counted) /* the containers' is a part of it, also where the counts do not fit */
        total->all = everybody >= sum || isnan(everybody) || isnan(sum) ? everybody : sum;
}

double attribution_node_convert(struct attribution_node *node, const struct tick *tick,
                                double latency_ns, struct attribution_scratch *scratch)
{
    double total = node->total.all;
    double factor = measure(node->pooled, tick->mono_ns, total, scratch);
    take(node->pooled, latency_ns, total, scratch);
    if (factor != 1) {
        attribution_rescale(&node->domain, factor, scratch);
        for (size_t i = 0; i < node->n_columns; i++)
            attribution_member_rescale(&node->columns[i].member, factor);
        ledger_rescale(&node->ledger, factor);
    }
    attribution_set_prior(&node->domain, pooled_slope(node->pooled), node->total.counted);
    follow_usual(node);
    for (size_t i = 0; i < node->n_seats; i++)
        node->seats[i].rate /= node->pooled->unit;
    return node->total.host / node->pooled->unit;
}
