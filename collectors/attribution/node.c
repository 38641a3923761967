#include "collectors/attribution/node.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/total.h"
#include "collectors/learned/keep.h"
#include "collectors/parts/named_series.h"
#include "exporter/base/array.h"

/* Gauges without a new reading for this many ticks are stale, as the probe's. */
enum { STALE_TICKS = 60 };

static const double calm_share = 0.1;
/* Of a node's traffic. */
static const double absent_share = 0.1;

/* ---- across a restart ---- */

static const char owner[] = "attribution";

struct node_key {
    char text[32];
};

/* Of the entry for the calm latency, and of that for the pooled slope. */
static struct node_key key_of(const struct attribution_node *node, bool pooled)
{
    struct node_key key;
    snprintf(key.text, sizeof key.text, "numa_node %d%s", node->number, pooled ? " traffic" : "");
    return key;
}

/* Who starts again beside a hog would take that latency for calm, and see no excess. Who causes it
 * is learned anew. */
static void restore(struct attribution_node *node, struct state *state)
{
    struct state_fields fields;
    if (!state_claim(state, owner, key_of(node, false).text, &fields))
        return;
    hour_percentile_keep(&node->hour, &fields);
    if (!state_fits(&fields))
        node->hour = (struct hour_percentile){0};
}

/* What to expect of each container's traffic. 0 or -ENOMEM. */
static int restore_pooled(struct attribution_node *node, struct state *state)
{
    struct state_fields fields;
    if (!state_claim(state, owner, key_of(node, true).text, &fields))
        return 0;
    pooled_keep(node->pooled, &fields);
    if (state_fits(&fields))
        return 0;
    free(node->pooled);
    node->pooled = NULL;
    return pooled_new(&node->pooled);
}

void attribution_node_save(struct attribution_node *node, struct state_writer *out)
{
    state_entry_begin(out, owner, key_of(node, false).text);
    hour_percentile_keep(&node->hour, &out->fields);
    state_entry_end(out);
    if (!node->pooled)
        return;
    state_entry_begin(out, owner, key_of(node, true).text);
    pooled_keep(node->pooled, &out->fields);
    state_entry_end(out);
}

/* ---- life ---- */

int attribution_node_new(int number, bool traffic, const struct attribution_families *families,
                         struct state *state, struct attribution_node **out)
{
    struct attribution_node *node = calloc(1, sizeof *node);
    if (!node)
        return -ENOMEM;
    node->number = number;
    node->busy_share = NAN;
    node->total.all = node->total.host = NAN;
    restore(node, state);
    struct attribution_config config = attribution_config_cpu_time();
    if (traffic)
        config.growth = 0; /* it does not grow by waiting */
    int err = attribution_init(&node->domain, &config);
    if (!err && traffic)
        err = pooled_new(&node->pooled);
    if (!err && traffic)
        err = restore_pooled(node, state);
    if (!err)
        err = attribution_node_set_make(&node->series, families, number);
    if (err) {
        attribution_node_free(node);
        return err;
    }
    *out = node;
    return 0;
}

void attribution_node_free(struct attribution_node *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->n_seats; i++)
        named_series_release(node->seats[i].series, A_CONTAINER_METRICS);
    attribution_node_set_release(&node->series);
    waits_release(&node->waits);
    free(node->seats);
    free(node->pooled);
    free(node);
}

int attribution_node_reserve(struct attribution_node *node, size_t n)
{
    size_t had = node->n_seats;
    if (node->pooled && waits_reserve(&node->waits, n) != 0)
        return -ENOMEM;
    if (n <= had)
        return 0;
    if (array_reserve(&node->seats, &node->n_seats, n, sizeof *node->seats))
        return -ENOMEM;
    memset(&node->seats[had], 0, (node->n_seats - had) * sizeof *node->seats);
    for (size_t i = had; i < node->n_seats; i++)
        node->seats[i].rate = NAN;
    return 0;
}

/* ---- a reading ---- */

/* The causes can explain more than the excess: the calm latency is that of a node where somebody
 * may have been active all the hour. */
static void divide_excess(struct attribution_node *node)
{
    double *by = node->by_ns, causes = 0;
    bool learning = node->state == GATE_LEARNING;
    if (isnan(node->calm_ns)) {
        node->excess_ns = NAN;
        for (int i = 0; i < ATTRIBUTION_PARTS; i++)
            by[i] = NAN;
        return;
    }
    node->excess_ns = fmax(0, node->domain.latency_ns - node->calm_ns);
    by[BY_NAMED] = gate_named_ns(&node->domain);
    by[BY_GROUP] = gate_group_ns(&node->domain);
    by[BY_HOST] = learning ? 0 : node->domain.rest_caused_ns;
    for (int i = 0; i < BY_UNKNOWN; i++)
        causes += by[i];
    by[BY_UNKNOWN] = fmax(0, node->excess_ns - causes);
    for (int i = 0; i < BY_UNKNOWN && causes > node->excess_ns; i++)
        by[i] *= node->excess_ns / causes;
}

/* From a few readings nothing is: what came first would be calm, and the next one an excess. */
static bool knows_calm(const struct attribution_node *node)
{
    return node->domain.readings > ATTRIBUTION_LEARNING ||
           hour_percentile_readings(&node->hour) > ATTRIBUTION_LEARNING;
}

static void publish(struct attribution_node *node)
{
    for (int by = 0; by < ATTRIBUTION_PARTS && !isnan(node->excess_ns); by++) {
        series_set(node->series.excess[by], node->by_ns[by] * 1e-9);
        series_add(node->series.excess_total[by], node->by_ns[by] * 1e-9);
    }
    series_add_u64(node->series.readings, 1);
    series_set_u64(node->series.candidates, attribution_candidates(&node->domain));
    series_set(node->series.noise, sqrt(node->domain.noise));
    series_set(node->series.inflation, node->domain.inflation);
    bool known = !isnan(node->busy_share);
    series_show(node->series.activity, known, known ? node->busy_share : 0);
}

/* The counter begins in the reading after the first suspicion, so that it was seen at 0. */
static void show_seat(const struct attribution_seat *seat, const struct attribution_slot *slot)
{
    bool named = slot && slot->state == ATTRIBUTION_NAMED;
    if (!seat->series[A_CAUSED])
        return;
    series_show(seat->series[A_CAUSED], named, named ? slot->caused_ns * 1e-9 : 0);
    series_show(seat->series[A_UNCERTAINTY], named, named ? slot->sd_ns * 1e-9 : 0);
    if (named)
        series_add(seat->series[A_CAUSED_TOTAL], slot->caused_ns * 1e-9);
}

static bool judge_seats(struct attribution_node *node)
{
    bool first = false;
    for (size_t i = 0; i < node->n_seats; i++) {
        struct attribution_seat *seat = &node->seats[i];
        const struct attribution_slot *slot = attribution_candidate(&node->domain, &seat->member);
        if (slot && !seat->suspected &&
            (slot->state == ATTRIBUTION_NAMED || slot->state == ATTRIBUTION_SUSPECTED))
            seat->suspected = first = true;
        show_seat(seat, slot);
    }
    return first;
}

double attribution_seat_traffic(const struct attribution_node *node, size_t slot)
{
    const struct attribution_seat *seat = &node->seats[slot];
    if (!isnan(seat->rate))
        return seat->rate;
    return seat->member.seen ? seat->member.mean * node->pooled->unit : 0;
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

void attribution_node_measure(struct attribution_node *node, bool counted, double everybody)
{
    struct attribution_total *total = &node->total;
    double sum = attribution_node_traffic(node);
    total->host = counted ? traffic_total_host(everybody, sum) : NAN;
    if (counted && !total->counted && !isnan(total->host)) {
        pooled_shift(node->pooled, total->host);
        total->counted = true;
    } else if (!counted && total->counted) {
        pooled_shift(node->pooled, -total->last_host);
        total->counted = false;
    }
    if (!isnan(total->host))
        total->last_host = total->host;
    total->all = sum;
    if (total->counted) /* the containers' is a part of it, also where the counts do not fit */
        total->all = everybody >= sum || isnan(everybody) || isnan(sum) ? everybody : sum;
}

/* Traffic in units of its peak, and what to expect of everybody's. Returns the host's. */
static double take_pooled(struct attribution_node *node, const struct tick *tick, double latency_ns,
                          struct attribution_scratch *scratch)
{
    double total = node->total.all;
    double factor = pooled_measure(node->pooled, tick->mono_ns, total, scratch);
    pooled_take(node->pooled, latency_ns, total, scratch);
    double slope = pooled_slope(node->pooled);
    if (factor != 1)
        attribution_rescale(&node->domain, factor, scratch);
    attribution_clear_prior(&node->domain);
    if (attribution_set_prior(&node->domain, slope, slope) == 0 && node->total.counted)
        attribution_set_rest_prior(&node->domain, slope);
    for (size_t i = 0; i < node->n_seats; i++) {
        if (factor != 1)
            attribution_member_rescale(&node->seats[i].member, factor);
        node->seats[i].rate /= node->pooled->unit;
    }
    return node->total.host / node->pooled->unit;
}

bool attribution_node_take(struct attribution_node *node, const struct tick *tick,
                           double latency_seconds, double host, struct attribution_scratch *scratch)
{
    struct attribution_domain *domain = &node->domain;
    if (node->pooled)
        host = take_pooled(node, tick, latency_seconds * 1e9, scratch);
    if (attribution_begin(domain, latency_seconds * 1e9) != 0)
        return false;
    for (size_t i = 0; i < node->n_seats; i++)
        if (!isnan(node->seats[i].rate))
            attribution_add(domain, &node->seats[i].member, node->seats[i].rate);
    attribution_rest(domain, host);
    attribution_end(domain, scratch);

    hour_percentile_add(&node->hour, tick->mono_ns, domain->latency_ns * 1e-9);
    node->calm_ns = knows_calm(node) ? hour_percentile_seconds(&node->hour, calm_share) * 1e9 : NAN;
    node->state = gate_domain_state(domain, node->calm_ns);
    node->known = true;
    node->last_tick = tick->number;
    divide_excess(node);
    publish(node);
    return judge_seats(node);
}

void attribution_node_miss(struct attribution_node *node, const struct tick *tick)
{
    if (node->last_tick == 0)
        node->last_tick = tick->number;
    if (tick->number <= node->last_tick + STALE_TICKS)
        return;
    node->known = false;
    attribution_node_set_stale(&node->series);
    for (size_t i = 0; i < node->n_seats; i++)
        show_seat(&node->seats[i], NULL);
}

/* ---- containers that go ---- */

void attribution_node_end(struct attribution_node *node, size_t slot)
{
    if (slot >= node->n_seats)
        return;
    struct attribution_seat *seat = &node->seats[slot];
    attribution_forget(&node->domain, &seat->member);
    seat->rate = NAN;
    show_seat(seat, NULL);
}

void attribution_node_forget(struct attribution_node *node, size_t slot)
{
    if (slot >= node->n_seats)
        return;
    attribution_node_end(node, slot);
    named_series_release(node->seats[slot].series, A_CONTAINER_METRICS);
    node->seats[slot] = (struct attribution_seat){.rate = NAN};
}
