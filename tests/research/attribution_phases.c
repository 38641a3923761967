/* Co-runners that come and go, and the exporter's own estimator over time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/regression/estimator.h"
#include "tests/research/attribution.h"
#include "tests/simnode/model/rng.h"

enum { TICK_CYCLES = 500000, TICKS = 200, REDUCED_TICKS = 120 };
enum { SHORTEST = 5, LONGEST = 20 }; /* ticks on, or off */

struct timeline {
    int ticks;
    char *pauses[ATTR_MEMBERS]; /* JSON; NULL: none */
    bool off[ATTR_MEMBERS][TICKS];
};

static char *draw_pauses(struct rng *rng, int ticks, bool *off)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *before = "[";
    bool pause = rng_below(rng, 2);

    if (!out)
        return NULL;
    for (int tick = 1; tick <= ticks; pause = !pause) {
        int last = tick + SHORTEST - 1 + (int)rng_below(rng, LONGEST - SHORTEST + 1);

        last = last < ticks ? last : ticks;
        if (pause) {
            fprintf(out, "%s{\"from_tick\":%d,\"to_tick\":%d}", before, tick, last);
            before = ",";
        }
        for (; tick <= last; tick++)
            off[tick - 1] = pause;
    }
    fputc(']', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int draw_timeline(const struct reproduction *r, unsigned i, int n, struct timeline *out)
{
    struct rng rng;

    rng_seed(&rng, mix64(r->seed + 7) + i);
    out->ticks = r->reduced ? REDUCED_TICKS : TICKS;
    for (int m = 1; m < n; m++) {
        out->pauses[m] = draw_pauses(&rng, out->ticks, out->off[m]);
        if (!out->pauses[m])
            return -ENOMEM;
    }
    return 0;
}

struct run {
    const struct attr_result *result;
    struct simnode *node;
    double peak; /* lines a second of the victim's node */
    struct attribution_domain domain[ATTR_MEASURES];
    struct attribution_member total[ATTR_MEASURES];
    struct attribution_scratch scratch;
    struct attr_counts before[ATTR_MEMBERS];
    struct simnode_truth truth;
    int judged;
};

/* Adds a judged tick; later divided by their number. */
static void judge_parts(const struct run *run, double latency_ns, double slope,
                        const double traffic[ATTR_MEMBERS], struct attr_parts *out)
{
    const struct attr_result *result = run->result;
    double others = 0, calm_ns = attr_v(result, ATTR_LATENCY, 0, -1);

    for (int m = 1; m < result->mix.n; m++)
        others += traffic[m];

    double effect = slope * others / run->peak;
    double per_effect = effect > 0 ? latency_ns * -expm1(-effect) / effect : latency_ns;
    double excess = fmax(0, latency_ns - calm_ns);

    for (int m = 1; m < result->mix.n; m++) {
        out->by_slope[m - 1] += slope * traffic[m] / run->peak * per_effect;
        if (others > 0)
            out->by_excess[m - 1] += excess * traffic[m] / others;
    }
}

static void judge(struct run *run, unsigned there, double latency_ns, struct attr_phases *out)
{
    const struct attr_result *result = run->result;
    double truth[ATTR_OTHERS], calm_ns = attr_v(result, ATTR_LATENCY, 0, -1);

    attr_shapley(result, ATTR_LATENCY, there, -1, truth);
    for (int m = 1; m < result->mix.n; m++)
        out->truth[m - 1] += truth[m - 1];
    out->excess += attr_v(result, ATTR_LATENCY, there, -1) - calm_ns;
    out->seen_excess += latency_ns - calm_ns;
    run->judged++;
}

static int do_tick(struct run *run, const struct timeline *timeline, int tick,
                   struct attr_phases *out)
{
    const struct attr_mix *mix = &run->result->mix;
    static const enum attr_estimator by[ATTR_MEASURES] = {ATTR_BY_COUNTED, ATTR_BY_LINES};
    struct attr_counts now[ATTR_MEMBERS] = {0};
    double traffic[ATTR_MEASURES][ATTR_MEMBERS], sum[ATTR_MEASURES] = {0};
    struct simnode_truth truth;
    unsigned there = 0;
    int err = simnode_run_tick(run->node);

    if (!err)
        err = attr_count(run->node, mix->n, now);
    if (err)
        return err;
    for (int m = 0; m < mix->n; m++) {
        struct attr_counts counts = attr_counts_between(&run->before[m], &now[m]);

        for (int k = 0; k < ATTR_MEASURES; k++) {
            traffic[k][m] = attr_traffic(mix, m, &counts, by[k]);
            sum[k] += traffic[k][m];
        }
        there |= m && !timeline->off[m][tick] ? 1U << (m - 1) : 0;
        run->before[m] = now[m];
    }
    simnode_truth(run->node, 0, &truth);

    double reads = (double)(truth.reads - run->truth.reads);
    double latency_ns = (truth.latency_ns_sum - run->truth.latency_ns_sum) / reads;

    run->truth = truth;
    for (int k = 0; k < ATTR_MEASURES; k++) {
        if (!(reads > 0) || attribution_begin(&run->domain[k], latency_ns))
            return 0;
        (void)attribution_add(&run->domain[k], &run->total[k], sum[k] / run->peak);
        attribution_end(&run->domain[k], &run->scratch);
        if (tick >= timeline->ticks / 2)
            judge_parts(run, latency_ns, run->domain[k].beta[0], traffic[k], &out->parts[k]);
    }
    if (tick >= timeline->ticks / 2)
        judge(run, there, latency_ns, out);
    return 0;
}

static void finish(const struct run *run, struct attr_phases *out)
{
    double n = run->judged ? run->judged : 1;

    out->excess /= n;
    out->seen_excess /= n;
    for (int k = 0; k < ATTR_MEASURES; k++) {
        const struct attribution_slot *slot =
            attribution_candidate(&run->domain[k], &run->total[k]);
        struct attr_parts *parts = &out->parts[k];

        parts->score = slot ? slot->score : 0;
        parts->significant = parts->score >= 4;
        for (int i = 0; i < ATTR_OTHERS; i++) {
            parts->by_slope[i] /= n;
            parts->by_excess[i] /= n;
        }
    }
    for (int i = 0; i < ATTR_OTHERS; i++)
        out->truth[i] /= n;
}

static int run_scenario(const struct scenario *scenario, const struct attr_result *result,
                        const struct timeline *timeline, struct attr_phases *out)
{
    const struct dram_config *dram = &scenario->machine.dram;
    struct attribution_config config = attribution_config_pooled();
    struct run *run = calloc(1, sizeof(*run));
    int err = -ENOMEM;

    if (!run)
        return err;
    run->result = result;
    run->peak = dram->clock_hz / (double)dram->timing.burst * (double)scenario->machine.channels;
    err = 0;
    for (int k = 0; k < ATTR_MEASURES && !err; k++)
        err = attribution_init(&run->domain[k], &config);
    if (!err)
        err = simnode_new(scenario, &run->node);
    for (int tick = 0; !err && tick < timeline->ticks; tick++)
        err = do_tick(run, timeline, tick, out);
    if (!err)
        finish(run, out);
    simnode_free(run->node);
    free(run);
    return err;
}

int attr_run_phases(const struct reproduction *r, unsigned i, const struct attr_result *result,
                    unsigned stretch, struct attr_phases *out)
{
    const char *what = r->reduced ? "reduced-phases" : "phases";
    struct timeline *timeline = calloc(1, sizeof(*timeline));
    struct scenario *scenario = NULL;
    char *text = NULL;
    int err = timeline ? draw_timeline(r, i, result->mix.n, timeline) : -ENOMEM;

    memset(out, 0, sizeof(*out));
    if (!err) {
        text = attr_mix_scenario(&result->mix, (r->seed * 1000 + i) * ATTR_SEEDS,
                                 (uint64_t)TICK_CYCLES * stretch, timeline->pauses);
        err = text ? make_scenario(text, &scenario) : -ENOMEM;
    }
    if (!err && load_run(r->folder, what, text, out, sizeof(*out)) != 0) {
        err = run_scenario(scenario, result, timeline, out);
        if (!err)
            err = save_run(r->folder, what, text, out, sizeof(*out));
    }
    scenario_free(scenario);
    free(text);
    for (int m = 0; timeline && m < ATTR_MEMBERS; m++)
        free(timeline->pauses[m]);
    free(timeline);
    return err;
}
