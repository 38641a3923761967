/* A4: a bound for one application (Subramanian 2015, section 7.3). */
#include "tests/simnode/reproductions/control.h"

#include <string.h>

enum { CORES = 4, FROM = 2 }; /* the first two quanta are without a decision, or its first */

static const char *const target = "flow", *const others[CORES - 1] = {"network", "fourier",
                                                                      "quantum"};
static const double bounds[] = {2.5, 3, 3.5, 4};
enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]), RUNS = BOUNDS + 2 };

struct qos_run {
    enum control_scheme scheme;
    double bound;
    double slowdown[CORES];
    double ways; /* the target's mean */
};

static size_t app_named(const char *name)
{
    for (size_t i = 0; i < slow_n_apps; i++)
        if (strcmp(slow_apps[i].name, name) == 0)
            return i;
    return 0;
}

static int run(struct reproduction *r, struct control_alone *alone, unsigned mega_cycles,
               struct qos_run *out)
{
    size_t apps[SLOW_MAX_CORES] = {app_named(target)};
    struct control_plan plan = {
        .scheme = out->scheme,
        .variant = {.cores = CORES, .channels = 1, .llc_mib = 2, .mega_cycles = mega_cycles},
        .apps = apps,
        .bound = out->bound};
    struct control_outcome outcome = {0};

    for (size_t i = 1; i < CORES; i++)
        apps[i] = app_named(others[i - 1]);

    int err = control_run(r->folder, &plan, &outcome);

    for (unsigned core = 0; !err && core < CORES; core++) {
        err = control_alone_get(alone, r->folder, &plan.variant, apps[core]);
        if (!err)
            out->slowdown[core] = control_slowdown(&outcome, core, FROM, &alone->of[apps[core]]);
    }
    out->ways = 0;
    for (unsigned q = FROM; !err && q < outcome.quanta; q++)
        out->ways += (double)outcome.rows[q * CORES].ways / (outcome.quanta - FROM);
    control_outcome_release(&outcome);
    return err;
}

static void put_run(struct reproduction *r, const struct qos_run *run)
{
    char name[32];

    snprintf(name, sizeof(name), run->bound > 0 ? "%s-%g" : "%s", control_scheme_names[run->scheme],
             run->bound);
    fprintf(r->out, "| %s |", name);
    if (run->scheme == SCHEME_NONE)
        fputs(" - |", r->out);
    else
        fprintf(r->out, " %.1f |", run->ways);
    for (unsigned core = 0; core < CORES; core++)
        fprintf(r->out, " %.2f |", run->slowdown[core]);
    fputc('\n', r->out);
}

/* The others are what it is about. Whether a bound that can be kept is kept, the table says: after
 * a change the target's lines come back one by one, and a short run shows mostly that. */
static void expect(struct reproduction *r, const struct qos_run *none, const struct qos_run *naive,
                   const struct qos_run *run)
{
    expect_that(r, naive->slowdown[0] < 0.8 * none->slowdown[0], "ways make %s faster: %.2f, %.2f",
                target, naive->slowdown[0], none->slowdown[0]);
    expect_that(r, run->slowdown[0] < none->slowdown[0], "so does the bound %g: %.2f, %.2f",
                run->bound, run->slowdown[0], none->slowdown[0]);
    expect_that(r, run->ways < naive->ways, "with fewer ways: %.1f, %.1f", run->ways, naive->ways);
    for (unsigned core = 1; core < CORES; core++)
        expect_that(r, run->slowdown[core] <= naive->slowdown[core] * 1.02,
                    "bound %g: %s is not slower than with Naive-QoS: %.2f, %.2f", run->bound,
                    others[core - 1], run->slowdown[core], naive->slowdown[core]);
}

int control_table_qos(struct reproduction *r)
{
    struct qos_run runs[RUNS] = {{.scheme = SCHEME_NONE}, {.scheme = SCHEME_NAIVE_QOS}};
    unsigned mega_cycles = r->reduced ? 15 : 60;
    struct control_alone alone = {0};
    size_t n = r->reduced ? 3 : RUNS; /* one bound */
    int err = 0;

    for (size_t i = 2; i < n; i++) {
        runs[i].scheme = SCHEME_QOS;
        runs[i].bound = bounds[i - 2];
    }
    for (size_t i = 0; !err && i < n; i++)
        err = run(r, &alone, mega_cycles, &runs[i]);
    control_alone_release(&alone);
    if (err)
        return err;
    fprintf(r->out,
            "\n## A bound for one application (section 7.3)\n\n"
            "The target is %s; slowdowns from the third quantum on, over %u million cycles.\n\n"
            "| scheme | %s's ways | %s | %s | %s | %s |\n|---|---|---|---|---|---|\n",
            target, mega_cycles, target, target, others[0], others[1], others[2]);
    for (size_t i = 0; i < n; i++)
        put_run(r, &runs[i]);
    if (!r->reduced)
        control_text_qos(r);
    for (size_t i = 2; i < n; i++)
        expect(r, &runs[0], &runs[1], &runs[i]);
    return 0;
}
