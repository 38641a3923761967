#include "collectors/attribution/regression/gate.h"

#include <math.h>

static const double min_score = 4; /* Z */
static const double min_effect = 0.03, min_support = 1.3;
static const double alike = 0.8; /* rho_group */
static const double model_error = 0.2;
static const double least_doubt = 1.3;

struct alikeness {
    bool mate[ATTRIBUTION_SLOTS];      /* some other moves with it or against it */
    unsigned group[ATTRIBUTION_SLOTS]; /* the least slot that moves with it, over any steps */
};

static unsigned root(const unsigned *group, unsigned i)
{
    while (group[i] != i)
        i = group[i];
    return i;
}

static void find_alike(const struct attribution_domain *d, struct alikeness *out)
{
    for (unsigned i = 0; i < d->config.slots; i++) {
        out->mate[i] = false;
        out->group[i] = i;
        double least = alike * alike * d->g[i][i];
        for (unsigned j = 0; j < i; j++) {
            double both = d->g[i][j];
            if (both * both <= least * d->g[j][j] || both == 0)
                continue;
            out->mate[i] = out->mate[j] = true;
            unsigned a = root(out->group, i), b = root(out->group, j);
            if (both > 0)
                out->group[a > b ? a : b] = a > b ? b : a;
        }
    }
    for (unsigned i = 0; i < d->config.slots; i++)
        out->group[i] = root(out->group, i);
}

double gate_sd_ns(double sd_effect, double per_effect, double caused_ns)
{
    return hypot(sd_effect * per_effect, model_error * caused_ns);
}

/* By how many times its lowest its activity rises as the latency rises by as many times itself,
 * over the last quarter of an hour: a regression of its activity on the latency. */
static double grows_by(const struct attribution_domain *d, unsigned i)
{
    double of_latency = d->slots[i].ground * d->slots[i].latency_square;
    return of_latency > 0 ? d->b[i] / of_latency : 0;
}

/*
 * Whether its activity grows by more than waiting explains. A program with a given amount of work
 * takes longer for it while somebody else slows memory down: at most as many times longer as the
 * latency has grown. Whose activity grows no more may be one that waits.
 *
 * Now, by the model's sum, and over the quarter of an hour. With several that wait the sum is
 * spread over them, so that what one's load varies by is more than its own part of it; in the
 * regression its own load averages out.
 */
static bool outgrows_latency(const struct attribution_domain *d, unsigned i)
{
    const struct attribution_slot *slot = &d->slots[i];
    double growth = d->config.growth;
    if (d->above[i] <= 0)
        return false;
    return slot->ground <= 0 ||
           (log(slot->activity / slot->ground) >= growth * d->effect && grows_by(d, i) >= growth);
}

/* Who waits grows by 1 at most; its own load and what is measured blur that. */
static enum attribution_state doubted(const struct attribution_domain *d, unsigned i)
{
    return grows_by(d, i) > least_doubt ? ATTRIBUTION_DOUBTED : ATTRIBUTION_UNKNOWN;
}

static enum attribution_state judge_significant(const struct attribution_domain *d, unsigned i,
                                                bool was_named)
{
    const struct attribution_slot *slot = &d->slots[i];
    if (was_named)
        return ATTRIBUTION_NAMED;
    if (!outgrows_latency(d, i))
        return doubted(d, i);
    return slot->support >= min_support ? ATTRIBUTION_NAMED : ATTRIBUTION_SUSPECTED;
}

/* Whoever was named goes on as then. The rule of growth is not asked again: the lowest activity
 * that it compares with rises to that of one who stays. */
static bool stays_named(const struct attribution_slot *slot)
{
    return slot->state == ATTRIBUTION_NAMED && slot->activity >= (double)slot->named_activity / 2;
}

static void judge_alone(struct attribution_domain *d, unsigned i, bool mate)
{
    struct attribution_slot *slot = &d->slots[i];
    double beta = d->beta[i];
    bool doubtful = mate || beta == 0, was_named = stays_named(slot);
    slot->se = sqrt(doubtful ? d->p[i][i] : d->variance[i]);
    slot->score = (doubtful ? fmin(beta, d->raw[i]) : beta) / slot->se;
    slot->sd_ns = gate_sd_ns(slot->se * d->above[i], d->per_effect, slot->caused_ns);
    slot->group = 0;
    slot->state = ATTRIBUTION_UNKNOWN;
    if (d->readings <= d->config.learning)
        return;
    if (slot->score >= min_score && beta * d->above[i] >= min_effect)
        slot->state = judge_significant(d, i, was_named);
    if (slot->state != ATTRIBUTION_NAMED)
        slot->named_activity = 0;
    else if (!was_named)
        slot->named_activity = (float)slot->activity;
}

/* The group of those with this root; false: too few, one is named, or not significant. */
static bool judge_group(const struct attribution_domain *d, const struct alikeness *alikeness,
                        unsigned first, struct attribution_group *out)
{
    double raw = 0, variance = 0;
    bool supported = false, outgrown = false;
    struct attribution_group group = {0};
    for (unsigned i = first; i < d->config.slots; i++) {
        if (!d->slots[i].ticket || alikeness->group[i] != first)
            continue;
        if (d->slots[i].state == ATTRIBUTION_NAMED)
            return false;
        group.members++;
        group.effect += d->beta[i] * d->above[i];
        group.caused_ns += d->slots[i].caused_ns;
        raw += d->raw[i] * d->above[i];
        supported |= d->slots[i].support >= min_support;
        outgrown |= outgrows_latency(d, i);
        variance += d->above[i] * d->above[i] * d->p[i][i];
        for (unsigned j = first; j < i; j++)
            if (d->slots[j].ticket && alikeness->group[j] == first)
                variance += 2 * d->above[i] * d->above[j] * d->p[i][j];
    }
    if (group.members < 2 || !supported || !outgrown || group.effect < min_effect ||
        !(variance > 0))
        return false;
    group.score = fmin(group.effect, raw) / sqrt(variance);
    if (group.score < min_score)
        return false;
    group.sd_ns = gate_sd_ns(sqrt(variance), d->per_effect, group.caused_ns);
    *out = group;
    return true;
}

void gate_judge(struct attribution_domain *d)
{
    struct alikeness alikeness;
    find_alike(d, &alikeness);
    for (unsigned i = 0; i < d->config.slots; i++)
        if (d->slots[i].ticket)
            judge_alone(d, i, alikeness.mate[i]);
    d->n_groups = 0;
    if (d->readings <= d->config.learning)
        return;
    for (unsigned first = 0; first < d->config.slots; first++) {
        if (!alikeness.mate[first] || alikeness.group[first] != first ||
            !judge_group(d, &alikeness, first, &d->groups[d->n_groups]))
            continue;
        d->n_groups++;
        for (unsigned i = first; i < d->config.slots; i++) {
            if (!d->slots[i].ticket || alikeness.group[i] != first)
                continue;
            d->slots[i].state = ATTRIBUTION_IN_GROUP;
            d->slots[i].group = d->n_groups;
        }
    }
}
