/*
 * Beyond Subramanian et al. 2015 on the simulated node: which terms of the Application Slowdown
 * Model are wrong and when, and shadow clocks (shadow.h) in its place.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/research/slowdown_set.h"

enum { Q_CYCLES = 5000000, EPOCH_CYCLES = 10000 };

/* The model was made with the first seed and is judged on the others. */
enum { DESIGN_SEED = 404, PAGE_SEED = 2015, FRESH_SEED = 77031 };

static const struct slow_variant base = {.cores = 4,
                                         .channels = 1,
                                         .llc_mib = 2,
                                         .epoch_cycles = EPOCH_CYCLES,
                                         .mega_cycles = 100,
                                         .parts = true};

static const int judged_models[] = {SLOW_ASM, SLOW_ASM_SAMPLED, SLOW_SHADOW, SLOW_SHADOW_SAMPLED};
static const struct slow_columns judged = {judged_models, 4};
static const int part_models[] = {SLOW_SHADOW, SLOW_SHADOW_TENTH_OFF, SLOW_SHADOW_NO_WRITES,
                                  SLOW_SHADOW_FIXED, SLOW_SHADOW_CACHE};

/* --- which terms are wrong --- */

static void put_signed(struct reproduction *r, const struct slow_set *set, int model,
                       slow_chosen *choose, double a)
{
    struct slow_statistics s = slow_statistics_of(set, model, choose, a, 0);

    if (s.n)
        fprintf(r->out, " %.1f (%+.1f) |", s.mean * 100, s.bias * 100);
    else
        fprintf(r->out, " |");
}

/* What is, and what should be; nothing where there is none of it. */
static void put_pair(struct reproduction *r, double is, double should_be)
{
    fputs(" ", r->out);
    if (isfinite(is))
        fprintf(r->out, "%.0f", is);
    fputs(" / ", r->out);
    if (isfinite(should_be))
        fprintf(r->out, "%.0f", should_be);
    fputs(" |", r->out);
}

static void row_of_terms(struct reproduction *r, const struct slow_set *set, const char *name,
                         slow_chosen *choose, double a)
{
    static const int models[] = {SLOW_ASM, SLOW_TRUE_COUNTS, SLOW_TRUE_EXCESS, SLOW_TRUE_QUEUEING,
                                 SLOW_TRUE_CYCLES};
    double terms[SLOW_TERMS] = {0};
    unsigned n[SLOW_TERMS] = {0}, all = 0;

    for (size_t i = 0; i < set->n; i++) {
        if (!choose(&set->instances[i], a, 0))
            continue;
        all++;
        for (int t = 0; t < SLOW_TERMS; t++) {
            double term = set->instances[i].terms[t];

            terms[t] += isfinite(term) ? term : 0;
            n[t] += isfinite(term);
        }
    }
    if (!all)
        return;
    for (int t = 0; t < SLOW_TERMS; t++)
        terms[t] /= n[t];
    fprintf(r->out, "| %s | %u |", name, all);
    for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++)
        put_signed(r, set, models[m], choose, a);
    put_pair(r, terms[TERM_EXCESS] * 100, terms[TERM_TRUE_EXCESS] * 100);
    put_pair(r, terms[TERM_QUEUEING] * 100, terms[TERM_TRUE_QUEUEING] * 100);
    put_pair(r, terms[TERM_MISS_CYCLES], terms[TERM_ALONE_MISS_CYCLES]);
    fprintf(r->out, " %.2f |", terms[TERM_ACCESSES]);
    if (isfinite(terms[TERM_PREFETCHES]))
        fprintf(r->out, " %.0f |\n", terms[TERM_PREFETCHES]);
    else
        fprintf(r->out, " only |\n");
}

static void table_terms(struct reproduction *r, const struct slow_set *set, const char *title)
{
    fprintf(r->out,
            "\n## %s\n\n| | n | ASM | true counts | true excess | true queueing | both true | "
            "excess, is / should be | queueing, is / should be | miss in epochs / alone | accesses "
            "| prefetches |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
            title);
    row_of_terms(r, set, "all", slow_everyone, 0);
    row_of_terms(r, set, "intensity low", slow_of_intensity, INTENSITY_LOW);
    row_of_terms(r, set, "intensity medium", slow_of_intensity, INTENSITY_MEDIUM);
    row_of_terms(r, set, "intensity high", slow_of_intensity, INTENSITY_HIGH);
    row_of_terms(r, set, "sensitivity low", slow_of_sensitivity, SENSITIVITY_LOW);
    row_of_terms(r, set, "sensitivity high", slow_of_sensitivity, SENSITIVITY_HIGH);
    for (size_t i = 0; i < slow_n_apps; i++)
        row_of_terms(r, set, slow_apps[i].name, slow_of_app, (double)i);
    fflush(r->out);
}

/* --- how good the shadow clocks are --- */

/* The largest excess of one model's error over another's in any class, in points. */
static double worst_class(const struct slow_set *set, int model, int other)
{
    struct slow_quartile quartiles[SLOW_QUARTILES];
    double worst = -INFINITY;
    struct {
        slow_chosen *choose;
        double a, b;
    } classes[INTENSITIES + SENSITIVITIES + SLOW_QUARTILES];
    size_t n = 0;

    if (slow_quartiles(set, quartiles) != 0)
        return NAN;
    for (int i = 0; i < INTENSITIES; i++, n++)
        classes[n].choose = slow_of_intensity, classes[n].a = i, classes[n].b = 0;
    for (int i = 0; i < SENSITIVITIES; i++, n++)
        classes[n].choose = slow_of_sensitivity, classes[n].a = i, classes[n].b = 0;
    for (size_t q = 0; q < SLOW_QUARTILES; q++, n++) {
        classes[n].choose = slow_slowed_between;
        classes[n].a = quartiles[q].from;
        classes[n].b = quartiles[q].to;
    }
    for (size_t i = 0; i < n; i++) {
        struct slow_statistics mine =
            slow_statistics_of(set, model, classes[i].choose, classes[i].a, classes[i].b);
        struct slow_statistics its =
            slow_statistics_of(set, other, classes[i].choose, classes[i].a, classes[i].b);

        if (mine.n && its.n)
            worst = fmax(worst, (mine.mean - its.mean) * 100);
    }
    return worst;
}

static void judge(struct reproduction *r, const struct slow_set *set)
{
    double asm_all = slow_mean_error(set, SLOW_ASM) * 100;
    double asm_sampled = slow_mean_error(set, SLOW_ASM_SAMPLED) * 100;
    double all = slow_mean_error(set, SLOW_SHADOW) * 100;
    double sampled = slow_mean_error(set, SLOW_SHADOW_SAMPLED) * 100;
    double worst = worst_class(set, SLOW_SHADOW_SAMPLED, SLOW_ASM_SAMPLED);

    fprintf(r->out, "\n| | aim | found | |\n|---|---|---|---|\n");
    fprintf(r->out, "| all tags, mean error | half of ASM's %.1f %% | %.1f %% | %s |\n", asm_all,
            all, all <= asm_all / 2 ? "met" : "missed");
    fprintf(r->out, "| 64 sets, mean error | half of ASM's %.1f %% | %.1f %% | %s |\n", asm_sampled,
            sampled, sampled <= asm_sampled / 2 ? "met" : "missed");
    fprintf(r->out, "| 64 sets, worst class against ASM's | at most 1 point | %+.1f | %s |\n",
            worst, worst <= 1 ? "met" : "missed");
    expect_that(r, all <= asm_all / 2 && sampled <= asm_sampled / 2,
                "shadow %.1f %% and %.1f %% are half of ASM's %.1f %% and %.1f %%", all, sampled,
                asm_all, asm_sampled);
    expect_that(r, worst <= 1, "no class is worse by more than a point: %.2f", worst);
}

static void table_parts(struct reproduction *r, const struct slow_set *set)
{
    fprintf(r->out, "\n## With parts missing: all tags, mean error (signed), percent\n\n|");
    for (size_t m = 0; m < sizeof(part_models) / sizeof(part_models[0]); m++)
        fprintf(r->out, " %s |", slow_model_names[part_models[m]]);
    fprintf(r->out, "\n|---|---|---|---|---|\n|");
    for (size_t m = 0; m < sizeof(part_models) / sizeof(part_models[0]); m++)
        put_signed(r, set, part_models[m], slow_everyone, 0);
    fprintf(r->out, "\n");
}

static int show_main(struct reproduction *r, const struct slow_variant *variant, unsigned workloads)
{
    struct slow_set set;
    int err = slow_set_make(r, *variant, false, workloads, Q_CYCLES, &set);

    if (err)
        goto out;
    table_terms(r, &set, "ASM's terms, one at a time replaced by what they should be");
    fprintf(r->out, "\n## Shadow clocks, %zu instances of seed %u\n\n", set.n, r->seed);
    slow_table_models(r, &set, &judged);
    slow_table_distribution(r, &set, &judged);
    slow_tables_by_class(r, &set, &judged);
    judge(r, &set);
    table_parts(r, &set);
    fflush(r->out);
out:
    free(set.instances);
    return err;
}

/* --- other seeds, other machines --- */

struct other {
    const char *name;
    unsigned seed, workloads;
    unsigned cores, channels, llc_mib;
    bool prefetch, plain;
};

static void row_of_other(struct reproduction *r, const struct other *other,
                         const struct slow_set *set)
{
    struct slow_statistics one = slow_statistics_of(set, SLOW_ONE, slow_everyone, 0, 0);

    fprintf(r->out, "| %s | %u | %u |", other->name, other->seed, set->workloads);
    if (other->plain) {
        double actual = 0;

        for (size_t i = 0; i < set->n; i++)
            actual += set->instances[i].plain_actual / (double)set->n;
        fprintf(r->out, " %.2f (with epochs %.2f) | | | | %.1f | | |\n", actual, one.actual,
                slow_mean_error(set, SLOW_SHADOW_PLAIN) * 100);
    } else {
        fprintf(r->out, " %.2f |", one.actual);
        for (size_t m = 0; m < judged.n; m++)
            fprintf(r->out, " %.1f |", slow_mean_error(set, judged.models[m]) * 100);
        struct slow_statistics its = slow_statistics_of(set, SLOW_ASM, slow_everyone, 0, 0);

        fprintf(r->out, " %+.1f | %.1f |\n",
                worst_class(set, SLOW_SHADOW_SAMPLED, SLOW_ASM_SAMPLED),
                100.0 * its.without / its.quanta);
    }
    fflush(r->out);
}

static const struct other others[] = {
    {"stride prefetcher, degree 4, distance 24", PAGE_SEED, 12, 4, 1, 2, true, false},
    {"a fresh seed", FRESH_SEED, 24, 4, 1, 2, false, false},
    {"without epochs, so nobody is preferred", PAGE_SEED, 12, 4, 1, 2, false, true},
    {"8 cores, 2 channels", PAGE_SEED, 5, 8, 2, 2, false, false},
    {"4 MiB", PAGE_SEED, 6, 4, 1, 4, false, false},
    {"seed of the design", DESIGN_SEED, 10, 4, 1, 2, false, false},
};

static int make_other(const struct reproduction *page, const struct other *other,
                      struct slow_set *set)
{
    struct reproduction r = *page;
    struct slow_variant variant = base;

    r.seed = other->seed;
    variant.cores = other->cores;
    variant.channels = other->channels;
    variant.llc_mib = other->llc_mib;
    variant.prefetch = other->prefetch;
    return slow_set_make(&r, variant, other->plain, other->workloads, Q_CYCLES, set);
}

static int show_others(struct reproduction *r)
{
    int err = 0;

    fprintf(r->out,
            "\n## Other seeds and machines: mean errors in percent\n\n"
            "| | seed | workloads | actual | ASM | ASM, 64 sets | shadow | shadow, 64 sets | worst "
            "class, points | quanta without ASM's estimate, %% |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; !err && i < sizeof(others) / sizeof(others[0]); i++) {
        struct slow_set set;

        err = make_other(r, &others[i], &set);
        if (!err)
            row_of_other(r, &others[i], &set);
        free(set.instances);
    }
    return err;
}

static int show_prefetcher(struct reproduction *r)
{
    struct slow_set set;
    int err = make_other(r, &others[0], &set);

    if (!err)
        table_terms(r, &set, "ASM's terms with the prefetcher");
    free(set.instances);
    return err;
}

/* --- the page --- */

int reproduce_shadow(struct reproduction *r)
{
    struct slow_variant variant = base;
    unsigned workloads = r->workloads ? r->workloads : r->reduced ? 4 : 100;

    if (r->reduced)
        variant.mega_cycles = 30;

    int err = show_main(r, &variant, workloads);

    if (!err && !r->reduced)
        err = show_others(r);
    if (!err && !r->reduced)
        err = show_prefetcher(r);
    return err;
}
