/* One workload under one scheme: a decision at the end of each quantum, from what it counted. */
#include "tests/research/control.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "tests/simnode/formulas/theory.h"
#include "tests/simnode/formulas/ways.h"

const char *const control_scheme_names[] = {
    [SCHEME_NONE] = "nothing is divided",
    [SCHEME_UCP] = "UCP",
    [SCHEME_ASM_CACHE] = "ASM-Cache",
    [SCHEME_UNIFORM] = "epochs, equally often",
    [SCHEME_ASM_MEM] = "ASM-Mem",
    [SCHEME_ASM_CACHE_MEM] = "ASM-Cache-Mem",
    [SCHEME_PARBS] = "PARBS",
    [SCHEME_PARBS_UCP] = "PARBS and UCP",
    [SCHEME_LATE_UNIFORM] = "epochs after rows, equally often",
    [SCHEME_LATE_ASM_MEM] = "ASM-Mem after rows",
    [SCHEME_LATE_ASM_CACHE_MEM] = "ASM-Cache-Mem after rows",
    [SCHEME_UCP_EACH] = "UCP, a way for each",
    [SCHEME_NAIVE_QOS] = "Naive-QoS",
    [SCHEME_QOS] = "ASM-QoS",
    [SCHEME_FIXED] = "ways that stay",
};

enum {
    WAYS = 16,
    EPOCH_CYCLES = 10000,
    BATCH_CAP = 5, /* as in their paper */
    QUANTUM_CYCLES = CONTROL_QUANTUM_ROWS * SLOW_ROW_CYCLES,
};

/* "Slowdowns" with which ASM-QoS gives exactly that many ways to who has the bound 1. */
static void want_exactly(unsigned ways, double curve[WAYS + 1])
{
    for (unsigned n = 0; n <= WAYS; n++)
        curve[n] = n < ways ? 2 : 1;
}

/* What the end of a quantum knows of one application. */
struct quantum {
    struct simnode_cache_totals before, now;
    double hits[WAYS + 1];     /* with so many ways */
    double slowdown[WAYS + 1]; /* likewise */
    double useful[WAYS + 1];   /* UCP's: hits, of which each quantum forgets half */
    double misses[WAYS + 1];
    double now_slowdown;
};

struct controller {
    const struct control_plan *plan;
    struct simnode *node;
    struct quantum of[SLOW_MAX_CORES];
    struct control_ways ways[SLOW_MAX_CORES];
};

/* The same policy, whatever the controller finishes first. */
static struct control_plan policy_of(const struct control_plan *plan)
{
    struct control_plan policy = *plan;

    if (plan->scheme >= SCHEME_LATE_UNIFORM && plan->scheme <= SCHEME_LATE_ASM_CACHE_MEM)
        policy.scheme = plan->scheme - SCHEME_LATE_UNIFORM + SCHEME_UNIFORM;
    return policy;
}

static bool partitions(enum control_scheme scheme)
{
    return scheme == SCHEME_UCP || scheme == SCHEME_ASM_CACHE || scheme == SCHEME_ASM_CACHE_MEM ||
           scheme == SCHEME_PARBS_UCP || scheme >= SCHEME_UCP_EACH;
}

static bool by_misses(enum control_scheme scheme)
{
    return scheme == SCHEME_UCP || scheme == SCHEME_PARBS_UCP || scheme == SCHEME_UCP_EACH;
}

static bool has_epochs(enum control_scheme scheme)
{
    return scheme == SCHEME_UNIFORM || scheme == SCHEME_ASM_MEM || scheme == SCHEME_ASM_CACHE_MEM;
}

static bool has_batches(enum control_scheme scheme)
{
    return scheme == SCHEME_PARBS || scheme == SCHEME_PARBS_UCP;
}

/* --- what is known --- */

static void look(struct controller *controller, size_t i)
{
    struct quantum *q = &controller->of[i];
    double way_hits[WAYS], accesses;

    q->before = q->now;
    simnode_cache_totals(controller->node, i, &q->now);
    accesses = (double)(q->now.accesses - q->before.accesses);
    for (int w = 0; w < WAYS; w++)
        way_hits[w] = (double)(q->now.way_hits[w] - q->before.way_hits[w]);
    control_hits_by_ways(way_hits, (double)(q->now.tag_misses - q->before.tag_misses), WAYS,
                         accesses, q->hits);

    /* What the node's shadow clocks say: how long it would have taken alone. */
    double alone = (double)(q->now.shadow_cycles - q->before.shadow_cycles);
    const struct control_cache_counts counts = {
        .quantum_cycles = QUANTUM_CYCLES,
        .hits = (double)(q->now.hits - q->before.hits),
        .misses = (double)(q->now.misses - q->before.misses),
        .hit_time = (double)(q->now.hit_cycles - q->before.hit_cycles),
        .miss_time = (double)(q->now.miss_cycles - q->before.miss_cycles),
        .alone_rate = alone > 0 ? accesses / alone : 0,
    };

    q->now_slowdown = alone > 0 ? QUANTUM_CYCLES / alone : 1;
    control_slowdown_by_ways(&counts, q->hits, WAYS, q->slowdown);
    for (int w = 0; w <= WAYS; w++)
        q->useful[w] = q->useful[w] / 2 + q->hits[w];
    for (int w = 0; w <= WAYS; w++)
        q->misses[w] = q->useful[WAYS] - q->useful[w];
}

/* --- what is done --- */

static void decide_ways(struct controller *controller)
{
    const struct control_plan *plan = controller->plan;
    bool bound = plan->scheme == SCHEME_QOS || plan->scheme == SCHEME_FIXED;
    struct control_cache cache = {
        .ways = WAYS, .min_bits = 1, .pool = !bound && plan->scheme != SCHEME_UCP_EACH};
    double exactly[WAYS + 1];

    for (size_t i = 0; i < plan->variant.cores; i++)
        controller->ways[i] =
            (struct control_ways){.slowdown = by_misses(plan->scheme) ? controller->of[i].misses
                                                                      : controller->of[i].slowdown,
                                  .bound = plan->scheme == SCHEME_QOS && i == 0 ? plan->bound : 0};
    if (plan->scheme == SCHEME_FIXED) {
        want_exactly((unsigned)plan->bound, exactly);
        controller->ways[0] = (struct control_ways){.slowdown = exactly, .bound = 1};
    }
    if (bound)
        control_ways_qos(controller->ways, plan->variant.cores, &cache);
    else
        control_ways_divide(controller->ways, plan->variant.cores, &cache);
}

/* All ways but one to the first; a mask cannot be empty. */
static void decide_naively(struct controller *controller)
{
    for (size_t i = 0; i < controller->plan->variant.cores; i++)
        controller->ways[i] = (struct control_ways){
            .ways = i ? 0 : WAYS - 1, .mask = i ? 1U << (WAYS - 1) : (1U << (WAYS - 1)) - 1};
}

static void set_weights(struct controller *controller)
{
    const struct control_plan *plan = controller->plan;
    double slowdowns[SLOW_MAX_CORES], shares[SLOW_MAX_CORES];
    size_t n = plan->variant.cores;

    for (size_t i = 0; i < n; i++) {
        unsigned ways = controller->ways[i].ways ? controller->ways[i].ways : 1;

        slowdowns[i] = plan->scheme == SCHEME_ASM_CACHE_MEM ? controller->of[i].slowdown[ways]
                                                            : controller->of[i].now_slowdown;
    }
    control_shares(slowdowns, n, shares);
    for (size_t i = 0; i < n; i++)
        simnode_set_epoch_weight(controller->node, i, shares[i]);
}

static void decide(struct controller *controller)
{
    const struct control_plan *plan = controller->plan;

    for (size_t i = 0; i < plan->variant.cores; i++)
        look(controller, i);
    if (plan->scheme == SCHEME_NAIVE_QOS)
        decide_naively(controller);
    else if (partitions(plan->scheme))
        decide_ways(controller);
    for (size_t i = 0; i < plan->variant.cores && partitions(plan->scheme); i++)
        simnode_set_ways(controller->node, i, controller->ways[i].mask);
    if (plan->scheme == SCHEME_ASM_MEM || plan->scheme == SCHEME_ASM_CACHE_MEM)
        set_weights(controller);
}

/* --- the run --- */

static void keep(struct controller *controller, struct control_row *rows)
{
    for (size_t i = 0; i < controller->plan->variant.cores; i++) {
        struct simnode_truth truth;

        simnode_truth(controller->node, i, &truth);
        rows[i].instructions = truth.instructions;
        rows[i].ways = controller->ways[i].ways;
    }
    decide(controller);
    for (size_t i = 0; i < controller->plan->variant.cores; i++) {
        const struct quantum *q = &controller->of[i];

        rows[i].shadow_cycles = q->now.shadow_cycles;
        if (partitions(controller->plan->scheme))
            rows[i].predicted = (uint64_t)llround(
                1e6 *
                fmax(1, q->slowdown[controller->ways[i].ways ? controller->ways[i].ways : 1]));
    }
}

static int simulate(const struct control_plan *plan, const struct textbuf *text,
                    struct control_outcome *out)
{
    struct controller *controller = calloc(1, sizeof(*controller));
    struct scenario *scenario = NULL;
    int err = controller ? make_scenario(text->data, &scenario) : -ENOMEM;

    if (!err)
        err = simnode_new(scenario, &controller->node);
    if (!err)
        controller->plan = plan;
    for (unsigned q = 0; !err && q < out->quanta; q++) {
        for (int row = 0; !err && row < CONTROL_QUANTUM_ROWS; row++)
            err = simnode_run_tick(controller->node);
        if (!err)
            keep(controller, &out->rows[q * out->cores]);
    }
    simnode_free(controller ? controller->node : NULL);
    scenario_free(scenario);
    free(controller);
    return err;
}

int control_run(const char *folder, const struct control_plan *plan, struct control_outcome *out)
{
    const struct control_plan policy = policy_of(plan);
    struct slow_variant variant = plan->variant;
    struct control_outcome outcome = {.cores = variant.cores,
                                      .quanta = variant.mega_cycles / CONTROL_QUANTUM_ROWS};
    size_t rows = (size_t)outcome.quanta * outcome.cores;
    size_t size = rows * sizeof(*outcome.rows);
    struct textbuf text = TEXTBUF_INIT;
    char what[64];

    variant.epoch_cycles = has_epochs(policy.scheme) ? EPOCH_CYCLES : 0;
    variant.yielding = has_epochs(policy.scheme);
    variant.after_rows = policy.scheme != plan->scheme;
    variant.batch_cap = has_batches(policy.scheme) ? BATCH_CAP : 0;
    outcome.rows = calloc(rows, sizeof(*outcome.rows));
    int err = slow_shared_text(&variant, plan->apps, &text);
    if (!err && !outcome.rows)
        err = -ENOMEM;
    if (!err) {
        snprintf(what, sizeof(what), "control-%d-%g", policy.scheme, plan->bound);
        err = load_run(folder, what, text.data, outcome.rows, size);
    }
    if (err == -ENOENT) {
        err = simulate(&policy, &text, &outcome);
        if (!err)
            err = save_run(folder, what, text.data, outcome.rows, size);
    }
    textbuf_release(&text);
    if (err)
        control_outcome_release(&outcome);
    else
        *out = outcome;
    return err;
}

void control_outcome_release(struct control_outcome *outcome)
{
    free(outcome->rows);
    outcome->rows = NULL;
}

double control_slowdown(const struct control_outcome *outcome, unsigned core, unsigned from,
                        const struct slow_alone *alone)
{
    const struct control_row *last = &outcome->rows[(outcome->quanta - 1) * outcome->cores + core];
    double begin = 0;

    if (from > 0)
        begin = slow_alone_cycles(alone,
                                  outcome->rows[(from - 1) * outcome->cores + core].instructions);
    return (double)(outcome->quanta - from) * QUANTUM_CYCLES /
           (slow_alone_cycles(alone, last->instructions) - begin);
}

int control_alone_get(struct control_alone *alone, const char *folder,
                      const struct slow_variant *variant, size_t app)
{
    if (app >= CONTROL_APPS)
        return -ERANGE;
    if (alone->there[app])
        return 0;
    int err = slow_alone_get(folder, variant, app, WAYS, &alone->of[app]);
    alone->there[app] = err == 0;
    return err;
}

void control_alone_release(struct control_alone *alone)
{
    for (size_t i = 0; i < CONTROL_APPS; i++)
        if (alone->there[i])
            slow_alone_release(&alone->of[i]);
    *alone = (struct control_alone){0};
}
