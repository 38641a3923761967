/*
 * What one tick of the attribution costs: bench_attribution CONTAINERS TICKS
 *
 * All 64 slots are taken. Containers go on and off at random, a few of them moving the latency. As
 * JSON: CPU microseconds a tick, mean and worst, solving every fifth tick and, to compare, each;
 * and what the ledger of onsets costs besides, where each goes on and off every 8 minutes, and
 * where each does so every 20 seconds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/attribution/ledger/ledger.h"
#include "collectors/attribution/regression/estimator.h"
#include "tests/bench/bench.h"

enum { HOGS = 3, LANE_BYTES = 256 };

/* A member as it lies in a collector's lanes: with other things between. */
union lane {
    struct attribution_member member;
    char bytes[LANE_BYTES];
};

struct run {
    struct attribution_domain domain;
    struct attribution_scratch scratch;
    size_t n;
    union lane *lanes;
    double *activity;
    unsigned long long random;
    double switching; /* how likely one changes in a tick */
    struct ledger ledger;
};

static double uniform(struct run *run)
{
    run->random = run->random * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(run->random >> 11) / 9007199254740992.0;
}

/* Moves the containers on by a tick and says the latency. */
static double move(struct run *run)
{
    double effect = 0.06 * (uniform(run) - 0.5);
    for (size_t i = 0; i < run->n; i++) {
        if (uniform(run) < run->switching)
            run->activity[i] = uniform(run) < 0.5 ? 0 : uniform(run);
        if (i < HOGS)
            effect += 0.15 * run->activity[i];
    }
    return 150 * exp(effect);
}

static double tick_us(struct run *run)
{
    double latency_ns = move(run), start = cpu_us();
    attribution_begin(&run->domain, latency_ns);
    for (size_t i = 0; i < run->n; i++)
        attribution_add(&run->domain, &run->lanes[i].member, run->activity[i]);
    attribution_rest(&run->domain, 0.1);
    attribution_end(&run->domain, &run->scratch);
    return cpu_us() - start;
}

static int measure(struct run *run, size_t n, unsigned ticks, unsigned solve_every, double out[2])
{
    struct attribution_config config = attribution_config_cpu_time();
    config.solve_every = solve_every;
    attribution_init(&run->domain, &config);
    run->n = n;
    run->random = 1;
    run->switching = 0.05;
    run->lanes = calloc(n, sizeof *run->lanes);
    run->activity = calloc(n, sizeof *run->activity);
    if (!run->lanes || !run->activity)
        return -1;
    for (unsigned i = 0; i < 60; i++)
        tick_us(run);
    out[0] = out[1] = 0;
    for (unsigned i = 0; i < ticks; i++) {
        double us = tick_us(run);
        out[0] += us / ticks;
        out[1] = fmax(out[1], us);
    }
    free(run->lanes);
    free(run->activity);
    return 0;
}

static double ledger_us(struct run *run)
{
    double latency_ns = move(run), start = cpu_us();
    for (size_t i = 0; i < run->n; i++)
        ledger_set(&run->ledger, LEDGER_FIRST + i, run->activity[i]);
    ledger_take(&run->ledger, log(latency_ns));
    return cpu_us() - start;
}

static int measure_ledger(struct run *run, size_t n, unsigned ticks, double switching,
                          double out[2])
{
    run->n = n;
    run->random = 1;
    run->switching = switching;
    run->activity = calloc(n, sizeof *run->activity);
    ledger_init(&run->ledger, 0.15, true);
    if (!run->activity || ledger_reserve(&run->ledger, LEDGER_FIRST + n) != 0)
        return -1;
    for (unsigned i = 0; i < 300; i++)
        ledger_us(run);
    out[0] = out[1] = 0;
    for (unsigned i = 0; i < ticks; i++) {
        double us = ledger_us(run);
        out[0] += us / ticks;
        out[1] = fmax(out[1], us);
    }
    ledger_release(&run->ledger);
    free(run->activity);
    return 0;
}

int main(int argc, char **argv)
{
    size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned ticks = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    struct run *run = calloc(1, sizeof *run);
    double fifth[2], each[2], ledger[2], busy[2];
    if (!n || !ticks || !run || measure(run, n, ticks, 5, fifth) ||
        measure(run, n, ticks, 1, each) || measure_ledger(run, n, ticks, 1.0 / 480, ledger) ||
        measure_ledger(run, n, ticks, 0.05, busy))
        return 1;
    printf("{\"candidates\": %u, \"us\": %.2f, \"worst_us\": %.1f, \"each_us\": %.2f, "
           "\"each_worst_us\": %.1f, \"domain_bytes\": %zu, \"scratch_bytes\": %zu, "
           "\"container_bytes\": %zu, \"ledger_us\": %.2f, \"ledger_worst_us\": %.1f, "
           "\"ledger_busy_us\": %.2f, \"ledger_busy_worst_us\": %.1f, \"ledger_bytes\": %zu}\n",
           attribution_candidates(&run->domain), fifth[0], fifth[1], each[0], each[1],
           sizeof run->domain, sizeof run->scratch, sizeof(struct attribution_member), ledger[0],
           ledger[1], busy[0], busy[1],
           sizeof run->ledger + (LEDGER_FIRST + n) * sizeof(struct ledger_workload));
    free(run);
    return 0;
}
