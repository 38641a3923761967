/* Shares of a victim's excess: the truth from all subsets, and what estimators say. */
#include <math.h>

#include "tests/research/attribution.h"

const char *const attr_estimator_names[ATTR_ESTIMATORS] = {
    [ATTR_BY_DEMAND] = "demand reads",   [ATTR_BY_MISSES] = "all misses",
    [ATTR_BY_TWICE] = "RFO twice",       [ATTR_BY_COUNTED] = "as counted",
    [ATTR_BY_UNCAPPED] = "not capped",   [ATTR_BY_THRICE] = "RFO three times",
    [ATTR_BY_LINES] = "all lines",       [ATTR_BY_NODE] = "by memory node",
    [ATTR_BY_INSERTIONS] = "insertions", [ATTR_BY_LEAVE_ONE_OUT] = "leave-one-out",
    [ATTR_BY_CHANNELS] = "two channels",
};

static double value_of(const struct attr_state *state, enum attr_value value)
{
    return value == ATTR_LATENCY ? state->latency_ns : state->cpi;
}

double attr_v(const struct attr_result *result, enum attr_value value, unsigned subset, int seed)
{
    double sum = 0;

    if (seed >= 0)
        return value_of(&result->states[seed][subset], value);
    for (int s = 0; s < result->seeds; s++)
        sum += value_of(&result->states[s][subset], value);
    return sum / result->seeds;
}

static unsigned everybody(const struct attr_result *result)
{
    return (1U << (result->mix.n - 1)) - 1;
}

double attr_excess(const struct attr_result *result, enum attr_value value)
{
    return attr_v(result, value, everybody(result), -1) - attr_v(result, value, 0, -1);
}

static double factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

void attr_shapley(const struct attr_result *result, enum attr_value value, unsigned subset,
                  int seed, double out[ATTR_OTHERS])
{
    int n = __builtin_popcount(subset);

    for (int i = 0; i < ATTR_OTHERS; i++) {
        unsigned me = 1U << i;

        out[i] = 0;
        for (unsigned s = 0; s <= subset && subset & me; s++) {
            int size = __builtin_popcount(s);

            if ((s & ~subset) || (s & me))
                continue;
            out[i] += factorial(size) * factorial(n - size - 1) / factorial(n) *
                      (attr_v(result, value, s | me, seed) - attr_v(result, value, s, seed));
        }
    }
}

/* --- traffic --- */

/* A container's socket is known where its cgroup's counters are; its memory's node is not. */
static double here(const struct attr_mix *mix, int member, double lines,
                   const struct attr_counts *counts, enum attr_estimator estimator)
{
    const struct attr_member *m = &mix->members[member], *victim = &mix->members[0];
    double remote = counts->misses > 0 ? fmin(1, counts->remote / counts->misses) : 0;

    if (estimator != ATTR_BY_NODE && estimator != ATTR_BY_LINES)
        return m->socket == victim->socket ? lines : 0;
    return lines * (m->socket == victim->node ? 1 - remote : remote);
}

double attr_traffic(const struct attr_mix *mix, int member, const struct attr_counts *c,
                    enum attr_estimator estimator)
{
    double lines = 0;

    switch (estimator) {
    case ATTR_BY_DEMAND:
        lines = c->demand;
        break;
    case ATTR_BY_MISSES:
        lines = c->misses;
        break;
    case ATTR_BY_TWICE:
        lines = c->misses + c->rfo_misses;
        break;
    case ATTR_BY_UNCAPPED:
        lines = c->misses + c->rfos;
        break;
    case ATTR_BY_THRICE:
        lines = c->misses + 2 * c->rfo_misses;
        break;
    case ATTR_BY_LINES:
        lines = c->misses + c->written_back + c->nt_lines;
        /* Past the caches means to the only node that a container has here. */
        if (c->misses <= 0)
            return mix->members[member].node == mix->members[0].node ? lines / c->seconds : 0;
        break;
    case ATTR_BY_INSERTIONS:
        lines = c->insertions;
        break;
    default:
        lines = c->misses + fmin(c->rfos, c->misses);
        break;
    }
    return here(mix, member, lines, c, estimator) / c->seconds;
}

/* --- estimators --- */

static struct attr_counts mean_counts(const struct attr_result *result, int member)
{
    struct attr_counts sum = {0};

    for (int s = 0; s < result->seeds; s++) {
        const struct attr_counts *c = &result->states[s][everybody(result)].counts[member];

        sum.seconds += c->seconds;
        sum.instructions += c->instructions;
        sum.demand += c->demand;
        sum.misses += c->misses;
        sum.rfos += c->rfos;
        sum.rfo_misses += c->rfo_misses;
        sum.written_back += c->written_back;
        sum.nt_lines += c->nt_lines;
        sum.insertions += c->insertions;
        sum.remote += c->remote;
    }
    return sum;
}

static bool scale(double out[ATTR_OTHERS], double excess)
{
    double sum = 0;

    for (int i = 0; i < ATTR_OTHERS; i++)
        sum += out[i];
    for (int i = 0; i < ATTR_OTHERS; i++)
        out[i] = sum > 0 ? out[i] * excess / sum : 0;
    return sum > 0;
}

static bool by_traffic(const struct attr_result *result, enum attr_estimator estimator,
                       double excess, double out[ATTR_OTHERS])
{
    for (int i = 0; i < ATTR_OTHERS; i++) {
        struct attr_counts counts = mean_counts(result, i + 1 < result->mix.n ? i + 1 : 0);

        out[i] = i + 1 < result->mix.n ? attr_traffic(&result->mix, i + 1, &counts, estimator) : 0;
    }
    return scale(out, excess);
}

static bool by_leave_one_out(const struct attr_result *result, enum attr_value value, double excess,
                             double out[ATTR_OTHERS])
{
    unsigned all = everybody(result);

    for (int i = 0; i < ATTR_OTHERS; i++)
        out[i] = i + 1 < result->mix.n
                     ? attr_v(result, value, all, -1) - attr_v(result, value, all & ~(1U << i), -1)
                     : 0;
    return scale(out, excess);
}

static double mean_reads(const struct attr_result *result, unsigned subset)
{
    double sum = 0;

    for (int s = 0; s < result->seeds; s++)
        sum += result->states[s][subset].reads_per_kilo / result->seeds;
    return sum;
}

double attr_cache_part(const struct attr_result *result)
{
    unsigned all = everybody(result);
    double reads0 = mean_reads(result, 0), reads1 = mean_reads(result, all);
    double ns0 = attr_v(result, ATTR_LATENCY, 0, -1), ns1 = attr_v(result, ATTR_LATENCY, all, -1);
    /* Of a product of two factors, each gets its growth times the other's mean: exact. */
    double cache = fmax(0, (reads1 - reads0) * (ns0 + ns1) / 2);
    double memory = fmax(0, (ns1 - ns0) * (reads0 + reads1) / 2);

    return cache + memory > 0 ? cache / (cache + memory) : 0;
}

bool attr_estimate(const struct attr_result *result, enum attr_value value,
                   enum attr_estimator estimator, double out[ATTR_OTHERS])
{
    double excess = attr_excess(result, value), cache[ATTR_OTHERS];

    if (estimator == ATTR_BY_LEAVE_ONE_OUT)
        return by_leave_one_out(result, value, excess, out);
    if (estimator != ATTR_BY_CHANNELS)
        return by_traffic(result, estimator, excess, out);

    double part = attr_cache_part(result);

    if (!by_traffic(result, ATTR_BY_COUNTED, excess * (1 - part), out) ||
        !by_traffic(result, ATTR_BY_INSERTIONS, excess * part, cache))
        return false;
    for (int i = 0; i < ATTR_OTHERS; i++)
        out[i] += cache[i];
    return true;
}

double attr_misplaced(const double a[ATTR_OTHERS], const double b[ATTR_OTHERS], double excess)
{
    double sum = 0;

    for (int i = 0; i < ATTR_OTHERS; i++)
        sum += fabs(a[i] - b[i]) / 2;
    return sum / excess;
}

int attr_first(const double shares[ATTR_OTHERS], int n)
{
    int first = 0;

    for (int i = 1; i < n; i++)
        if (shares[i] > shares[first])
            first = i;
    return first;
}

/* --- what kind of mix it is --- */

static double misses_per_instruction(const struct attr_result *result, unsigned subset, int member)
{
    double misses = 0, instructions = 0;

    for (int s = 0; s < result->seeds; s++) {
        misses += result->states[s][subset].counts[member].misses;
        instructions += result->states[s][subset].counts[member].instructions;
    }
    return instructions > 0 ? misses / instructions : 0;
}

double attr_thrash(const struct attr_result *result)
{
    unsigned all = everybody(result);
    double more = 0, misses = 0;

    for (int m = 0; m < result->mix.n; m++) {
        struct attr_counts counts = mean_counts(result, m);
        double alone = misses_per_instruction(result, m ? 1U << (m - 1) : 0, m);
        double now = misses_per_instruction(result, all, m);

        misses += counts.misses;
        more += fmax(0, now - alone) * counts.instructions;
    }
    return misses > 0 ? more / misses : 0;
}

double attr_utilization(const struct attr_result *result)
{
    const double lines_a_second = 10.667e9 / 64; /* of a channel, DDR3-1333 */
    double sum = 0;

    for (int m = 0; m < result->mix.n; m++) {
        struct attr_counts counts = mean_counts(result, m);

        sum += attr_traffic(&result->mix, m, &counts, ATTR_BY_LINES);
    }
    return sum / lines_a_second / result->mix.channels;
}

bool attr_thrashed(const struct attr_result *result)
{
    return attr_thrash(result) > 0.1;
}

bool attr_judged(const struct attr_result *result)
{
    return result->mix.family != ATTR_STORES_PAST &&
           attr_excess(result, ATTR_LATENCY) >= 0.03 * attr_v(result, ATTR_LATENCY, 0, -1);
}
