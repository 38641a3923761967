#include "collectors/attribution/node/node.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/node/doubts.h"
#include "collectors/learned/serialise.h"
#include "collectors/parts/named_series.h"
#include "exporter/base/array.h"
#include "exporter/containers/workload.h"

static const double least_jump_cpus = 0.15, least_jump_traffic = 0.05;
static const double active_cpus = 0.02;

/* Missed readings after which nothing is known to have been at the same time. */
enum { GAP_TICKS = 5 };

static const double calm_share = 0.1;
static const double calm_rise = 0.12 / 3600, calm_fall = 0.06 / 3600; /* a reading */
enum { FIRST_READINGS = 7200, HOUR_READINGS = 3600 };

/* ---- across a restart ---- */

static const char owner[] = "attribution";

struct node_key {
    char text[48];
};

/* Of the entry for the calm latency, for the pooled slope, and for the ledger. */
static struct node_key key_of(const struct attribution_node *node, const char *what)
{
    struct node_key key;
    snprintf(key.text, sizeof key.text, "numa_node %d%s", node->number, what);
    return key;
}

static const char calm_entry[] = "", pooled_entry[] = " traffic";

/* What is learned of CPU time says nothing of traffic, nor the other way round. */
static const char *ledger_entry(const struct attribution_node *node)
{
    return node->ledger.waiting_grows ? " ledger" : " ledger by traffic";
}

static void calm_keep_all(struct attribution_node *node, struct state_fields *fields)
{
    hour_percentile_serialise(&node->hour, fields);
    state_double(fields, &node->calm_kept_ns, 0, ATTRIBUTION_LATENCY_MAX_NS);
    state_double(fields, &node->domain.present, log(ATTRIBUTION_LATENCY_MIN_NS),
                 log(ATTRIBUTION_LATENCY_MAX_NS));
}

/* Who starts again beside a hog would take that latency for calm, and see no excess. Who causes it
 * is learned anew. */
static void restore(struct attribution_node *node, struct state *state)
{
    struct state_fields fields;
    if (state_claim(state, owner, key_of(node, calm_entry).text, &fields)) {
        calm_keep_all(node, &fields);
        if (!state_fits(&fields)) {
            node->hour = (struct hour_percentile){0};
            node->calm_kept_ns = node->domain.present = 0;
        }
    }
    if (!state_claim(state, owner, key_of(node, ledger_entry(node)).text, &fields))
        return;
    ledger_serialise(&node->ledger, &fields);
    if (!state_fits(&fields))
        ledger_init(&node->ledger, node->ledger.least_jump, node->ledger.waiting_grows);
}

/* What to expect of each container's traffic. 0 or -ENOMEM. */
static int restore_pooled(struct attribution_node *node, struct state *state)
{
    struct state_fields fields;
    if (!state_claim(state, owner, key_of(node, pooled_entry).text, &fields))
        return 0;
    pooled_serialise(node->pooled, &fields);
    if (state_fits(&fields))
        return 0;
    free(node->pooled);
    node->pooled = NULL;
    return pooled_new(&node->pooled);
}

void attribution_node_save(struct attribution_node *node, struct state_writer *out)
{
    state_entry_begin(out, owner, key_of(node, calm_entry).text);
    calm_keep_all(node, &out->fields);
    state_entry_end(out);
    state_entry_begin(out, owner, key_of(node, ledger_entry(node)).text);
    ledger_serialise(&node->ledger, &out->fields);
    state_entry_end(out);
    if (!node->pooled)
        return;
    state_entry_begin(out, owner, key_of(node, pooled_entry).text);
    pooled_serialise(node->pooled, &out->fields);
    state_entry_end(out);
}

struct column_key {
    char text[sizeof(struct node_key) + 16 + WORKLOAD_KEY_BYTES];
};

static struct column_key column_key_of(const struct attribution_node *node, const char *workload)
{
    struct column_key key;
    snprintf(key.text, sizeof key.text, "%s workload %s",
             key_of(node, node->ledger.waiting_grows ? calm_entry : pooled_entry).text, workload);
    return key;
}

void attribution_node_recall(struct attribution_node *node, size_t workload, const char *key)
{
    struct state_fields fields;
    struct attribution_column *column = &node->columns[workload];
    if (column->recalled)
        return;
    column->recalled = true;
    if (!state_claim(node->past, owner, column_key_of(node, key).text, &fields))
        return;
    struct ledger_workload before = node->ledger.at[LEDGER_FIRST + workload];
    ledger_workload_serialise(&node->ledger, LEDGER_FIRST + workload, &fields);
    if (!state_fits(&fields))
        node->ledger.at[LEDGER_FIRST + workload] = before;
}

void attribution_node_expect(struct attribution_node *node, size_t workload, double probability)
{
    if (workload < node->n_columns)
        ledger_expect(&node->ledger, LEDGER_FIRST + workload, probability);
}

void attribution_node_save_column(struct attribution_node *node, size_t workload, const char *key,
                                  struct state_writer *out)
{
    if (workload >= node->n_columns || !node->columns[workload].recalled ||
        node->ledger.at[LEDGER_FIRST + workload].episodes == 0)
        return;
    state_entry_begin(out, owner, column_key_of(node, key).text);
    ledger_workload_serialise(&node->ledger, LEDGER_FIRST + workload, &out->fields);
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
    node->busy_share = node->calm_ns = NAN;
    node->total.all = node->total.host = NAN;
    node->past = state;
    ledger_init(&node->ledger, traffic ? least_jump_traffic : least_jump_cpus, !traffic);
    struct attribution_config config = attribution_config_cpu_time();
    if (traffic)
        config.growth = 0; /* it does not grow by waiting */
    int err = attribution_init(&node->domain, &config);
    restore(node, state);
    if (!err)
        err = ledger_reserve(&node->ledger, LEDGER_FIRST);
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
    ledger_release(&node->ledger);
    free(node->columns);
    free(node->seats);
    free(node->pooled);
    free(node);
}

int attribution_node_renew(struct attribution_node **node, bool traffic,
                           const struct attribution_families *families, struct state *state)
{
    const int number = (*node)->number;
    const struct hour_percentile hour = (*node)->hour;
    const double calm_kept_ns = (*node)->calm_kept_ns;
    const bool settled = (*node)->settled;
    attribution_node_free(*node); /* its series are in the way */
    *node = NULL;
    int err = attribution_node_new(number, traffic, families, state, node);
    if (err)
        return err;
    (*node)->hour = hour;
    (*node)->calm_kept_ns = calm_kept_ns;
    (*node)->settled = settled;
    return 0;
}

static const struct attribution_seat no_seat = {.workload = -1, .rate = NAN, .reads = NAN};

static int reserve_columns(struct attribution_node *node, size_t n)
{
    size_t had = node->n_columns;
    if (n <= had)
        return 0;
    if (array_reserve(&node->columns, &node->n_columns, n, sizeof *node->columns))
        return -ENOMEM;
    memset(&node->columns[had], 0, (node->n_columns - had) * sizeof *node->columns);
    int err = ledger_reserve(&node->ledger, LEDGER_FIRST + node->n_columns);
    if (err)
        node->n_columns = had;
    return err;
}

int attribution_node_reserve(struct attribution_node *node, size_t seats, size_t columns)
{
    size_t had = node->n_seats;
    int err = reserve_columns(node, columns);
    if (err || (node->pooled && waits_reserve(&node->waits, seats) != 0))
        return -ENOMEM;
    if (seats <= had)
        return 0;
    if (array_reserve(&node->seats, &node->n_seats, seats, sizeof *node->seats))
        return -ENOMEM;
    for (size_t i = had; i < node->n_seats; i++)
        node->seats[i] = no_seat;
    return 0;
}

const struct attribution_column *attribution_node_column(const struct attribution_node *node,
                                                         size_t slot)
{
    if (slot >= node->n_seats || node->seats[slot].workload < 0 ||
        (size_t)node->seats[slot].workload >= node->n_columns)
        return NULL;
    return &node->columns[node->seats[slot].workload];
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
    by[BY_NAMED] = node->findings.named_ns;
    by[BY_GROUP] = node->findings.group_ns;
    by[BY_HOST] = learning ? 0 : node->findings.rest_ns;
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
    struct series **at = node->series.at;
    series_add_u64(at[A_READINGS], 1);
    series_set_u64(at[A_CANDIDATES], attribution_candidates(&node->domain));
    series_set_u64(at[A_STEPS], node->ledger.steps_outside);
    series_set(at[A_NOISE], sqrt(node->domain.noise));
    series_set(at[A_INFLATION], node->domain.inflation);
    bool known = !isnan(node->busy_share);
    series_show(at[A_ACTIVITY], known, known ? node->busy_share : 0);
}

/* The counter begins in the reading after the first suspicion, so that it was seen at 0. */
static void show_seat(const struct attribution_seat *seat,
                      const struct attribution_finding *finding, double share)
{
    bool named = finding && finding->state == ATTRIBUTION_NAMED && share > 0;
    if (!seat->series[A_CAUSED])
        return;
    double caused = named ? finding->caused_ns * share * 1e-9 : 0;
    series_show(seat->series[A_CAUSED], named, caused);
    series_show(seat->series[A_UNCERTAINTY], named, named ? finding->sd_ns * share * 1e-9 : 0);
    if (named)
        series_add(seat->series[A_CAUSED_TOTAL], caused);
}

/* While one of the workload is not read, as it was. */
static double share_of(const struct attribution_node *node, const struct attribution_seat *seat)
{
    if (node->columns[seat->workload].unread)
        return seat->share;
    double all = node->columns[seat->workload].activity;
    double least = node->pooled ? 0 : active_cpus;
    return seat->rate > least && all > 0 ? fmin(1, seat->rate / all) : 0;
}

static bool judge_seats(struct attribution_node *node)
{
    bool first = false;
    for (size_t i = 0; i < node->n_seats; i++) {
        struct attribution_seat *seat = &node->seats[i];
        const struct attribution_column *column = attribution_node_column(node, i);
        if (!column) { /* out of memory when it was renamed */
            seat->share = 0;
            show_seat(seat, NULL, 0);
            continue;
        }
        const struct attribution_finding *finding = &column->finding;
        double share = seat->share = share_of(node, seat);
        if (!seat->suspected && share > 0 &&
            (finding->state == ATTRIBUTION_NAMED || finding->state == ATTRIBUTION_SUSPECTED))
            seat->suspected = first = true;
        show_seat(seat, finding, share);
    }
    return first;
}

/* A workload does what its containers do together; without any, nothing. */
static void add_up(struct attribution_node *node)
{
    for (size_t i = 0; i < node->n_columns; i++) {
        node->columns[i].activity = node->columns[i].reads = 0;
        node->columns[i].unread = false;
    }
    for (size_t i = 0; i < node->n_seats; i++) {
        const struct attribution_seat *seat = &node->seats[i];
        if (!seat->counted || !attribution_node_column(node, i))
            continue;
        struct attribution_column *column = &node->columns[seat->workload];
        column->used = true;
        column->unread |= isnan(seat->rate);
        column->activity += isnan(seat->rate) ? 0 : seat->rate;
        column->reads += seat->reads;
    }
}

/* What is above it because of who is named does not become calm, however long it lasts. Should too
 * much be said of them, what is below what was calm becomes so by 6 % an hour, which is what a
 * night does. What nobody explains becomes calm by 12 % an hour, so that an incident of half an
 * hour is one to its end; in the first two hours of all, which may begin with an idle node, at
 * once. */
static void learn_calm(struct attribution_node *node, const struct tick *tick)
{
    double latency_ns = node->domain.latency_ns;
    double without_ns = latency_ns * exp(-node->findings.standing);
    hour_percentile_add(&node->hour, tick->mono_ns, without_ns * 1e-9);
    if (node->findings.standing > 0)
        node->stood = node->domain.readings;
    if (!knows_calm(node))
        return;
    double hour_ns = hour_percentile_seconds(&node->hour, calm_share) * 1e9;
    double kept_ns = node->calm_kept_ns > 0 ? node->calm_kept_ns : hour_ns;
    node->settled |= node->ledger.restored || node->domain.readings > FIRST_READINGS;
    double most_ns = node->settled ? kept_ns * (1 + calm_rise) : INFINITY;
    bool stood = node->stood && node->domain.readings - node->stood < HOUR_READINGS;
    double least_ns = stood ? kept_ns * (1 - calm_fall) : 0;
    node->calm_ns = node->calm_kept_ns = fmin(most_ns, fmax(least_ns, hour_ns));
}

/* For long: then it is not known any more what it does. */
static bool is_unread(struct attribution_node *node, size_t i)
{
    struct attribution_column *column = &node->columns[i];
    column->lost = column->unread ? column->lost + 1 : 0;
    if (column->lost == ATTRIBUTION_STALE_TICKS)
        ledger_lose(&node->ledger, LEDGER_FIRST + i);
    return column->unread;
}

static void estimate(struct attribution_node *node, double latency_ns, double host,
                     struct attribution_scratch *scratch)
{
    struct attribution_domain *domain = &node->domain;
    for (size_t i = 0; i < node->n_columns; i++) {
        struct attribution_column *column = &node->columns[i];
        if (!column->used || is_unread(node, i))
            continue;
        attribution_add(domain, &column->member, column->activity);
        doubts_watch(column, domain->readings);
        ledger_set(&node->ledger, LEDGER_FIRST + i, column->activity);
    }
    doubts_watch_host(node, host);
    doubts_watch_reads(node);
    attribution_rest(domain, host);
    attribution_end(domain, scratch);
    if (host >= 0)
        ledger_set(&node->ledger, LEDGER_HOST, host);
    ledger_take(&node->ledger, log(latency_ns));
    findings_make(node);
}

bool attribution_node_take(struct attribution_node *node, const struct tick *tick,
                           double latency_seconds, double host, struct attribution_scratch *scratch)
{
    struct attribution_domain *domain = &node->domain;
    if (node->pooled)
        host = attribution_node_convert(node, tick, latency_seconds * 1e9, scratch);
    add_up(node);
    if (attribution_begin(domain, latency_seconds * 1e9) != 0)
        return false;
    if (node->last_tick && tick->number > node->last_tick + GAP_TICKS)
        ledger_gap(&node->ledger);
    estimate(node, latency_seconds * 1e9, host, scratch);
    learn_calm(node, tick);
    node->state = findings_state(node);
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
    if (tick->number <= node->last_tick + ATTRIBUTION_STALE_TICKS)
        return;
    node->known = false;
    attribution_node_set_stale(&node->series);
    for (size_t i = 0; i < node->n_seats; i++)
        show_seat(&node->seats[i], NULL, 0);
}

/* ---- containers that go ---- */

void attribution_node_end(struct attribution_node *node, size_t slot)
{
    if (slot >= node->n_seats)
        return;
    struct attribution_seat *seat = &node->seats[slot];
    seat->rate = NAN;
    seat->share = seat->usual = 0;
    seat->workload = -1;
    show_seat(seat, NULL, 0);
}

void attribution_node_drop(struct attribution_node *node, size_t workload)
{
    if (workload >= node->n_columns)
        return;
    attribution_forget(&node->domain, &node->columns[workload].member);
    ledger_forget(&node->ledger, LEDGER_FIRST + workload);
    node->columns[workload] = (struct attribution_column){0};
}

void attribution_node_forget(struct attribution_node *node, size_t slot)
{
    if (slot >= node->n_seats)
        return;
    attribution_node_end(node, slot);
    named_series_release(node->seats[slot].series, A_CONTAINER_METRICS);
    node->seats[slot] = no_seat;
}
