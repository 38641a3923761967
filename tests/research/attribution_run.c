/* A mix with every subset of its co-runners, and what counters show of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/research/attribution.h"

enum { TICK_CYCLES = 1000000, WARM_UP_TICKS = 6, REDUCED_WARM_UP_TICKS = 3, TICKS = 4 };

static int read_role(struct simnode *node, size_t i, enum group group, enum role role, double *out)
{
    struct simnode_reading reading;
    int err = simnode_read_container(node, i, group, &reading);

    *out = err ? 0 : (double)reading.values[group_index(group, role)];
    return err == -ENODATA ? 0 : err;
}

int attr_count(struct simnode *node, int n, struct attr_counts *out)
{
    for (int i = 0; i < n; i++) {
        struct simnode_traffic traffic;
        struct simnode_truth truth;
        size_t at = (size_t)i;
        int err = read_role(node, at, GROUP_CORE, ROLE_L3_MISS_READS, &out[i].demand);

        if (!err)
            err = read_role(node, at, GROUP_TRAFFIC, ROLE_LLC_MISSES, &out[i].misses);
        if (!err)
            err = read_role(node, at, GROUP_TRAFFIC, ROLE_RFO, &out[i].rfos);
        if (err)
            return err;
        simnode_traffic(node, at, &traffic);
        simnode_truth(node, at, &truth);
        out[i].seconds = (double)simnode_now_ns(node) / 1e9;
        out[i].instructions = (double)truth.instructions;
        out[i].rfo_misses = (double)traffic.fetched[REQUEST_RFO];
        out[i].written_back = (double)traffic.written_back;
        out[i].nt_lines = (double)traffic.nt_lines;
        out[i].insertions = (double)traffic.llc_insertions;
        out[i].remote = (double)traffic.fetched_remote;
    }
    return 0;
}

struct attr_counts attr_counts_between(const struct attr_counts *a, const struct attr_counts *b)
{
    return (struct attr_counts){
        .seconds = b->seconds - a->seconds,
        .instructions = b->instructions - a->instructions,
        .demand = b->demand - a->demand,
        .misses = b->misses - a->misses,
        .rfos = b->rfos - a->rfos,
        .rfo_misses = b->rfo_misses - a->rfo_misses,
        .written_back = b->written_back - a->written_back,
        .nt_lines = b->nt_lines - a->nt_lines,
        .insertions = b->insertions - a->insertions,
        .remote = b->remote - a->remote,
    };
}

static int run_ticks(struct simnode *node, int n)
{
    int err = 0;

    for (int i = 0; !err && i < n; i++)
        err = simnode_run_tick(node);
    return err;
}

static int run_subset(const struct scenario *full, unsigned subset, int warm_up,
                      struct attr_state *out)
{
    struct container_spec containers[ATTR_MEMBERS];
    struct attr_counts before[ATTR_MEMBERS] = {0}, after[ATTR_MEMBERS] = {0};
    struct scenario scenario = *full;
    struct simnode_truth a, b;
    struct simnode *node;
    int n = (int)full->n_containers;

    for (int i = 0; i < n; i++) {
        containers[i] = full->containers[i];
        if (i > 0 && !(subset & 1U << (i - 1)))
            containers[i].start_tick = INT64_MAX;
    }
    scenario.containers = containers;

    int err = simnode_new(&scenario, &node);

    if (err)
        return err;
    err = run_ticks(node, warm_up);
    simnode_truth(node, 0, &a);
    if (!err)
        err = attr_count(node, n, before);
    if (!err)
        err = run_ticks(node, TICKS);
    simnode_truth(node, 0, &b);
    if (!err)
        err = attr_count(node, n, after);
    simnode_free(node);

    double reads = (double)(b.reads - a.reads),
           instructions = (double)(b.instructions - a.instructions);

    out->latency_ns = (b.latency_ns_sum - a.latency_ns_sum) / reads;
    out->cpi = (double)TICKS * TICK_CYCLES / instructions;
    out->reads_per_kilo = reads * 1000 / instructions;
    for (int i = 0; i < n; i++)
        out->counts[i] = attr_counts_between(&before[i], &after[i]);
    return err;
}

static int run_seed(const struct reproduction *r, unsigned seed, struct attr_result *result,
                    struct attr_state *states)
{
    struct scenario *scenario;
    char *text = attr_mix_scenario(&result->mix, seed, TICK_CYCLES, NULL);
    int err = text ? make_scenario(text, &scenario) : -ENOMEM;

    free(text);
    if (err)
        return err;
    for (unsigned subset = 0; !err && subset < 1U << (result->mix.n - 1); subset++)
        err = run_subset(scenario, subset, r->reduced ? REDUCED_WARM_UP_TICKS : WARM_UP_TICKS,
                         &states[subset]);
    scenario_free(scenario);
    return err;
}

int attr_run(const struct reproduction *r, unsigned i, struct attr_result *out)
{
    const char *what = r->reduced ? "reduced-subsets" : "subsets";
    struct attr_mix mix = attr_mix_draw(r->seed, i);
    char *text = attr_mix_scenario(&mix, r->seed, TICK_CYCLES, NULL);
    int err = text ? 0 : -ENOMEM;

    if (err || load_run(r->folder, what, text, out, sizeof(*out)) == 0) {
        free(text);
        return err;
    }
    memset(out, 0, sizeof(*out));
    out->mix = mix;
    /* A second seed shows how certain the truth is: that some mixes have it is enough. */
    out->seeds = r->reduced || i % 4 ? 1 : ATTR_SEEDS;
    for (int s = 0; !err && s < out->seeds; s++)
        err = run_seed(r, (r->seed * 1000 + i) * ATTR_SEEDS + (unsigned)s, out, out->states[s]);
    if (!err)
        err = save_run(r->folder, what, text, out, sizeof(*out));
    free(text);
    return err;
}
