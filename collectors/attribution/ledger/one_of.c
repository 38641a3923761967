#include "collectors/attribution/ledger/one_of.h"

#include <math.h>
#include <string.h>

#include "collectors/attribution/ledger/episodes.h"
#include "collectors/attribution/ledger/readings.h"

static const double explained = 0.8, one_alone = 0.95, least_share = 0.08;
static const double least_effect = 0.06, kept_effect = 0.02;
/* What a jump does to the latency goes with its size only about. */
static const double in_proportion = 0.3;
/* What one episode may count. */
static const double most_factor = 6.6;

void one_of_add(struct one_of *m, uint32_t workload, double factor, double weight, double size)
{
    if (m->n == LEDGER_EPISODES)
        return;
    m->at[m->n].workload = workload;
    m->at[m->n].factor = log(weight) + factor;
    m->at[m->n++].up = size > 0;
}

void one_of_begin(struct one_of *m, uint32_t workload, double factor, double weight, double size)
{
    m->n = 0;
    one_of_add(m, workload, factor, weight, size);
}

static void sort(struct one_of *m)
{
    for (unsigned i = 1; i < m->n; i++)
        for (unsigned k = i; k > 0 && m->at[k].share > m->at[k - 1].share; k--) {
            __typeof__(m->at[0]) swap = m->at[k];
            m->at[k] = m->at[k - 1];
            m->at[k - 1] = swap;
        }
}

void one_of_end(struct one_of *m, double apart, double effect, double se)
{
    double most = apart, sum;
    for (unsigned i = 0; i < m->n; i++)
        most = fmax(most, m->at[i].factor);
    sum = exp(apart - most);
    for (unsigned i = 0; i < m->n; i++)
        sum += exp(m->at[i].factor - most);
    for (unsigned i = 0; i < m->n; i++)
        m->at[i].share = exp(m->at[i].factor - most) / sum;
    sort(m);
    m->effect = effect;
    m->se = se;
}

/* Nobody of them has what their shares leave of 1. */
static void reweigh(struct ledger_group *g, unsigned member, double factor)
{
    double sum = 1 + (double)g->share[member] * (exp(factor) - 1);
    g->share[member] *= (float)exp(factor);
    for (unsigned i = 0; i < g->n; i++)
        g->share[i] = (float)((double)g->share[i] / sum);
}

static bool is_sure(struct ledger *ledger, const struct ledger_group *g)
{
    for (unsigned i = 0; i < g->n; i++) {
        struct ledger_workload *w = &ledger->at[g->workload[i]];
        if ((double)g->share[i] < one_alone)
            continue;
        double evidence = ledger_evidence(w, (double)g->share[i]);
        w->evidence = fmaxf(w->evidence, (float)fmin(most_evidence, evidence));
        return true;
    }
    return false;
}

static bool has(const struct ledger_group *g, uint32_t workload)
{
    for (unsigned i = 0; i < g->n; i++)
        if (g->workload[i] == workload)
            return true;
    return false;
}

static void remove_group(struct ledger *ledger, unsigned i)
{
    ledger->n_groups--;
    memmove(&ledger->group[i], &ledger->group[i + 1],
            (ledger->n_groups - i) * sizeof *ledger->group);
}

/* ln of the likelihood of what the latency did if it is this one, over that if it is none. */
static double factor_of(const struct ledger_group *g, unsigned member,
                        const struct ledger_episode *e, const struct one_of_news *news)
{
    if (!news->alone)
        return news->factor;
    double whole = (double)g->effect, active = (double)g->active[member];
    double expected = active > 0 ? whole * fmin(1, fabs((double)e->size) / active) : 0;
    double error = hypot(news->se, in_proportion * whole);
    double factor = expected * (2 * news->effect - expected) / (2 * error * error);
    return fmin(most_factor, fmax(-most_factor, factor));
}

void one_of_learn(struct ledger *ledger, const struct ledger_episode *episode,
                  const struct one_of_news *news)
{
    for (unsigned i = ledger->n_groups; i-- > 0;) {
        struct ledger_group *g = &ledger->group[i];
        if (episode->jump[0].at <= g->made)
            continue;
        for (unsigned k = 0; k < g->n; k++)
            if (g->workload[k] == episode->workload)
                reweigh(g, k, factor_of(g, k, episode, news));
        if (is_sure(ledger, g))
            remove_group(ledger, i);
    }
}

static double above(const struct ledger *ledger, uint32_t workload)
{
    const struct ledger_workload *w = &ledger->at[workload];
    return fmax(0, w->now - (double)w->before);
}

/* How many of the first explain enough; 0: nobody does, or one alone. */
static unsigned members(const struct one_of *m)
{
    double sum = 0;
    unsigned n = 0;
    while (n < m->n && n < LEDGER_MEMBERS && sum < one_alone && m->at[n].share >= least_share &&
           m->at[n].up)
        sum += m->at[n++].share;
    return n >= 2 && sum >= explained ? n : 0;
}

void one_of_resolve(struct ledger *ledger, uint32_t workload)
{
    for (unsigned i = ledger->n_groups; i-- > 0;)
        if (has(&ledger->group[i], workload))
            remove_group(ledger, i);
}

void one_of_keep(struct ledger *ledger, const struct one_of *m)
{
    struct ledger_group group = {
        .n = members(m), .effect = (float)m->effect, .se = (float)m->se, .made = ledger->readings};
    if (group.n == 0 || m->effect < least_effect)
        return;
    for (unsigned k = 0; k < group.n; k++)
        one_of_resolve(ledger, m->at[k].workload);
    for (unsigned i = 0; i < group.n; i++) {
        group.workload[i] = m->at[i].workload;
        group.share[i] = (float)m->at[i].share;
        group.active[i] = (float)above(ledger, m->at[i].workload);
        group.level = fmaxf(group.level, ledger->at[m->at[i].workload].level);
    }
    if (ledger->n_groups == LEDGER_GROUPS)
        remove_group(ledger, 0);
    ledger->group[ledger->n_groups++] = group;
}

/* By how many of them go on. */
static double effect_now(const struct ledger *ledger, const struct ledger_group *g)
{
    double on = 0;
    for (unsigned i = 0; i < g->n; i++)
        if (g->active[i] > 0)
            on +=
                (double)g->share[i] * fmin(1, above(ledger, g->workload[i]) / (double)g->active[i]);
    return (double)g->effect * on;
}

static bool is_over(const struct ledger *ledger, const struct ledger_group *g)
{
    for (unsigned i = 0; i < g->n; i++)
        if (ledger_has_told(ledger, g->workload[i]))
            return true;
    return g->n == 0 || (double)g->effect_now < kept_effect;
}

void one_of_answer(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->n; i++)
        ledger->at[i].group = 0;
    for (unsigned i = ledger->n_groups; i-- > 0;) {
        struct ledger_group *g = &ledger->group[i];
        if (g->n > 0)
            g->effect_now = (float)effect_now(ledger, g);
        if (is_over(ledger, g))
            remove_group(ledger, i);
    }
    for (unsigned i = 0; i < ledger_groups(ledger); i++)
        for (unsigned k = 0; k < ledger->group[i].n; k++)
            ledger->at[ledger->group[i].workload[k]].group = (uint8_t)(i + 1);
}
