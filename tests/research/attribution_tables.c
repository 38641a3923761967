/* The tables of the page on attribution. */
#include <math.h>
#include <string.h>

#include "tests/research/attribution.h"

static const enum attr_estimator shown[] = {
    ATTR_BY_DEMAND, ATTR_BY_MISSES, ATTR_BY_TWICE, ATTR_BY_COUNTED,    ATTR_BY_UNCAPPED,
    ATTR_BY_THRICE, ATTR_BY_LINES,  ATTR_BY_NODE,  ATTR_BY_INSERTIONS, ATTR_BY_LEAVE_ONE_OUT};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

static unsigned everybody(const struct attr_result *result)
{
    return (1U << (result->mix.n - 1)) - 1;
}

static void head(FILE *out, const char *first, const enum attr_estimator *estimators, int n)
{
    fprintf(out, "| %s |", first);
    for (int i = 0; i < n; i++)
        fprintf(out, " %s |", attr_estimator_names[estimators[i]]);
    fputc('\n', out);
}

static void rule(FILE *out, int n)
{
    fputc('|', out);
    for (int i = 0; i < n; i++)
        fputs("---|", out);
    fputc('\n', out);
}

static void put_members(FILE *out, const struct attr_mix *mix)
{
    for (int m = 0; m < mix->n; m++) {
        const struct attr_member *member = &mix->members[m];

        fprintf(out, "%s%s", m == 0 ? "" : m == 1 ? " : " : ", ", attr_kind_names[member->kind]);
        if (mix->sockets == 2 && (member->socket || member->node))
            fprintf(out, " %d>%d", member->socket, member->node);
    }
}

/* Half the distance between the truths of the two seeds: what chance does to the truth. */
static double noise_of(const struct attr_result *result)
{
    double a[ATTR_OTHERS], b[ATTR_OTHERS];

    if (result->seeds < 2)
        return NAN;
    attr_shapley(result, ATTR_LATENCY, everybody(result), 0, a);
    attr_shapley(result, ATTR_LATENCY, everybody(result), 1, b);
    return attr_misplaced(a, b, attr_excess(result, ATTR_LATENCY));
}

static double misplaced_by(const struct attr_result *result, enum attr_value value,
                           enum attr_estimator estimator)
{
    double truth[ATTR_OTHERS], estimate[ATTR_OTHERS];

    attr_shapley(result, value, everybody(result), -1, truth);
    if (!attr_estimate(result, value, estimator, estimate))
        return 1;
    return attr_misplaced(estimate, truth, attr_excess(result, value));
}

enum verdict { WRONG, TIE, RIGHT };
static const char *const marks[] = {[WRONG] = "*", [TIE] = "=", [RIGHT] = ""};

/* A tie: the true share of the one that is named is below the first one's by at most this part of
 * the excess. */
static const double tie_part = 0.03;

static enum verdict first_is(const struct attr_result *result, enum attr_value value,
                             enum attr_estimator estimator)
{
    double truth[ATTR_OTHERS], estimate[ATTR_OTHERS];
    int n = result->mix.n - 1;

    attr_shapley(result, value, everybody(result), -1, truth);
    if (!attr_estimate(result, value, estimator, estimate))
        return WRONG;

    int named = attr_first(estimate, n), first = attr_first(truth, n);

    if (named == first)
        return RIGHT;
    return truth[first] - truth[named] <= tie_part * attr_excess(result, value) ? TIE : WRONG;
}

void attr_table_mixes(const struct attr_page *page)
{
    FILE *out = page->r->out;

    fprintf(out, "\n## Every mix: latency alone / with all (ns), share of the excess on the wrong "
                 "container (percent; * the first is wrong, = by at most 3 %% of the excess)\n\n| "
                 "| channels | victim : co-runners | "
                 "alone / all | load | thrash | noise |");
    for (int e = 0; e < SHOWN; e++)
        fprintf(out, " %s |", attr_estimator_names[shown[e]]);
    fputc('\n', out);
    rule(out, 7 + SHOWN);
    for (unsigned i = 0; i < page->n; i++) {
        const struct attr_result *result = &page->results[i];

        fprintf(out, "| %u | %d | ", i + 1, result->mix.channels);
        put_members(out, &result->mix);
        fprintf(out, " | %.0f / %.0f | %.0f | %.0f | ", attr_v(result, ATTR_LATENCY, 0, -1),
                attr_v(result, ATTR_LATENCY, everybody(result), -1), 100 * attr_utilization(result),
                100 * attr_thrash(result));
        if (result->seeds > 1)
            fprintf(out, "%.1f |", 100 * noise_of(result));
        else
            fputs(" |", out);
        for (int e = 0; e < SHOWN; e++)
            fprintf(out, " %.0f%s |", 100 * misplaced_by(result, ATTR_LATENCY, shown[e]),
                    marks[first_is(result, ATTR_LATENCY, shown[e])]);
        fputc('\n', out);
    }
}

struct tally {
    int n, right, ties;
    double misplaced;
};

static struct tally tally_of(const struct attr_page *page, int family, enum attr_value value,
                             enum attr_estimator estimator)
{
    struct tally t = {0};

    for (unsigned i = 0; i < page->n; i++) {
        const struct attr_result *result = &page->results[i];
        bool mine = family >= 0 ? result->mix.family == (enum attr_family)family
                                : result->mix.family != ATTR_STORES_PAST;

        if (!mine || attr_excess(result, value) < 0.03 * attr_v(result, value, 0, -1))
            continue;
        t.n++;

        enum verdict verdict = first_is(result, value, estimator);

        t.right += verdict == RIGHT;
        t.ties += verdict == TIE;
        t.misplaced += misplaced_by(result, value, estimator);
    }
    return t;
}

void attr_table_families(const struct attr_page *page, enum attr_value value,
                         const enum attr_estimator *estimators, int n)
{
    FILE *out = page->r->out;

    head(out, "mixes | n", estimators, n);
    rule(out, n + 2);
    for (int family = -1; family < ATTR_FAMILIES; family++) {
        int count = tally_of(page, family, value, estimators[0]).n;

        if (!count)
            continue;
        fprintf(out, "| %s | %d |", family < 0 ? "all but NT writers" : attr_family_names[family],
                count);
        for (int e = 0; e < n; e++) {
            struct tally t = tally_of(page, family, value, estimators[e]);

            fprintf(out, " %d+%d, %.0f |", t.right, t.ties, 100 * t.misplaced / t.n);
        }
        fputc('\n', out);
    }
}

void attr_table_bias(const struct attr_page *page)
{
    FILE *out = page->r->out;

    fprintf(out, "\n## Sign of each bias: estimate minus Shapley, percent of the excess, mean over "
                 "co-runners of a kind\n\n");
    head(out, "co-runner | n | write-backs per RFO miss", shown, SHOWN);
    rule(out, SHOWN + 3);
    for (int kind = 0; kind < ATTR_KINDS; kind++) {
        double sum[SHOWN] = {0}, written = 0, rfos = 0;
        int n = 0;

        for (unsigned i = 0; i < page->n; i++) {
            const struct attr_result *result = &page->results[i];
            double truth[ATTR_OTHERS], estimate[ATTR_OTHERS];

            if (attr_excess(result, ATTR_LATENCY) < 0.03 * attr_v(result, ATTR_LATENCY, 0, -1))
                continue;
            attr_shapley(result, ATTR_LATENCY, everybody(result), -1, truth);
            for (int m = 1; m < result->mix.n; m++) {
                const struct attr_counts *c = &result->states[0][everybody(result)].counts[m];

                if ((int)result->mix.members[m].kind != kind)
                    continue;
                n++;
                written += c->written_back;
                rfos += c->rfo_misses;
                for (int e = 0; e < SHOWN; e++)
                    if (attr_estimate(result, ATTR_LATENCY, shown[e], estimate))
                        sum[e] += (estimate[m - 1] - truth[m - 1]) /
                                  attr_excess(result, ATTR_LATENCY) * 100;
            }
        }
        if (!n)
            continue;
        fprintf(out, "| %s | %d |", attr_kind_names[kind], n);
        if (rfos > 1000)
            fprintf(out, " %.2f |", written / rfos);
        else
            fputs(" |", out);
        for (int e = 0; e < SHOWN; e++)
            fprintf(out, " %+.1f |", sum[e] / n);
        fputc('\n', out);
    }
}

void attr_table_cache(const struct attr_page *page)
{
    static const enum attr_estimator estimators[] = {ATTR_BY_COUNTED, ATTR_BY_INSERTIONS,
                                                     ATTR_BY_CHANNELS, ATTR_BY_LEAVE_ONE_OUT};
    enum { N = sizeof(estimators) / sizeof(estimators[0]) };
    FILE *out = page->r->out;

    fprintf(out, "\n## The second truth: the victim's cycles per instruction, in which evictions "
                 "count. First right, then percent on the wrong container\n\n");
    attr_table_families(page, ATTR_CPI, estimators, N);
    fprintf(out, "\nMixes in which more misses, not slower ones, are at least a tenth of the "
                 "victim's longer wait:\n\n| | victim : co-runners | CPI alone / all | part of the "
                 "cache |");
    for (int e = 0; e < N; e++)
        fprintf(out, " %s |", attr_estimator_names[estimators[e]]);
    fputc('\n', out);
    rule(out, 4 + N);
    for (unsigned i = 0; i < page->n; i++) {
        const struct attr_result *result = &page->results[i];

        if (attr_cache_part(result) < 0.1 || attr_excess(result, ATTR_CPI) <= 0)
            continue;
        fprintf(out, "| %u | ", i + 1);
        put_members(out, &result->mix);
        fprintf(out, " | %.2f / %.2f | %.0f %% |", attr_v(result, ATTR_CPI, 0, -1),
                attr_v(result, ATTR_CPI, everybody(result), -1), 100 * attr_cache_part(result));
        for (int e = 0; e < N; e++)
            fprintf(out, " %.0f%s |", 100 * misplaced_by(result, ATTR_CPI, estimators[e]),
                    marks[first_is(result, ATTR_CPI, estimators[e])]);
        fputc('\n', out);
    }
}

void attr_table_first(const struct attr_page *page, enum attr_estimator estimator)
{
    struct tally t = tally_of(page, -1, ATTR_LATENCY, estimator);

    fprintf(page->r->out,
            "| the first container is right, %s | 90 %% of mixes | %d of %d, and %d ties "
            "| %s |\n",
            attr_estimator_names[estimator], t.right, t.n, t.ties,
            t.right * 10 >= t.n * 9 ? "met" : "missed");
}
