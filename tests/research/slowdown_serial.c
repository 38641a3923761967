/* Model passive with memory's part by serial reads (formulas/placement.h), class by class. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/research/slowdown_set.h"

enum { Q_CYCLES = 5000000 };

/* Less than this is none: the tables' last digit. */
#define POINT_TENTH 0.001

static const int models[] = {SLOW_PASSIVE, SLOW_PASSIVE_SERIAL, SLOW_PASSIVE_ALL_SERIAL};
enum { OWN, MODELS = 3 };

struct tally {
    unsigned better, equal, worse; /* classes in which the form is, beside passive's own */
};

struct comparison {
    struct tally of[MODELS];
};

static void add(struct tally *tally, double mean, double own)
{
    tally->better += mean < own - POINT_TENTH;
    tally->worse += mean > own + POINT_TENTH;
    tally->equal += fabs(mean - own) <= POINT_TENTH;
}

static void row(struct reproduction *r, const struct slow_set *set, const char *name,
                slow_chosen *choose, double a, double b, struct comparison *out)
{
    struct slow_statistics s[MODELS];

    for (int m = 0; m < MODELS; m++)
        s[m] = slow_statistics_of(set, models[m], choose, a, b);
    if (s[OWN].n == 0)
        return;
    fprintf(r->out, "| %s | %zu |", name, s[OWN].n);
    for (int m = 0; m < MODELS; m++) {
        fprintf(r->out, " %.1f (%+.1f) |", s[m].mean * 100, s[m].bias * 100);
        add(&out->of[m], s[m].mean, s[OWN].mean);
    }
    fprintf(r->out, "\n");
}

static int put_quartiles(struct reproduction *r, const struct slow_set *set, struct comparison *out)
{
    struct slow_quartile quartiles[SLOW_QUARTILES];
    int err = slow_quartiles(set, quartiles);

    for (int q = 0; !err && q < SLOW_QUARTILES; q++) {
        char name[64];

        snprintf(name, sizeof(name), "slowdown %.2f to %.2f", quartiles[q].from,
                 quartiles[q].largest);
        row(r, set, name, slow_slowed_between, quartiles[q].from, quartiles[q].to, out);
    }
    return err;
}

static int classes(struct reproduction *r, const struct slow_set *set, struct comparison *out)
{
    static const char *const intensities[] = {"low memory intensity", "medium", "high"};
    static const char *const sensitivities[] = {"low cache sensitivity", "high"};
    struct comparison all = {0};

    fprintf(r->out, "| | instances | passive | %s | %s |\n|---|---|---|---|---|\n",
            slow_model_names[models[1]], slow_model_names[models[2]]);
    row(r, set, "all", slow_everyone, 0, 0, &all);
    for (int i = 0; i < INTENSITIES; i++)
        row(r, set, intensities[i], slow_of_intensity, i, 0, out);
    for (int i = 0; i < SENSITIVITIES; i++)
        row(r, set, sensitivities[i], slow_of_sensitivity, i, 0, out);
    return put_quartiles(r, set, out);
}

static int show_set(struct reproduction *r, struct slow_variant variant, const char *title,
                    unsigned workloads, struct comparison *out)
{
    struct slow_set set;

    variant.epoch_cycles = 0;
    int err = slow_set_make(r, variant, true, workloads, Q_CYCLES, &set);
    if (!err) {
        fprintf(r->out, "\n%s, %u workloads of %u million cycles:\n\n", title, workloads,
                variant.mega_cycles);
        err = classes(r, &set, out);
    }
    free(set.instances);
    return err;
}

static void judge(struct reproduction *r, const struct comparison *c)
{
    fprintf(r->out, "\n");
    for (int m = OWN + 1; m < MODELS; m++)
        fprintf(r->out, "- *%s*: better in %u classes, equal in %u, worse in %u.\n",
                slow_model_names[models[m]], c->of[m].better, c->of[m].equal, c->of[m].worse);
    for (int m = OWN + 1; m < MODELS; m++)
        expect_that(r, c->of[m].worse > 0,
                    "%s is worse in some class; otherwise the exporter should have it",
                    slow_model_names[models[m]]);
}

int slow_serial(struct reproduction *r, const struct slow_variant *variant, unsigned workloads,
                unsigned burst_workloads)
{
    struct slow_variant bursts = *variant;
    struct comparison comparison = {0};

    fputs("\n"
          "## Memory's part by serial reads\n"
          "\n",
          r->out);
    int err = show_set(r, *variant, "Applications that are the same all the time", workloads,
                       &comparison);

    bursts.bursts = true;
    if (!err)
        err = show_set(r, bursts, "Applications with bursts", burst_workloads, &comparison);
    if (!err)
        judge(r, &comparison);
    return err;
}
