/* A4: a bound for one application (Subramanian 2015, section 7.3). */
#include "tests/research/control.h"

#include <math.h>

enum {
    CORES = 4,
    FROM = 2,    /* the first two quanta are without a decision, or its first */
    SETTLED = 7, /* after so many of them the target's lines are back */
    MOST_QUANTA = 12,
    QUANTUM_CYCLES = CONTROL_QUANTUM_ROWS * SLOW_ROW_CYCLES
};

static const char *const target = "flow", *const others[CORES - 1] = {"network", "fourier",
                                                                      "quantum"};
static const double bounds[] = {2.5, 3, 3.5, 4};
/* Ways that the target has all the time; each of the others keeps one. */
static const unsigned stays[] = {2, 4, 6, 8, 10, 12, 13};
enum {
    BOUNDS = sizeof(bounds) / sizeof(bounds[0]),
    RUNS = BOUNDS + 2,
    STAYS = sizeof(stays) / sizeof(stays[0])
};

/* Of the target in one quantum. */
struct qos_quantum {
    unsigned ways;
    double predicted; /* slowdown, by the model at the end of the quantum before */
    double slowdown;
};

struct qos_run {
    enum control_scheme scheme;
    double bound;
    double slowdown[CORES];       /* from FROM on */
    double settled, settled_ways; /* the target's means from SETTLED on */
    double settled_predicted;
    unsigned quanta;
    struct qos_quantum of[MOST_QUANTA];
};

/* The target, quantum by quantum. */
static void look(const struct control_outcome *outcome, const struct slow_alone *alone,
                 struct qos_run *out)
{
    double before = 0;

    out->quanta = outcome->quanta < MOST_QUANTA ? outcome->quanta : MOST_QUANTA;
    out->settled_ways = out->settled_predicted = 0;
    for (unsigned q = 0; q < out->quanta; q++) {
        const struct control_row *row = &outcome->rows[q * CORES];
        double now = slow_alone_cycles(alone, row->instructions);
        struct qos_quantum *of = &out->of[q];

        of->ways = (unsigned)row->ways;
        of->predicted = q ? (double)outcome->rows[(q - 1) * CORES].predicted * 1e-6 : NAN;
        of->slowdown = QUANTUM_CYCLES / (now - before);
        before = now;
        if (q < SETTLED)
            continue;
        out->settled_ways += (double)of->ways / (out->quanta - SETTLED);
        out->settled_predicted += of->predicted / (out->quanta - SETTLED);
    }
    out->settled = out->quanta > SETTLED ? control_slowdown(outcome, 0, SETTLED, alone) : NAN;
}

static int run(struct reproduction *r, struct control_alone *alone, unsigned mega_cycles,
               struct qos_run *out)
{
    size_t apps[SLOW_MAX_CORES] = {slow_app_named(target)};
    struct control_plan plan = {
        .scheme = out->scheme,
        .variant = {.cores = CORES, .channels = 1, .llc_mib = 2, .mega_cycles = mega_cycles},
        .apps = apps,
        .bound = out->bound};
    struct control_outcome outcome = {0};

    for (size_t i = 1; i < CORES; i++)
        apps[i] = slow_app_named(others[i - 1]);

    int err = control_run(r->folder, &plan, &outcome);

    for (unsigned core = 0; !err && core < CORES; core++) {
        err = control_alone_get(alone, r->folder, &plan.variant, apps[core]);
        if (!err)
            out->slowdown[core] = control_slowdown(&outcome, core, FROM, &alone->of[apps[core]]);
    }
    if (!err)
        look(&outcome, &alone->of[apps[0]], out);
    control_outcome_release(&outcome);
    return err;
}

static void put_run(struct reproduction *r, const struct qos_run *run)
{
    char name[32];

    snprintf(name, sizeof(name), run->bound > 0 ? "%s-%g" : "%s", control_scheme_names[run->scheme],
             run->bound);
    fprintf(r->out, "| %s |", name);
    for (unsigned core = 0; core < CORES; core++)
        fprintf(r->out, " %.2f |", run->slowdown[core]);
    if (isnan(run->settled))
        fputs(" - |", r->out);
    else
        fprintf(r->out, " %.2f |", run->settled);
    if (run->scheme == SCHEME_NONE || isnan(run->settled))
        fputs(" - |\n", r->out);
    else
        fprintf(r->out, " %.1f |\n", run->settled_ways);
}

/* Why a bound is missed at first: what the model says comes only when the lines are back. */
static void put_quanta(struct reproduction *r, const struct qos_run *run)
{
    fprintf(r->out, "| %g: ways |", run->bound);
    for (unsigned q = 1; q < run->quanta; q++)
        fprintf(r->out, " %u |", run->of[q].ways);
    fputs("\n| predicted |", r->out);
    for (unsigned q = 1; q < run->quanta; q++)
        fprintf(r->out, " %.2f |", run->of[q].predicted);
    fputs("\n| came |", r->out);
    for (unsigned q = 1; q < run->quanta; q++)
        fprintf(r->out, " %.2f |", run->of[q].slowdown);
    fputc('\n', r->out);
}

static void put_all_quanta(struct reproduction *r, const struct qos_run *runs, size_t n)
{
    fprintf(r->out, "\n"
                    "| bound |");
    for (unsigned q = 1; q < runs->quanta; q++)
        fprintf(r->out, " %u |", q + 1);
    fputs("\n|---|", r->out);
    for (unsigned q = 1; q < runs->quanta; q++)
        fputs("---|", r->out);
    fputc('\n', r->out);
    for (size_t i = 0; i < n; i++)
        put_quanta(r, &runs[i]);
}

/* What the model says of the ways that somebody has, and the truth. */
static int put_stays(struct reproduction *r, struct control_alone *alone, unsigned mega_cycles)
{
    struct qos_run runs[STAYS];
    int err = 0;

    for (size_t i = 0; !err && i < STAYS; i++) {
        runs[i] = (struct qos_run){.scheme = SCHEME_FIXED, .bound = stays[i]};
        err = run(r, alone, mega_cycles, &runs[i]);
    }
    if (err)
        return err;
    fprintf(r->out,
            "\n"
            "| %s's ways |",
            target);
    for (size_t i = 0; i < STAYS; i++)
        fprintf(r->out, " %u |", stays[i]);
    fputs("\n|---|---|---|---|---|---|---|---|\n| slowdown |", r->out);
    for (size_t i = 0; i < STAYS; i++)
        fprintf(r->out, " %.2f |", runs[i].settled);
    fputs("\n| by the model |", r->out);
    for (size_t i = 0; i < STAYS; i++)
        fprintf(r->out, " %.2f |", runs[i].settled_predicted);
    fputc('\n', r->out);
    return 0;
}

/* The others are what it is about. That a bound is kept shows only where there are quanta enough:
 * after a change the target's lines come back one by one, and a short run shows mostly that. */
static void expect(struct reproduction *r, const struct qos_run *none, const struct qos_run *naive,
                   const struct qos_run *run)
{
    expect_that(r, naive->slowdown[0] < 0.8 * none->slowdown[0], "ways make %s faster: %.2f, %.2f",
                target, naive->slowdown[0], none->slowdown[0]);
    expect_that(r, run->slowdown[0] < none->slowdown[0], "so does the bound %g: %.2f, %.2f",
                run->bound, run->slowdown[0], none->slowdown[0]);
    expect_that(r, run->of[FROM].ways < naive->of[FROM].ways, "with fewer ways: %u, %u",
                run->of[FROM].ways, naive->of[FROM].ways);
    expect_that(r, !(run->settled > 1.05 * run->bound), "in the end it is kept: %.2f, %g",
                run->settled, run->bound);
    for (unsigned core = 1; core < CORES; core++)
        expect_that(r, run->slowdown[core] <= naive->slowdown[core] * 1.02,
                    "bound %g: %s is not slower than with Naive-QoS: %.2f, %.2f", run->bound,
                    others[core - 1], run->slowdown[core], naive->slowdown[core]);
}

static int put_runs(struct reproduction *r, struct control_alone *alone, unsigned mega_cycles)
{
    struct qos_run runs[RUNS] = {{.scheme = SCHEME_NONE}, {.scheme = SCHEME_NAIVE_QOS}};
    size_t n = r->reduced ? 3 : RUNS; /* one bound */
    int err = 0;

    for (size_t i = 2; i < n; i++) {
        runs[i].scheme = SCHEME_QOS;
        runs[i].bound = bounds[i - 2];
    }
    for (size_t i = 0; !err && i < n; i++)
        err = run(r, alone, mega_cycles, &runs[i]);
    if (err)
        return err;
    fprintf(r->out,
            "\n"
            "## A bound for one application (section 7.3)\n"
            "\n"
            "| scheme | %s | %s | %s | %s | %s from the eighth on | its ways |\n"
            "|---|---|---|---|---|---|---|\n",
            target, others[0], others[1], others[2], target);
    for (size_t i = 0; i < n; i++)
        put_run(r, &runs[i]);
    if (!r->reduced)
        put_all_quanta(r, &runs[2], BOUNDS);
    for (size_t i = 2; i < n; i++)
        expect(r, &runs[0], &runs[1], &runs[i]);
    return 0;
}

int control_table_qos(struct reproduction *r)
{
    unsigned mega_cycles = r->reduced ? 15 : 60;
    struct control_alone alone = {0};
    int err = put_runs(r, &alone, mega_cycles);

    if (!err && !r->reduced)
        err = put_stays(r, &alone, mega_cycles);
    control_alone_release(&alone);
    return err;
}
