/* A3: who gets which ways and whose requests go first (Subramanian 2015, sections 7.1 and 7.2). */
#include "tests/simnode/reproductions/control.h"

#include <errno.h>
#include <math.h>

struct setup {
    unsigned cores, channels, workloads, mega_cycles;
};

static const struct setup machines[] = {
    {4, 1, 12, 40},
    {8, 1, 8, 40},
    {16, 1, 5, 30},
    {16, 2, 5, 30},
};
static const struct setup reduced_machine = {4, 1, 1, 10};

enum { MACHINES = sizeof(machines) / sizeof(machines[0]), MAX_WORKLOADS = 1000 };

/* Of a scheme, over the workloads. */
struct result {
    double unfairness,
        deviation;  /* the greatest slowdown of a workload: mean, standard deviation */
    double speedup; /* applications over the sum of their slowdowns: mean */
};

/* --- the paper's percentages --- */

struct comparison {
    enum control_scheme scheme, against;
    unsigned cores, channels;
    double unfairness, deviation, performance; /* percent; NaN: not stated */
};

static const struct comparison comparisons[] = {
    {SCHEME_UNIFORM, SCHEME_NONE, 4, 1, -1, NAN, -1},
    {SCHEME_ASM_CACHE, SCHEME_UCP, 4, 1, NAN, -3, NAN},
    {SCHEME_ASM_CACHE, SCHEME_UCP, 8, 1, -12.5, -11, NAN},
    {SCHEME_ASM_CACHE, SCHEME_UCP, 16, 1, -15.8, -13, 5.8},
    {SCHEME_ASM_MEM, SCHEME_PARBS, 4, 1, NAN, -5, NAN},
    {SCHEME_ASM_MEM, SCHEME_PARBS, 8, 1, -5.5, -7, NAN},
    {SCHEME_ASM_MEM, SCHEME_PARBS, 16, 1, -12, -5, NAN},
    {SCHEME_ASM_MEM, SCHEME_PARBS, 16, 2, -6, NAN, NAN},
    {SCHEME_ASM_CACHE_MEM, SCHEME_PARBS_UCP, 16, 1, -14.6, NAN, NAN},
    {SCHEME_ASM_CACHE_MEM, SCHEME_PARBS_UCP, 16, 2, -8.9, NAN, NAN},
    /* Which part of the last two is whose. */
    {SCHEME_ASM_MEM, SCHEME_UNIFORM, 4, 1, NAN, NAN, NAN},
    {SCHEME_ASM_MEM, SCHEME_UNIFORM, 8, 1, NAN, NAN, NAN},
    {SCHEME_ASM_MEM, SCHEME_UNIFORM, 16, 1, NAN, NAN, NAN},
    {SCHEME_PARBS, SCHEME_NONE, 8, 1, NAN, NAN, NAN},
    {SCHEME_PARBS, SCHEME_NONE, 16, 1, NAN, NAN, NAN},
};

enum { COMPARISONS = sizeof(comparisons) / sizeof(comparisons[0]) };

/* --- runs --- */

static struct slow_variant variant_of(const struct setup *machine)
{
    return (struct slow_variant){.cores = machine->cores,
                                 .channels = machine->channels,
                                 .llc_mib = 2,
                                 .mega_cycles = machine->mega_cycles};
}

static unsigned workloads_of(const struct reproduction *r, const struct setup *machine)
{
    unsigned n = r->workloads && !r->reduced ? r->workloads : machine->workloads;

    return n < MAX_WORKLOADS ? n : MAX_WORKLOADS;
}

struct sums {
    double greatest, square, speedup;
    unsigned n;
};

static int add_workload(struct reproduction *r, const struct setup *machine, unsigned index,
                        enum control_scheme scheme, struct control_alone *alone, struct sums *sums)
{
    size_t apps[SLOW_MAX_CORES];
    struct control_plan plan = {.scheme = scheme, .variant = variant_of(machine), .apps = apps};
    struct control_outcome outcome = {0};
    double greatest = 0, sum = 0;

    slow_draw(r->seed, index, &plan.variant, apps);

    int err = control_run(r->folder, &plan, &outcome);

    for (unsigned core = 0; !err && core < machine->cores; core++) {
        err = control_alone_get(alone, r->folder, &plan.variant, apps[core]);
        if (err)
            break;

        double slowdown = control_slowdown(&outcome, core, 0, &alone->of[apps[core]]);

        sum += slowdown;
        if (slowdown > greatest)
            greatest = slowdown;
    }
    control_outcome_release(&outcome);
    if (err)
        return err;
    sums->greatest += greatest;
    sums->square += greatest * greatest;
    sums->speedup += machine->cores / sum;
    sums->n++;
    return 0;
}

static struct result result_of(const struct sums *sums)
{
    double n = sums->n, mean = sums->greatest / n;

    return (struct result){.unfairness = mean,
                           .deviation = sqrt(fmax(0, sums->square / n - mean * mean)),
                           .speedup = sums->speedup / n};
}

/* Those that the reduced version has time for. */
static bool is_quick(enum control_scheme scheme)
{
    return scheme == SCHEME_NONE || scheme == SCHEME_ASM_CACHE || scheme == SCHEME_UNIFORM ||
           scheme == SCHEME_ASM_MEM;
}

static int run_machine(struct reproduction *r, const struct setup *machine,
                       struct result out[CONTROL_SCHEMES])
{
    unsigned workloads = workloads_of(r, machine);
    struct control_alone alone = {0};
    int err = 0;

    for (int scheme = 0; !err && scheme < CONTROL_SCHEMES; scheme++) {
        struct sums sums = {0};

        out[scheme] = (struct result){0};
        if (r->reduced && !is_quick((enum control_scheme)scheme))
            continue;
        for (unsigned i = 0; !err && i < workloads; i++)
            err = add_workload(r, machine, i, (enum control_scheme)scheme, &alone, &sums);
        out[scheme] = result_of(&sums);
        fprintf(stderr, "%u cores, %u channel(s), %s: done\n", machine->cores, machine->channels,
                control_scheme_names[scheme]);
    }
    control_alone_release(&alone);
    return err;
}

/* --- tables --- */

static void put_workloads(struct reproduction *r, const struct setup *setup)
{
    const struct slow_variant variant = variant_of(setup);
    size_t apps[SLOW_MAX_CORES];

    fputs("\nThe workloads:\n", r->out);
    for (unsigned i = 0; i < workloads_of(r, setup); i++) {
        slow_draw(r->seed, i, &variant, apps);
        fprintf(r->out, "\n%u.", i + 1);
        for (unsigned core = 0; core < setup->cores; core++)
            fprintf(r->out, " %s", slow_apps[apps[core]].name);
    }
    fputc('\n', r->out);
}

static void put_machine(struct reproduction *r, const struct setup *machine,
                        const struct result results[CONTROL_SCHEMES])
{
    fprintf(r->out,
            "\n%u cores, %u channel%s, %u workloads of %u million cycles:\n\n"
            "| scheme | greatest slowdown, mean | its deviation | harmonic speedup |\n"
            "|---|---|---|---|\n",
            machine->cores, machine->channels, machine->channels > 1 ? "s" : "",
            workloads_of(r, machine), machine->mega_cycles);
    for (int scheme = 0; scheme < CONTROL_SCHEMES; scheme++)
        if (results[scheme].unfairness > 0)
            fprintf(r->out, "| %s | %.3f | %.3f | %.4f |\n", control_scheme_names[scheme],
                    results[scheme].unfairness, results[scheme].deviation, results[scheme].speedup);
}

static double percent(double now, double before)
{
    return (now / before - 1) * 100;
}

static void put_percent(struct reproduction *r, double paper, double ours)
{
    if (isnan(paper))
        fprintf(r->out, " - | %+.1f |", ours);
    else
        fprintf(r->out, " %+.1f | %+.1f |", paper, ours);
}

static void put_comparisons(struct reproduction *r, const struct setup *some, size_t n,
                            struct result results[][CONTROL_SCHEMES])
{
    fputs(
        "\nDifferences in percent; less is better but for performance:\n\n"
        "| scheme | against | cores, channels | unfairness: paper | ours | its deviation: paper | "
        "ours | performance: paper | ours |\n|---|---|---|---|---|---|---|---|---|\n",
        r->out);
    for (size_t i = 0; i < COMPARISONS; i++) {
        const struct comparison *c = &comparisons[i];

        for (size_t m = 0; m < n; m++) {
            const struct result *a = &results[m][c->scheme], *b = &results[m][c->against];

            if (some[m].cores != c->cores || some[m].channels != c->channels ||
                !(a->unfairness > 0 && b->unfairness > 0))
                continue;
            fprintf(r->out, "| %s | %s | %u, %u |", control_scheme_names[c->scheme],
                    control_scheme_names[c->against], c->cores, c->channels);
            put_percent(r, c->unfairness, percent(a->unfairness, b->unfairness));
            put_percent(r, c->deviation, percent(a->deviation, b->deviation));
            put_percent(r, c->performance, percent(a->speedup, b->speedup));
            fputc('\n', r->out);
        }
    }
}

/* What holds for the few workloads that a test has time for, too. */
static void expect(struct reproduction *r, const struct result results[CONTROL_SCHEMES])
{
    expect_that(r, results[SCHEME_ASM_CACHE].unfairness < results[SCHEME_NONE].unfairness,
                "ASM-Cache is fairer than an undivided cache: %.3f, %.3f",
                results[SCHEME_ASM_CACHE].unfairness, results[SCHEME_NONE].unfairness);
    expect_that(r, results[SCHEME_ASM_CACHE].speedup > results[SCHEME_NONE].speedup,
                "ASM-Cache is faster than an undivided cache: %.4f, %.4f",
                results[SCHEME_ASM_CACHE].speedup, results[SCHEME_NONE].speedup);
    expect_that(r, results[SCHEME_ASM_MEM].unfairness < results[SCHEME_UNIFORM].unfairness,
                "epochs by slowdown are fairer than as many for everybody: %.3f, %.3f",
                results[SCHEME_ASM_MEM].unfairness, results[SCHEME_UNIFORM].unfairness);
}

int control_table_schemes(struct reproduction *r)
{
    const struct setup *some = r->reduced ? &reduced_machine : machines;
    size_t n = r->reduced ? 1 : MACHINES;
    struct result results[MACHINES][CONTROL_SCHEMES];
    int err = 0;

    control_text_schemes(r);
    for (size_t m = 0; !err && m < n; m++) {
        err = run_machine(r, &some[m], results[m]);
        if (!err) {
            put_machine(r, &some[m], results[m]);
            put_workloads(r, &some[m]);
            expect(r, results[m]);
        }
    }
    if (err)
        return err;
    put_comparisons(r, some, n, results);
    if (!r->reduced)
        control_text_schemes_reasons(r);
    return 0;
}
