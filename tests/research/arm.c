/*
 * The exporter's latency on Arm's cores that count loads in flight (fill_latency.h), and what it
 * shows in its place on those that count stalls, on the simulated node.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "collectors/events/events.h"
#include "collectors/formulas/fill_latency.h"
#include "collectors/formulas/slowdown.h"
#include "tests/research/reproduce.h"

enum {
    WARM_UP = 8,
    WINDOWS = 10,
    REDUCED_WARM_UP = 3,
    REDUCED_WINDOWS = 2,
    TICK_CYCLES = 800000,
    REDUCED_TICK_CYCLES = 400000
};

#define IN_ORDER "\"core\":{\"width\":1,\"window\":1},"
#define BUSY                                                                                       \
    ",{\"key\":\"load\",\"workload\":\"stress\",\"prefetch\":false,"                               \
    "\"cpus\":[8,9,10,11,12,13,14,15]}"
#define HOT(bytes, share)                                                                          \
    "{\"kind\":\"random\",\"bytes\":268435456,\"hot_bytes\":" #bytes ",\"hot_share\":" #share      \
    ",\"instructions_per_access\":10,\"dependence\":0.3}"

#define KERNEL(name) "{\"kind\":\"" name "\",\"bytes\":134217728}"

/* What the estimate must be. */
enum claim { RIGHT, TOO_HIGH, UNKNOWN };

static const struct row {
    const char *name, *workload; /* JSON */
    const char *effects;
    bool prefetch, busy;
    enum claim claim[2]; /* out of order, in order */
} rows[] = {
    {"chase",
     "{\"kind\":\"chase\",\"bytes\":268435456,\"sequential\":true}",
     "",
     false,
     false,
     {RIGHT, RIGHT}},
    {"chase, memory busy",
     "{\"kind\":\"chase\",\"bytes\":268435456,\"sequential\":true}",
     "",
     false,
     true,
     {RIGHT, RIGHT}},
    {"random reads",
     "{\"kind\":\"random\",\"bytes\":268435456,\"instructions_per_access\":20}",
     "",
     false,
     false,
     {RIGHT, RIGHT}},
    {"random reads, memory busy",
     "{\"kind\":\"random\",\"bytes\":268435456,\"instructions_per_access\":20}",
     "",
     false,
     true,
     {RIGHT, RIGHT}},
    {"a third in the L1", HOT(16384, 0.3), "", false, false, {RIGHT, RIGHT}},
    {"nine in ten in the L1", HOT(16384, 0.9), "", false, true, {RIGHT, RIGHT}},
    {"nine in ten in the L2", HOT(262144, 0.9), "", false, true, {RIGHT, RIGHT}},
    {"half in the last-level cache", HOT(4194304, 0.5), "", false, true, {RIGHT, RIGHT}},
    {"998 in 1000 in the L1", HOT(16384, 0.998), "", false, true, {UNKNOWN, UNKNOWN}},
    {"a tenth stores",
     "{\"kind\":\"random\",\"bytes\":268435456,\"instructions_per_access\":20,\"store_share\":0.1}",
     "",
     false,
     true,
     {RIGHT, RIGHT}},
    {"stream", "{\"kind\":\"stream\",\"bytes\":134217728}", "", false, false, {RIGHT, RIGHT}},
    {"kernel fft", KERNEL("fft"), "", false, false, {TOO_HIGH, RIGHT}},
    {"kernel radix", KERNEL("radix"), "", false, false, {TOO_HIGH, RIGHT}},
    {"kernel ocean", KERNEL("ocean"), "", false, false, {TOO_HIGH, RIGHT}},
    {"kernel hash", KERNEL("hash"), "", false, false, {RIGHT, RIGHT}},
    {"stream, prefetched",
     "{\"kind\":\"stream\",\"bytes\":134217728}",
     "\"prefetch_merging\":true",
     true,
     false,
     {UNKNOWN, UNKNOWN}},
    {"page walks",
     "{\"kind\":\"random\",\"bytes\":268435456,\"instructions_per_access\":20}",
     "\"tlb\":true",
     false,
     false,
     {RIGHT, RIGHT}},
};

struct result {
    double truth_ns, estimate_ns; /* of the windows that have one */
    double hit_share;             /* of A, all windows */
    double stall_ns;              /* per read, all windows */
    unsigned windows, unknown;
};

static unsigned windows(const struct reproduction *r)
{
    return r->reduced ? REDUCED_WINDOWS : WINDOWS;
}

static int tick_cycles(const struct reproduction *r)
{
    return r->reduced ? REDUCED_TICK_CYCLES : TICK_CYCLES;
}

static int parse(const struct reproduction *r, const struct row *row, bool in_order,
                 struct scenario **out)
{
    char json[4096];

    snprintf(json, sizeof(json),
             "{\"scenario\":1,\"ticks\":%u,\"tick_cycles\":%d,\"machine\":{%s"
             "\"preset\":\"neoverse-v3\",\"prefetcher\":{\"degree\":4}},\"effects\":{%s},"
             "\"workloads\":{\"w\":%s,"
             "\"stress\":{\"kind\":\"stream\",\"bytes\":134217728,\"streams\":2,"
             "\"instructions_per_access\":30,\"store_share\":0.3}},\"containers\":[{\"key\":\"w\","
             "\"workload\":\"w\",\"prefetch\":%s,\"cpus\":[0]}%s]}",
             WARM_UP + WINDOWS, tick_cycles(r), in_order ? IN_ORDER : "", row->effects,
             row->workload, row->prefetch ? "true" : "false", row->busy ? BUSY : "");

    return make_scenario(json, out);
}

struct totals {
    double n[8], stalls; /* by role of the group */
    struct simnode_truth truth;
};

static int read_totals(struct simnode *node, struct totals *out)
{
    struct simnode_reading reading;
    int err = simnode_read_container(node, 0, GROUP_IN_FLIGHT, &reading);

    for (size_t i = 0; !err && i < group_descs[GROUP_IN_FLIGHT].n; i++)
        out->n[i] = (double)reading.values[i];
    if (!err)
        err = simnode_read_container(node, 0, GROUP_MISSES, &reading);
    out->stalls = err ? 0 : (double)reading.values[group_index(GROUP_MISSES, ROLE_MEMORY_STALLS)];
    simnode_truth(node, 0, &out->truth);
    return err;
}

static double since(const struct totals *a, const struct totals *b, enum role role)
{
    int i = group_index(GROUP_IN_FLIGHT, role);

    return b->n[i] - a->n[i];
}

/* As core_latency does it. */
static void add_window(const struct totals *a, const struct totals *b, struct fill_times times,
                       double base_hz, struct result *out)
{
    struct core_latency_counts counts = {.cycles = (uint64_t)since(a, b, ROLE_CYCLES),
                                         .ref_cycles = (uint64_t)since(a, b, ROLE_REF_CYCLES),
                                         .reads = (uint64_t)since(a, b, ROLE_L3_MISS_READS)};
    const struct core_cache cache = {times.l3, 0};
    double in_flight = since(a, b, ROLE_LOADS_IN_FLIGHT), beyond, hz;
    struct core_latency latency;
    struct fills fills = {.memory = 0};
    int err = fills_of_loads(in_flight, since(a, b, ROLE_LOAD_ACCESSES),
                             since(a, b, ROLE_L1D_LOAD_MISSES), since(a, b, ROLE_LLC_READS),
                             (double)counts.reads, &fills);

    out->hit_share += (fills.l1 * times.l1 + fills.l2 * times.l2 + fills.l3 * times.l3) / in_flight;
    if (core_frequency_hz(counts.cycles, counts.ref_cycles, base_hz, &hz) == 0)
        out->stall_ns += (b->stalls - a->stalls) / (double)counts.reads / hz * 1e9;
    out->windows++;
    if (!err)
        err = fills_beyond(&fills, times, &beyond);
    if (err) {
        out->unknown++;
        return;
    }
    counts.occupancy = (uint64_t)beyond;
    if (core_latency_estimate(&counts, base_hz, cache, &latency) != 0)
        return;
    out->estimate_ns += latency.latency_seconds * 1e9;
    out->truth_ns += (b->truth.latency_ns_sum - a->truth.latency_ns_sum) /
                     (double)(b->truth.reads - a->truth.reads);
}

static int run(const struct reproduction *r, const struct row *row, bool in_order,
               struct result *out)
{
    const unsigned warm_up = r->reduced ? REDUCED_WARM_UP : WARM_UP;
    struct totals before = {.stalls = 0}, after = {.stalls = 0};
    struct scenario *scenario;
    struct simnode *node;
    int err = parse(r, row, in_order, &scenario);

    if (err)
        return err;
    const struct machine_spec *machine = &scenario->machine;
    const double l2 = (double)(machine->l1.latency_cycles + machine->l2.latency_cycles);
    const struct fill_times times = {.l1 = event_table_neoverse_v3.l1d_hit_cycles,
                                     .l2 = l2,
                                     .l3 = l2 + (double)machine->llc.latency_cycles};

    *out = (struct result){.windows = 0};
    err = simnode_new(scenario, &node);
    if (!err) {
        for (unsigned tick = 0; !err && tick < warm_up; tick++)
            err = simnode_run_tick(node);
        if (!err)
            err = read_totals(node, &before);
        while (!err && out->windows < windows(r)) {
            err = simnode_run_tick(node);
            if (!err)
                err = read_totals(node, &after);
            if (!err)
                add_window(&before, &after, times, machine->base_hz, out);
            before = after;
        }
        simnode_free(node);
    }
    scenario_free(scenario);
    double n = out->windows - out->unknown;
    out->truth_ns = n > 0 ? out->truth_ns / n : NAN;
    out->estimate_ns = n > 0 ? out->estimate_ns / n : NAN;
    out->hit_share /= out->windows;
    out->stall_ns /= out->windows;
    return err;
}

static void check(struct reproduction *r, const struct row *row, bool in_order,
                  const struct result *m)
{
    double error = (m->estimate_ns / m->truth_ns - 1) * 100, limit = in_order ? 5 : 10;

    switch (row->claim[in_order]) {
    case RIGHT:
        expect_that(r, fabs(error) <= limit, "%s: within %.0f %%: %+.2f", row->name, limit, error);
        break;
    case TOO_HIGH:
        expect_that(r, error > limit, "%s: a blind spot, too high: %+.2f", row->name, error);
        break;
    case UNKNOWN:
        expect_that(r, m->unknown == m->windows, "%s: nothing is said: %u of %u", row->name,
                    m->unknown, m->windows);
        break;
    }
}

static int table(struct reproduction *r, bool in_order)
{
    fprintf(r->out,
            "## %s\n"
            "\n"
            "| container | hits' share of A | truth ns | estimate ns | error | windows without | "
            "stall per read ns |\n"
            "|---|---|---|---|---|---|---|\n",
            in_order ? "In order" : "Out of order");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct result m;
        int err = run(r, &rows[i], in_order, &m);

        if (err)
            return err;
        fprintf(r->out, "| %s | %.2f | ", rows[i].name, m.hit_share);
        if (isnan(m.estimate_ns))
            fprintf(r->out, "- | - | - |");
        else
            fprintf(r->out, "%.1f | %.1f | %+.2f %% |", m.truth_ns, m.estimate_ns,
                    (m.estimate_ns / m.truth_ns - 1) * 100);
        fprintf(r->out, " %u of %u | %.1f |\n", m.unknown, m.windows, m.stall_ns);
        check(r, &rows[i], in_order, &m);
    }
    fprintf(r->out, "\n");
    return 0;
}

/* ---- slowdown ---- */

/* All windows of a row in one. */
static int span(const struct reproduction *r, struct row row, bool busy, struct totals *first,
                struct totals *last)
{
    const unsigned warm_up = r->reduced ? REDUCED_WARM_UP : WARM_UP;
    struct scenario *scenario;
    struct simnode *node = NULL;

    row.busy = busy;
    int err = parse(r, &row, false, &scenario);

    if (err)
        return err;
    err = simnode_new(scenario, &node);
    for (unsigned tick = 0; !err && tick < warm_up + windows(r); tick++) {
        if (tick == warm_up)
            err = read_totals(node, first);
        if (!err)
            err = simnode_run_tick(node);
    }
    if (!err)
        err = read_totals(node, last);
    simnode_free(node);
    scenario_free(scenario);
    return err;
}

/* Alone and beside the stream; what the exporter says of the second when it knows the first. */
static int slowdown_of(const struct reproduction *r, const struct row *row, double *actual,
                       double *estimate)
{
    struct totals a, b, c, d;
    struct slowdown_passive out;
    int err = span(r, *row, false, &a, &b);

    if (!err)
        err = span(r, *row, true, &c, &d);
    if (err)
        return err;

    double alone = (b.stalls - a.stalls) / since(&a, &b, ROLE_LLC_READS);
    uint64_t reads = (uint64_t)since(&c, &d, ROLE_LLC_READS);
    uint64_t stalls = (uint64_t)(d.stalls - c.stalls);
    const struct slowdown_passive_counts counts = {.cycles = (uint64_t)since(&c, &d, ROLE_CYCLES),
                                                   .accesses = reads,
                                                   .misses = reads,
                                                   .occupancy = stalls,
                                                   .active = stalls};
    const struct slowdown_passive_alone known = {.latency_cycles = alone, .miss_ratio = 1};

    *actual = since(&c, &d, ROLE_CYCLES) / since(&c, &d, ROLE_INSTRUCTIONS) /
              (since(&a, &b, ROLE_CYCLES) / since(&a, &b, ROLE_INSTRUCTIONS));
    *estimate = slowdown_passive(&counts, &known, &out) == SLOWDOWN_OK ? out.ratio : NAN;
    return 0;
}

static int slowdowns(struct reproduction *r)
{
    double sum = 0;
    unsigned n = 0;

    fprintf(r->out, "## Slowdown, from stalls\n"
                    "\n"
                    "| container | actual | estimate | error |\n"
                    "|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double actual, estimate;

        if (strstr(rows[i].name, ", memory busy"))
            continue; /* as the one before it */
        int err = slowdown_of(r, &rows[i], &actual, &estimate);

        if (err)
            return err;
        double error = (estimate / actual - 1) * 100;
        fprintf(r->out, "| %s | %.3f | %.3f | %+.2f %% |\n", rows[i].name, actual, estimate, error);
        sum += fabs(error);
        n++;
    }
    fprintf(
        r->out,
        "\n"
        "Mean error: %.1f %%. These programs are steady, and lose little of the cache. One whose\n"
        "reads are other ones at times is compared with what it was like in calm windows.\n"
        "\n",
        sum / n);
    expect_that(r, sum / n <= 2, "slowdown from stalls: %.1f %% on average", sum / n);
    return 0;
}

int reproduce_arm(struct reproduction *r)
{
    int err = table(r, false);

    if (!err)
        err = table(r, true);
    if (!err)
        err = slowdowns(r);
    return err;
}
