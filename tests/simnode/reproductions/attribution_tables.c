/* The tables of the page on attribution. */
#include <math.h>
#include <string.h>

#include "tests/simnode/reproductions/attribution.h"

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

static bool first_is_right(const struct attr_result *result, enum attr_value value,
                           enum attr_estimator estimator)
{
    double truth[ATTR_OTHERS], estimate[ATTR_OTHERS];
    int n = result->mix.n - 1;

    attr_shapley(result, value, everybody(result), -1, truth);
    return attr_estimate(result, value, estimator, estimate) &&
           attr_first(estimate, n) == attr_first(truth, n);
}

void attr_table_mixes(const struct attr_page *page)
{
    FILE *out = page->r->out;

    fprintf(out,
            "\n## Every mix: latency alone / with all (ns), share of the excess on the wrong "
            "container (percent; * the first is wrong)\n\n| | channels | victim : co-runners | "
            "alone / all | thrash | noise |");
    for (int e = 0; e < SHOWN; e++)
        fprintf(out, " %s |", attr_estimator_names[shown[e]]);
    fputc('\n', out);
    rule(out, 6 + SHOWN);
    for (unsigned i = 0; i < page->n; i++) {
        const struct attr_result *result = &page->results[i];

        fprintf(out, "| %u | %d | ", i + 1, result->mix.channels);
        put_members(out, &result->mix);
        fprintf(out, " | %.0f / %.0f | %.0f | ", attr_v(result, ATTR_LATENCY, 0, -1),
                attr_v(result, ATTR_LATENCY, everybody(result), -1), 100 * attr_thrash(result));
        if (result->seeds > 1)
            fprintf(out, "%.1f |", 100 * noise_of(result));
        else
            fputs(" |", out);
        for (int e = 0; e < SHOWN; e++)
            fprintf(out, " %.0f%s |", 100 * misplaced_by(result, ATTR_LATENCY, shown[e]),
                    first_is_right(result, ATTR_LATENCY, shown[e]) ? "" : "*");
        fputc('\n', out);
    }
}

struct tally {
    int n, right;
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
        t.right += first_is_right(result, value, estimator);
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

            fprintf(out, " %.0f %%, %.0f |", 100.0 * t.right / t.n, 100 * t.misplaced / t.n);
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
                    first_is_right(result, ATTR_CPI, estimators[e]) ? "" : "*");
        fputc('\n', out);
    }
}

/* --- over time --- */

static double worst_of(const double a[ATTR_OTHERS], const struct attr_phases *phases)
{
    double worst = 0;

    for (int i = 0; i < ATTR_OTHERS; i++)
        worst = fmax(worst, fabs(a[i] - phases->truth[i]));
    return worst / phases->excess;
}

static double sum_of(const double a[ATTR_OTHERS])
{
    double sum = 0;

    for (int i = 0; i < ATTR_OTHERS; i++)
        sum += a[i];
    return sum;
}

/* The slope from two states, nobody and all: what it makes of each, against the excess. */
static double two_states(const struct attr_result *result, double *sum)
{
    double truth[ATTR_OTHERS], others[ATTR_OTHERS] = {0}, change = 0, worst = 0;
    unsigned all = everybody(result);

    for (int m = 0; m < result->mix.n; m++) {
        double now =
            attr_traffic(&result->mix, m, &result->states[0][all].counts[m], ATTR_BY_COUNTED);

        change += now;
        if (m)
            others[m - 1] = now;
        else
            change -=
                attr_traffic(&result->mix, 0, &result->states[0][0].counts[0], ATTR_BY_COUNTED);
    }

    double excess = attr_excess(result, ATTR_LATENCY);

    attr_shapley(result, ATTR_LATENCY, all, -1, truth);
    *sum = 0;
    for (int i = 0; i < ATTR_OTHERS; i++) {
        double caused = others[i] / change * excess;

        *sum += caused / excess;
        worst = fmax(worst, fabs(caused - truth[i]) / excess);
    }
    return worst;
}

void attr_table_phases(const struct attr_page *page)
{
    FILE *out = page->r->out;

    fprintf(out,
            "\n| | thrash | score | excess, ns: Shapley's / the run's | two states: sum, worst "
            "| slope: sum, worst | excess by share: sum, worst |\n");
    rule(out, 7);
    for (unsigned i = 0; i < page->n_phases; i++) {
        const struct attr_phases *p = &page->phases[i];
        const struct attr_result *result = &page->results[i];
        double sum, worst = two_states(result, &sum);

        if (attr_excess(result, ATTR_LATENCY) < 0.03 * attr_v(result, ATTR_LATENCY, 0, -1))
            continue;
        fprintf(out, "| %u | %.0f | %.1f | %.1f / %.1f | %.2f, %.0f | %.2f, %.0f | %.2f, %.0f |\n",
                i + 1, 100 * attr_thrash(result), p->score, p->excess, p->seen_excess, sum,
                100 * worst, sum_of(p->by_slope) / p->excess, 100 * worst_of(p->by_slope, p),
                sum_of(p->by_excess) / p->excess, 100 * worst_of(p->by_excess, p));
    }
}

void attr_table_targets(const struct attr_page *page)
{
    FILE *out = page->r->out;
    struct tally top = tally_of(page, -1, ATTR_LATENCY, ATTR_BY_COUNTED);
    int n[2] = {0}, slope[2] = {0}, share[2] = {0}, states[2] = {0}, significant[2] = {0};

    for (unsigned i = 0; i < page->n_phases; i++) {
        const struct attr_phases *p = &page->phases[i];
        int thrashed = attr_thrashed(&page->results[i]);
        double sum;

        if (!attr_judged(&page->results[i]))
            continue;
        n[thrashed]++;
        significant[thrashed] += p->significant;
        slope[thrashed] += worst_of(p->by_slope, p) <= 0.15;
        share[thrashed] += worst_of(p->by_excess, p) <= 0.15;
        states[thrashed] += two_states(&page->results[i], &sum) <= 0.15;
    }
    fprintf(out, "\n| | target | found | |\n|---|---|---|---|\n");
    fprintf(
        out,
        "| the first container is right, traffic as counted | 90 %% of mixes | %d of %d | %s |\n",
        top.right, top.n, top.right * 10 >= top.n * 9 ? "met" : "missed");
    for (int thrashed = 0; thrashed < 2; thrashed++) {
        const char *which = thrashed ? "with cache thrash" : "without cache thrash";
        const char *aim = thrashed ? "" : "every mix";

        if (!n[thrashed])
            continue;
        fprintf(out, "| %s: the pooled slope is significant | %s | %d of %d | |\n", which, aim,
                significant[thrashed], n[thrashed]);
        fprintf(out, "| %s: each within 15 %% of the excess, pooled slope | %s | %d of %d | %s |\n",
                which, aim, slope[thrashed], n[thrashed],
                thrashed           ? ""
                : slope[0] == n[0] ? "met"
                                   : "missed");
        fprintf(out,
                "| %s: the same, excess over a known baseline by share of traffic | %s | %d of "
                "%d | %s |\n",
                which, aim, share[thrashed], n[thrashed],
                thrashed           ? ""
                : share[0] == n[0] ? "met"
                                   : "missed");
        fprintf(out, "| %s: the same, slope from two states | %s | %d of %d | %s |\n", which, aim,
                states[thrashed], n[thrashed],
                thrashed            ? ""
                : states[0] == n[0] ? "met"
                                    : "missed");
    }
}
