/* The page's tables of the pooled slope, and of the targets. */
#include <math.h>

#include "tests/research/attribution.h"

static const double close_part = 0.15; /* of the excess: the target */
static const double busy = 0.8;        /* utilization */

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

/* The slope from two states, nobody and all: what it makes of all, and its worst error, both over
 * the excess. */
static double two_states(const struct attr_result *result, double *sum)
{
    double truth[ATTR_OTHERS], others[ATTR_OTHERS] = {0}, change, worst = 0;
    double excess = attr_excess(result, ATTR_LATENCY);
    unsigned all = (1U << (result->mix.n - 1)) - 1;
    const struct attr_state *states = result->states[0];

    change = attr_traffic(&result->mix, 0, &states[all].counts[0], ATTR_BY_COUNTED) -
             attr_traffic(&result->mix, 0, &states[0].counts[0], ATTR_BY_COUNTED);
    for (int m = 1; m < result->mix.n; m++) {
        others[m - 1] = attr_traffic(&result->mix, m, &states[all].counts[m], ATTR_BY_COUNTED);
        change += others[m - 1];
    }
    attr_shapley(result, ATTR_LATENCY, all, -1, truth);
    *sum = sum_of(others) / change;
    for (int i = 0; i < ATTR_OTHERS; i++)
        worst = fmax(worst, fabs(others[i] / change - truth[i] / excess));
    return worst;
}

void attr_table_phases(const struct attr_page *page, bool slow)
{
    FILE *out = page->r->out;

    fprintf(
        out,
        "\n| | load | thrash | score | excess, ns: Shapley's / the run's | two states: sum, "
        "worst | slope: sum, worst | excess by share: sum, worst | by groups: score | slope: sum, "
        "worst | excess by share: sum, worst |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < page->n_phases; i++) {
        const struct attr_phases *p = slow ? &page->slow[i] : &page->phases[i];
        const struct attr_parts *parts = &p->parts[ATTR_COUNTERS], *groups = &p->parts[ATTR_GROUPS];
        const struct attr_result *result = &page->results[i];
        double sum, worst = two_states(result, &sum);

        if (!attr_judged(result) || (slow && result->mix.family != ATTR_WRITERS))
            continue;
        fprintf(out,
                "| %u%s | %.0f | %.0f | %.1f | %.1f / %.1f | %.2f, %.0f | %.2f, %.0f | %.2f, %.0f "
                "| %.1f | %.2f, %.0f | %.2f, %.0f |\n",
                i + 1, result->mix.sockets == 2 ? ", two sockets" : "",
                100 * attr_utilization(result), 100 * attr_thrash(result), parts->score, p->excess,
                p->seen_excess, sum, 100 * worst, sum_of(parts->by_slope) / p->excess,
                100 * worst_of(parts->by_slope, p), sum_of(parts->by_excess) / p->excess,
                100 * worst_of(parts->by_excess, p), groups->score,
                sum_of(groups->by_slope) / p->excess, 100 * worst_of(groups->by_slope, p),
                sum_of(groups->by_excess) / p->excess, 100 * worst_of(groups->by_excess, p));
    }
}

enum { CALM_CHANNELS, BUSY_CHANNELS, TWO_SOCKETS, THRASHED, CLASSES };
static const char *const class_names[CLASSES] = {
    [CALM_CHANNELS] = "no thrash, one socket, load below 80 %",
    [BUSY_CHANNELS] = "no thrash, one socket, load from 80 %",
    [TWO_SOCKETS] = "no thrash, two sockets",
    [THRASHED] = "cache thrash",
};

static int class_of(const struct attr_result *result)
{
    if (attr_thrashed(result))
        return THRASHED;
    if (result->mix.sockets == 2)
        return TWO_SOCKETS;
    return attr_utilization(result) < busy ? CALM_CHANNELS : BUSY_CHANNELS;
}

struct close {
    int n, significant, slope, share, states, by_groups, slope_by_groups, share_by_groups;
};

static void put_row(FILE *out, const char *name, const struct close *c, bool target)
{
    if (c->n)
        fprintf(out, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |%s\n", name, c->n,
                c->significant, c->slope, c->share, c->states, c->by_groups, c->slope_by_groups,
                c->share_by_groups, target ? " target: all |" : " |");
}

void attr_table_targets(const struct attr_page *page)
{
    struct close classes[CLASSES] = {{0}}, aim = {0};
    FILE *out = page->r->out;

    for (unsigned i = 0; i < page->n_phases; i++) {
        const struct attr_phases *p = &page->phases[i];
        const struct attr_parts *parts = &p->parts[ATTR_COUNTERS], *groups = &p->parts[ATTR_GROUPS];
        const struct attr_result *result = &page->results[i];
        int class = class_of(result);
        struct close *both[] = {&classes[class], class == THRASHED ? NULL : &aim};
        double sum;

        for (int k = 0; k < 2 && attr_judged(result); k++) {
            if (!both[k])
                continue;
            both[k]->n++;
            both[k]->significant += parts->significant;
            both[k]->slope += worst_of(parts->by_slope, p) <= close_part;
            both[k]->share += worst_of(parts->by_excess, p) <= close_part;
            both[k]->by_groups += groups->significant;
            both[k]->slope_by_groups += worst_of(groups->by_slope, p) <= close_part;
            both[k]->share_by_groups += worst_of(groups->by_excess, p) <= close_part;
            both[k]->states += two_states(result, &sum) <= close_part;
        }
    }
    fprintf(out, "\n| | target | found | |\n|---|---|---|---|\n");
    attr_table_first(page, ATTR_BY_COUNTED);
    attr_table_first(page, ATTR_BY_NODE);
    attr_table_first(page, ATTR_BY_LINES);
    fprintf(
        out,
        "\nMixes in which each co-runner's part is within 15 %% of the excess of its "
        "Shapley value, over time:\n\n| | mixes | slope significant | pooled slope | "
        "excess over a known baseline, by share of traffic | slope from two states | by groups: "
        "slope significant | pooled slope | by share | |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n");
    put_row(out, "without cache thrash", &aim, true);
    for (int class = 0; class < CLASSES; class ++)
        put_row(out, class_names[class], &classes[class], false);
}
