/* A1: CPU for best-effort work as long as memory is fast (Shen and Li 2020, algorithm 1, 5.1). */
#include "tests/research/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "tests/simnode/control/closed_loop.h"

enum { LC, BE, LC_THREADS = 9, BE_THREADS = 6, ALONE_TICKS = 24, WARM_UP = 4 };

/* What best-effort work does; names as in the paper: stress-ng's CPU methods, memory bandwidth. */
static const struct job {
    const char *name, *workload;
} jobs[] = {
    {"reads memory",
     "{\"kind\":\"stream\",\"bytes\":268435456,\"streams\":4,\"instructions_per_access\":4}"},
    {"computes", "{\"kind\":\"compute\"}"},
};

enum { JOBS = sizeof(jobs) / sizeof(jobs[0]) };

/* Who governs it. */
static const struct arm {
    const char *name, *policy; /* policy: of the governor's configuration; NULL: it does not run */
    double quota;              /* from the start; 0: none */
} arms[] = {
    {"no quota", NULL, 0},
    {"1 core", NULL, 1},
    {"algorithm 1, theta", "\"mode\":\"paper\",\"factor\":1,\"culprit_share\":0", 0},
    {"algorithm 1, theta x 1.05", "\"mode\":\"paper\",\"factor\":1.05,\"culprit_share\":0", 0},
    {"algorithm 1, theta x 1.25", "\"mode\":\"paper\",\"factor\":1.25,\"culprit_share\":0", 0},
};

enum { ARMS = sizeof(arms) / sizeof(arms[0]), NO_QUOTA = 0, ONE_CORE = 1, PAPER_125 = 4 };

struct outcome {
    double latency_ns; /* true, of the latency-critical application */
    double speed;      /* its instructions in a tick, over those when it runs alone */
    double cores;      /* mean quota */
    double work;       /* best-effort instructions */
    double baseline_ns, told_ns;
};

/* --- one run --- */

/* A tick is a twelfth of a millisecond, told as a second. */
static int make_loop(const struct job *job, bool reduced, struct scenario **out)
{
    struct textbuf text = TEXTBUF_INIT;
    unsigned stretch = reduced ? 60000 : 12000;

    textbuf_printf(&text,
                   "{\"scenario\":1,\"seed\":1,\"tick_cycles\":%u,\"stretch\":%u,"
                   "\"machine\":{\"preset\":\"clx\"},\"workloads\":{\"lc\":{\"kind\":\"random\","
                   "\"bytes\":1073741824,\"instructions_per_access\":40,\"dependence\":0.3,"
                   "\"hot_bytes\":32768,\"hot_share\":0.5},\"be\":%s},\"containers\":["
                   "{\"key\":\"lc\",\"workload\":\"lc\",\"cpus\":[0,1,2,3,4,5,6,7,8]},"
                   "{\"key\":\"be\",\"workload\":\"be\",\"cpus\":[9,10,11,12,13,14],"
                   "\"start_tick\":%d}]}",
                   2100000000U / stretch, stretch, job->workload, ALONE_TICKS + 1);
    int err = textbuf_finish(&text);
    if (!err)
        err = make_scenario(text.data, out);
    textbuf_release(&text);
    return err;
}

static char *make_config(const char *policy)
{
    struct textbuf text = TEXTBUF_INIT;

    textbuf_printf(&text,
                   "\"classes\":[{\"name\":\"lc\",\"role\":\"protected\",\"match\":[{\"namespace\":"
                   "\"*\",\"pod\":\"*\",\"container\":\"lc\"}]},{\"name\":\"be\",\"role\":"
                   "\"best_effort\",\"match\":[{\"namespace\":\"*\",\"pod\":\"*\",\"container\":"
                   "\"be\"}]}],\"policies\":{\"threshold\":{\"classes\":[\"be\"],%s}},"
                   "\"limits\":{\"cuts_per_10m\":60}",
                   policy);
    char *copy = textbuf_finish(&text) == 0 ? strdup(text.data) : NULL;
    textbuf_release(&text);
    return copy;
}

static struct simnode_truth truth_of(struct closed_loop *loop, size_t container)
{
    struct simnode_truth truth;

    simnode_truth(closed_loop_node(loop), container, &truth);
    return truth;
}

static int run_ticks(struct closed_loop *loop, unsigned ticks, struct outcome *out)
{
    int err = 0;

    for (unsigned i = 0; !err && i < ticks; i++) {
        out->cores += closed_loop_value(loop, KNOB_CPU, BE) / ticks;
        err = closed_loop_tick(loop);
        out->told_ns += closed_loop_latency_ns(loop, LC) / ticks;
    }
    return err;
}

static int run_phases(struct closed_loop *loop, unsigned ticks, struct outcome *out)
{
    struct outcome warm_up = {0};
    int err = run_ticks(loop, WARM_UP, &warm_up);

    struct simnode_truth start = truth_of(loop, LC);
    if (!err)
        err = run_ticks(loop, ALONE_TICKS - WARM_UP, &warm_up);
    struct simnode_truth alone = truth_of(loop, LC);
    if (!err)
        err = run_ticks(loop, WARM_UP, &warm_up);
    struct simnode_truth before = truth_of(loop, LC);
    double be_before = (double)truth_of(loop, BE).instructions;
    if (!err)
        err = run_ticks(loop, ticks, out);
    struct simnode_truth after = truth_of(loop, LC);
    out->latency_ns =
        (after.latency_ns_sum - before.latency_ns_sum) / (double)(after.reads - before.reads);
    out->speed = (double)(after.instructions - before.instructions) / ticks /
                 ((double)(alone.instructions - start.instructions) / (ALONE_TICKS - WARM_UP));
    out->work = (double)truth_of(loop, BE).instructions - be_before;
    out->baseline_ns = closed_loop_baseline_ns(loop, LC);
    return err;
}

static int run(const struct job *job, const struct arm *arm, bool reduced, struct outcome *out)
{
    struct scenario *scenario = NULL;
    struct closed_loop *loop = NULL;
    char *config = arm->policy ? make_config(arm->policy) : NULL;
    int err = arm->policy && !config ? -ENOMEM : make_loop(job, reduced, &scenario);

    *out = (struct outcome){0};
    if (!err)
        err = closed_loop_new(scenario, config, &loop);
    if (!err && arm->quota > 0)
        err = simnode_set_quota(closed_loop_node(loop), BE, arm->quota);
    if (!err)
        err = run_phases(loop, reduced ? 12 : 40, out);
    if (arm->quota > 0)
        out->cores = arm->quota;
    closed_loop_free(loop);
    scenario_free(scenario);
    free(config);
    return err;
}

/* --- the table --- */

static void put_outcome(struct reproduction *r, const struct job *job, const struct arm *arm,
                        const struct outcome *o, const struct outcome *most)
{
    fprintf(r->out, "| %s | %s | %.1f | %.1f | %.3f | %.2f | %.3f |\n", job->name, arm->name,
            o->latency_ns, o->told_ns, o->speed, o->cores, o->work / most->work);
}

static void expect(struct reproduction *r, const struct outcome *memory,
                   const struct outcome *compute)
{
    expect_that(r, memory[NO_QUOTA].latency_ns > 1.3 * memory[ONE_CORE].latency_ns,
                "work that reads memory without a quota makes it slow: %.1f, %.1f",
                memory[NO_QUOTA].latency_ns, memory[ONE_CORE].latency_ns);
    expect_that(r, compute[NO_QUOTA].latency_ns < 1.05 * compute[ONE_CORE].latency_ns,
                "work that computes does not: %.1f, %.1f", compute[NO_QUOTA].latency_ns,
                compute[ONE_CORE].latency_ns);
    expect_that(r, memory[PAPER_125].latency_ns < memory[NO_QUOTA].latency_ns,
                "algorithm 1 makes memory faster: %.1f, %.1f", memory[PAPER_125].latency_ns,
                memory[NO_QUOTA].latency_ns);
    expect_that(r, compute[PAPER_125].work > 3 * compute[ONE_CORE].work,
                "and leaves work that computes much more than one core: %.3g, %.3g",
                compute[PAPER_125].work, compute[ONE_CORE].work);
    expect_that(r, compute[PAPER_125].cores > 1.5 * memory[PAPER_125].cores,
                "it tells them apart: %.2f, %.2f", compute[PAPER_125].cores,
                memory[PAPER_125].cores);
}

int control_table_threshold(struct reproduction *r)
{
    static const size_t reduced_arms[] = {NO_QUOTA, ONE_CORE, PAPER_125};
    struct outcome outcomes[JOBS][ARMS] = {{{0}}};
    size_t n = r->reduced ? sizeof(reduced_arms) / sizeof(reduced_arms[0]) : ARMS;
    int err = 0;

    fprintf(
        r->out,
        "\n"
        "## CPU for best-effort work (Shen and Li 2020, algorithm 1)\n"
        "\n"
        "| best effort | quota | latency | as the exporter has it | speed | cores, mean | work |\n"
        "|---|---|---|---|---|---|---|\n");
    for (size_t j = 0; !err && j < JOBS; j++) {
        for (size_t i = 0; !err && i < n; i++) {
            size_t a = r->reduced ? reduced_arms[i] : i;

            err = run(&jobs[j], &arms[a], r->reduced, &outcomes[j][a]);
            if (!err)
                put_outcome(r, &jobs[j], &arms[a], &outcomes[j][a], &outcomes[j][NO_QUOTA]);
        }
    }
    if (err)
        return err;
    fprintf(r->out, "\nThe exporter's baseline is %.1f ns.\n", outcomes[0][NO_QUOTA].baseline_ns);
    expect(r, outcomes[0], outcomes[1]);
    return 0;
}
