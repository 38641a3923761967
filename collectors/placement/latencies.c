#include "collectors/placement/latencies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/parts/probe_latency.h"

static void forget_all(struct placement_latencies *latencies)
{
    for (int i = 0; i < PLACEMENT_INITIATORS; i++)
        for (int t = 0; t < PLACEMENT_TARGETS; t++)
            latencies->seconds[i][t] = NAN;
}

/* They do not wait for the probe: what is on such a tier now is not asked. */
static void give_tiers(struct placement_latencies *latencies)
{
    for (size_t t = 0; t < latencies->tiers->n; t++) {
        latencies->known[PLACEMENT_NODES + t] = true;
        for (int i = 0; i < PLACEMENT_INITIATORS; i++)
            latencies->seconds[i][PLACEMENT_NODES + t] = latencies->tiers->at[t].seconds;
    }
}

static uint32_t nodes_with_cpus(const struct machine *machine)
{
    uint32_t nodes = 0;
    for (int cpu = 0; cpu < MACHINE_CPUS; cpu++) {
        int node = machine_numa_node_of(machine, cpu);
        if (node >= 0 && node < PLACEMENT_NODES)
            nodes |= UINT32_C(1) << node;
    }
    return nodes ? nodes : UINT32_MAX;
}

void placement_latencies_init(struct placement_latencies *latencies,
                              const struct option_latencies *tiers, const struct machine *machine,
                              struct family *family)
{
    *latencies = (struct placement_latencies){.machine = machine,
                                              .tiers = tiers,
                                              .family = family,
                                              .with_cpus = nodes_with_cpus(machine)};
    forget_all(latencies);
    give_tiers(latencies);
}

void placement_latencies_release(struct placement_latencies *latencies)
{
    for (int i = 0; i < PLACEMENT_NODES; i++) {
        for (int t = 0; t < PLACEMENT_NODES; t++) {
            if (latencies->pair[i][t])
                series_free(latencies->pair[i][t]->series);
            free(latencies->pair[i][t]);
        }
        for (int t = 0; t < OPTION_LATENCIES_MAX; t++)
            series_free(latencies->tier[i][t]);
    }
}

const char *placement_target_name(const struct placement_latencies *latencies, int target,
                                  char name[PLACEMENT_NAME_BYTES])
{
    if (target < PLACEMENT_NODES)
        snprintf(name, PLACEMENT_NAME_BYTES, "node%d", target);
    else
        snprintf(name, PLACEMENT_NAME_BYTES, "%s",
                 latencies->tiers->at[target - PLACEMENT_NODES].name);
    return name;
}

static struct series *make_series(struct placement_latencies *latencies, int initiator, int target)
{
    char from[12], to[PLACEMENT_NAME_BYTES];
    struct series *series = NULL;
    snprintf(from, sizeof from, "%d", initiator);
    const struct label own[] = {{"initiator_numa_node", from},
                                {"target", placement_target_name(latencies, target, to)}};
    (void)series_new(latencies->family, NULL, own, 2, &series);
    return series;
}

/* What the prediction uses of a tier is shown for every node that has a probe. */
static void show_tiers(struct placement_latencies *latencies, int initiator)
{
    for (size_t t = 0; t < latencies->tiers->n; t++) {
        struct series **series = &latencies->tier[initiator][t];
        if (!*series)
            *series = make_series(latencies, initiator, PLACEMENT_NODES + (int)t);
        if (*series)
            series_set(*series, latencies->tiers->at[t].seconds);
    }
}

static struct placement_pair *pair_of(struct placement_latencies *latencies, int initiator,
                                      int target)
{
    struct placement_pair **pair = &latencies->pair[initiator][target];
    if (*pair)
        return *pair;
    struct placement_pair *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->series = make_series(latencies, initiator, target);
    if (!made->series) {
        free(made);
        return NULL;
    }
    show_tiers(latencies, initiator);
    return *pair = made;
}

/* The probe may reach nodes beyond those that are targets here. */
static bool is_stale(const struct placement_latencies *latencies, const struct tick *tick,
                     const struct placement_pair *pair)
{
    size_t nodes = latencies->nodes;
    if (latencies->machine->numa_nodes > 0 && (size_t)latencies->machine->numa_nodes > nodes)
        nodes = (size_t)latencies->machine->numa_nodes;
    uint64_t ticks = PLACEMENT_STALE_TICKS_PER_NODE * nodes;
    if (ticks < PLACEMENT_STALE_TICKS)
        ticks = PLACEMENT_STALE_TICKS;
    return pair->n > 0 && tick->number > pair->last_tick + ticks;
}

static void take(const struct placement_latencies *latencies, struct placement_pair *pair,
                 const struct tick *tick, double seconds)
{
    if (is_stale(latencies, tick, pair))
        pair->n = pair->next = 0;
    pair->reading[pair->next] = seconds;
    pair->next = (pair->next + 1) % PLACEMENT_READINGS;
    if (pair->n < PLACEMENT_READINGS)
        pair->n++;
    pair->last_tick = tick->number;
}

static double mean_of(const struct placement_pair *pair)
{
    double sum = 0;
    for (size_t k = 0; k < pair->n; k++)
        sum += pair->reading[k];
    return sum / (double)pair->n;
}

static void refresh(struct placement_latencies *latencies, const struct tick *tick, int initiator,
                    int target)
{
    struct placement_pair *pair = latencies->pair[initiator][target];
    if (!pair)
        return;
    double seconds = mean_of(pair);
    series_show(pair->series, !is_stale(latencies, tick, pair), seconds);
    latencies->seconds[initiator][target] = seconds;
}

static void average(struct placement_latencies *latencies, int target)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < PLACEMENT_NODES; i++) {
        if (isnan(latencies->seconds[i][target]))
            continue;
        sum += latencies->seconds[i][target];
        n++;
    }
    latencies->known[target] = n > 0;
    latencies->nodes += n > 0;
    latencies->seconds[PLACEMENT_ANYWHERE][target] = n > 0 ? sum / n : NAN;
}

void placement_latencies_add(struct placement_latencies *latencies, const struct tick *tick,
                             const struct probe_reading *bursts, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        int initiator = bursts[k].initiator_numa_node, target = bursts[k].target_numa_node;
        double seconds;
        if (initiator < 0 || initiator >= PLACEMENT_NODES || target < 0 ||
            target >= PLACEMENT_NODES || !probe_latency_is_first(bursts, k) ||
            !probe_latency(bursts, n, initiator, target, &seconds))
            continue;
        struct placement_pair *pair = pair_of(latencies, initiator, target);
        if (pair)
            take(latencies, pair, tick, seconds);
    }
    for (int i = 0; i < PLACEMENT_NODES; i++)
        for (int t = 0; t < PLACEMENT_NODES; t++)
            refresh(latencies, tick, i, t);
    latencies->nodes = 0;
    for (int t = 0; t < PLACEMENT_NODES; t++)
        average(latencies, t);
}

bool placement_latencies_from(const struct placement_latencies *latencies, int initiator)
{
    bool any = false;
    for (int t = 0; t < PLACEMENT_NODES; t++)
        any |= !isnan(latencies->seconds[initiator][t]);
    return any;
}
