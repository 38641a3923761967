/* A3's tables: means and their errors, and schemes against each other beside the paper's. */
#include "tests/research/control_schemes.h"

#include <math.h>

/* --- how well a number is known, by the workloads --- */

/* Of values, but for one of them (n: of all). */
typedef double statistic(const double *values, unsigned n, unsigned but);

static double mean(const double *values, unsigned n, unsigned but)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += i == but ? 0 : values[i];
    return sum / (but < n ? n - 1 : n);
}

static double deviation(const double *values, unsigned n, unsigned but)
{
    double middle = mean(values, n, but), sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += i == but ? 0 : (values[i] - middle) * (values[i] - middle);
    return sqrt(sum / (but < n ? n - 1 : n));
}

/* By how many percent it is more of a than of b, both of the same workloads, with its standard
 * error by the jackknife. */
static void put_change(FILE *out, statistic *of, const double *a, const double *b, unsigned n)
{
    double but[SCHEME_WORKLOADS];

    for (unsigned i = 0; i < n; i++)
        but[i] = (of(a, n, i) / of(b, n, i) - 1) * 100;
    fprintf(out, " %+.1f ± %.1f |", (of(a, n, n) / of(b, n, n) - 1) * 100,
            sqrt(n - 1.0) * deviation(but, n, n));
}

static void put_mean(FILE *out, int digits, const double *values, unsigned n)
{
    fprintf(out, " %.*f", digits, mean(values, n, n));
    if (n > 1)
        fprintf(out, " ± %.*f", digits, deviation(values, n, n) / sqrt(n - 1.0));
    fputs(" |", out);
}

double scheme_unfairness(const struct scheme_sample *sample)
{
    return sample->n ? mean(sample->greatest, sample->n, sample->n) : NAN;
}

double scheme_performance(const struct scheme_sample *sample)
{
    return sample->n ? mean(sample->speedup, sample->n, sample->n) : NAN;
}

void scheme_put_results(struct reproduction *r, const struct scheme_result of[CONTROL_SCHEMES])
{
    fputs("\n| scheme | greatest slowdown | its deviation | harmonic speedup | greatest slowdown "
          "after the first quantum |\n|---|---|---|---|---|\n",
          r->out);
    for (int scheme = 0; scheme < CONTROL_SCHEMES; scheme++) {
        const struct scheme_sample *s = &of[scheme].whole;

        if (s->n == 0)
            continue;
        fprintf(r->out, "| %s |", control_scheme_names[scheme]);
        put_mean(r->out, 3, s->greatest, s->n);
        fprintf(r->out, " %.3f |", deviation(s->greatest, s->n, s->n));
        put_mean(r->out, 4, s->speedup, s->n);
        put_mean(r->out, 3, of[scheme].warm.greatest, s->n);
        fputc('\n', r->out);
    }
}

/* --- beside the paper --- */

static const struct {
    enum control_scheme scheme, against;
    enum control_scheme paper; /* whose numbers they are compared with */
} comparisons[] = {
    {SCHEME_ASM_CACHE, SCHEME_UCP, SCHEME_ASM_CACHE},
    {SCHEME_ASM_CACHE, SCHEME_UCP_EACH, SCHEME_ASM_CACHE},
    {SCHEME_UNIFORM, SCHEME_NONE, SCHEME_UNIFORM},
    {SCHEME_LATE_UNIFORM, SCHEME_NONE, SCHEME_UNIFORM},
    {SCHEME_ASM_MEM, SCHEME_PARBS, SCHEME_ASM_MEM},
    {SCHEME_LATE_ASM_MEM, SCHEME_PARBS, SCHEME_ASM_MEM},
    {SCHEME_ASM_CACHE_MEM, SCHEME_PARBS_UCP, SCHEME_ASM_CACHE_MEM},
    {SCHEME_LATE_ASM_CACHE_MEM, SCHEME_PARBS_UCP, SCHEME_ASM_CACHE_MEM},
    /* Which part of the last is whose; the paper has no numbers. */
    {SCHEME_ASM_MEM, SCHEME_UNIFORM, CONTROL_SCHEMES},
    {SCHEME_LATE_ASM_MEM, SCHEME_LATE_UNIFORM, CONTROL_SCHEMES},
    {SCHEME_PARBS, SCHEME_NONE, CONTROL_SCHEMES},
};

enum {
    COMPARISONS = sizeof(comparisons) / sizeof(comparisons[0]),
    DEVIATION_WORKLOADS = 8 /* of fewer it is too little known to be told */
};

struct percentages {
    double unfairness, deviation, performance; /* NaN: not stated */
};

static struct percentages paper_of(enum control_scheme scheme, const struct scheme_machine *machine)
{
    static const struct {
        enum control_scheme scheme;
        unsigned cores, channels;
        struct percentages is;
    } stated[] = {
        {SCHEME_UNIFORM, 4, 1, {-1, NAN, -1}},
        {SCHEME_ASM_CACHE, 4, 1, {NAN, -3, NAN}},
        {SCHEME_ASM_CACHE, 8, 1, {-12.5, -11, NAN}},
        {SCHEME_ASM_CACHE, 16, 1, {-15.8, -13, 5.8}},
        {SCHEME_ASM_MEM, 4, 1, {NAN, -5, NAN}},
        {SCHEME_ASM_MEM, 8, 1, {-5.5, -7, NAN}},
        {SCHEME_ASM_MEM, 16, 1, {-12, -5, NAN}},
        {SCHEME_ASM_MEM, 16, 2, {-6, NAN, NAN}},
        {SCHEME_ASM_CACHE_MEM, 16, 1, {-14.6, NAN, NAN}},
        {SCHEME_ASM_CACHE_MEM, 16, 2, {-8.9, NAN, NAN}},
    };

    for (size_t i = 0; i < sizeof(stated) / sizeof(stated[0]); i++)
        if (stated[i].scheme == scheme && stated[i].cores == machine->cores &&
            stated[i].channels == machine->channels)
            return stated[i].is;
    return (struct percentages){NAN, NAN, NAN};
}

static void put_stated(FILE *out, double percent)
{
    if (isnan(percent))
        fputs(" - |", out);
    else
        fprintf(out, " %+.1f |", percent);
}

static void put_comparison(FILE *out, const struct percentages *paper,
                           const struct scheme_result *a, const struct scheme_result *b)
{
    unsigned n = a->whole.n;

    put_stated(out, paper->unfairness);
    put_change(out, mean, a->whole.greatest, b->whole.greatest, n);
    put_change(out, mean, a->warm.greatest, b->warm.greatest, n);
    put_stated(out, paper->deviation);
    if (n < DEVIATION_WORKLOADS)
        fputs(" - |", out);
    else
        put_change(out, deviation, a->whole.greatest, b->whole.greatest, n);
    put_stated(out, paper->performance);
    put_change(out, mean, a->whole.speedup, b->whole.speedup, n);
    fputc('\n', out);
}

void scheme_put_comparisons(struct reproduction *r, const struct scheme_machine *machines, size_t n,
                            struct scheme_result results[][CONTROL_SCHEMES])
{
    fprintf(r->out, "\n"
                    "| scheme | against | cores, channels | unfairness: paper | ours | after the "
                    "first quantum | its deviation: paper | ours | performance: paper | ours |\n"
                    "|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < COMPARISONS; i++)
        for (size_t m = 0; m < n; m++) {
            struct percentages paper = paper_of(comparisons[i].paper, &machines[m]);

            fprintf(r->out, "| %s | %s | %u, %u |", control_scheme_names[comparisons[i].scheme],
                    control_scheme_names[comparisons[i].against], machines[m].cores,
                    machines[m].channels);
            put_comparison(r->out, &paper, &results[m][comparisons[i].scheme],
                           &results[m][comparisons[i].against]);
        }
}
