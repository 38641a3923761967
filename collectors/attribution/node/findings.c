#include "collectors/attribution/node/findings.h"

#include <math.h>

#include "collectors/attribution/ledger/readings.h"
#include "collectors/attribution/node/doubts.h"
#include "collectors/attribution/node/node.h"
#include "collectors/formulas/attribution.h"

static const double significant = 4, least_effect = 0.03, suspicion = 0.5;
static const unsigned refuting_episodes = 2;
static const float refuting_evidence = -2;
static const double refuting_slope = 0.25, refuting_moves = 0.25, undoubted = 7, plain_score = 6,
                    alone_score = 5.5;
static const float agreeing = 0.5F;
enum { BARELY_READINGS = 2 };

struct estimate {
    double effect, se;
};

static struct estimate by_regression(const struct attribution_domain *d,
                                     const struct attribution_member *member,
                                     const struct attribution_slot *slot)
{
    if (!slot)
        return (struct estimate){0, 0};
    double above = d->above[member->slot];
    return (struct estimate){d->beta[member->slot] * above, slot->se * above};
}

static struct estimate by_onset(const struct ledger_workload *w)
{
    double above = fmax(0, w->now - (double)w->before);
    return (struct estimate){(double)w->effect, (double)w->slope_se * above};
}

/* The latency did not go with its starts and ends: what it goes with is something else. */
static bool is_refuted(const struct attribution_slot *slot, const struct ledger_workload *w)
{
    return w->episodes >= refuting_episodes &&
           (w->moved < refuting_evidence ||
            (w->evidence < refuting_evidence && slot->score < undoubted));
}

/* One coincidence says so, but over the last quarter of an hour it moved about as much, and the
 * latency did not follow. That it does not follow what one who stays varies by proves nothing. */
static void refute(struct attribution_node *node, const struct ledger_workload *w,
                   const struct attribution_member *member, const struct attribution_slot *slot)
{
    const struct attribution_domain *d = &node->domain;
    double slope = (double)w->slope_now;
    if (!slot || w->evidence <= 0 ||
        sqrt(slot->activity_variance) < refuting_moves * (double)w->largest)
        return;
    double raw = d->raw[member->slot];
    if (raw < refuting_slope * slope && slope - raw > significant * slot->se)
        ledger_refute(&node->ledger, (size_t)(w - node->ledger.at));
}

/* A pattern that is barely significant is believed when it lasts, of who was not named before until
 * the coefficients have been solved for once more; and only where the ledger has seen a start or an
 * end of it that the latency followed, or has not seen enough to say. */
static bool has_pattern(const struct attribution_node *node, struct attribution_column *column,
                        const struct attribution_slot *slot, const struct ledger_workload *w)
{
    bool now = slot && slot->state == ATTRIBUTION_NAMED;
    bool agrees = w->evidence + w->provisional > agreeing || !ledger_knows(&node->ledger);
    column->streak = now && (agrees || slot->score >= alone_score) ? column->streak + 1 : 0;
    unsigned least = column->named_last > 0 ? BARELY_READINGS : node->domain.config.solve_every;
    return column->streak > 0 && (slot->score >= plain_score || column->streak > least);
}

static enum attribution_state state_of(const struct attribution_slot *slot, bool pattern,
                                       const struct ledger_workload *w)
{
    if ((pattern && !is_refuted(slot, w)) || w->named)
        return ATTRIBUTION_NAMED;
    if (pattern)
        return ATTRIBUTION_SUSPECTED;
    if ((slot && slot->state == ATTRIBUTION_IN_GROUP) || w->group)
        return ATTRIBUTION_IN_GROUP;
    if (slot && slot->state == ATTRIBUTION_DOUBTED)
        return ATTRIBUTION_DOUBTED;
    if ((double)w->probability >= suspicion && (double)w->effect >= least_effect)
        return ATTRIBUTION_SUSPECTED;
    if (slot && slot->state == ATTRIBUTION_NAMED)
        return ATTRIBUTION_SUSPECTED;
    return slot ? slot->state : ATTRIBUTION_UNKNOWN;
}

/* Whose estimate counts. Of one who goes on and off the regression knows more; of one who stays it
 * forgets what that was like without him. */
static bool is_by_onset(const struct attribution_node *node, const struct attribution_slot *slot,
                        const struct ledger_workload *w)
{
    bool pattern = slot && slot->state == ATTRIBUTION_NAMED && slot->score >= significant;
    bool stays = node->ledger.readings - w->last_jump > ONSET_WINDOW;
    return pattern ? w->named && stays : w->named || (double)w->probability >= suspicion;
}

/* Of a group that began together each has its part of what the one does. */
static void join_group(struct attribution_node *node, size_t i, const struct attribution_slot *slot)
{
    struct attribution_finding *f = &node->columns[i].finding;
    const struct ledger_workload *w = &node->ledger.at[LEDGER_FIRST + i];
    if (slot && slot->group) {
        f->group = slot->group;
        return;
    }
    const struct ledger_group *g = &node->ledger.group[w->group - 1];
    for (unsigned k = 0; k < g->n; k++)
        if (g->workload[k] == LEDGER_FIRST + i)
            f->probability = (double)g->share[k];
    f->group = node->domain.n_groups + w->group;
    f->effect = f->probability * (double)g->effect_now;
    f->se = (double)g->se;
}

static void judge(struct attribution_node *node, size_t i)
{
    const struct attribution_domain *d = &node->domain;
    struct ledger_workload *w = &node->ledger.at[LEDGER_FIRST + i];
    struct attribution_column *column = &node->columns[i];
    struct attribution_finding *f = &column->finding;
    const struct attribution_slot *slot = attribution_candidate(d, &column->member);
    column->doubted = GROUP_KINDS;
    if (column->lost >= ATTRIBUTION_STALE_TICKS) {
        *f = (struct attribution_finding){.state = ATTRIBUTION_UNKNOWN, .probability = NAN};
        node->findings.effect -= by_regression(d, &column->member, slot).effect;
        return;
    }
    refute(node, w, &column->member, slot);
    struct estimate regression = by_regression(d, &column->member, slot);
    struct estimate estimate = is_by_onset(node, slot, w) ? by_onset(w) : regression;
    *f = (struct attribution_finding){
        .state = state_of(slot, has_pattern(node, column, slot, w), w),
        .probability = w->probability > 0 ? (double)w->probability : NAN,
        .effect = estimate.effect,
        .se = estimate.se,
        .score = slot ? slot->score : 0,
        .support = slot ? slot->support : 0,
        .activity = column->activity,
        .lowest = w->named ? (double)w->before : column->member.lowest,
    };
    if (f->state == ATTRIBUTION_NAMED && !w->named)
        f->probability = NAN; /* it is named by its pattern, of which there is none */
    if (f->state == ATTRIBUTION_IN_GROUP)
        join_group(node, i, slot);
    node->findings.effect += f->effect - regression.effect;
}

/* What the ledger may take for explained. */
static void tell(struct attribution_node *node)
{
    const struct attribution_domain *d = &node->domain;
    ledger_tell_nobody(&node->ledger);
    for (size_t i = 0; i < node->n_columns; i++) {
        const struct attribution_column *column = &node->columns[i];
        const struct attribution_slot *slot = attribution_candidate(d, &column->member);
        const struct ledger_workload *w = &node->ledger.at[LEDGER_FIRST + i];
        if (column->finding.state != ATTRIBUTION_NAMED &&
            (column->finding.effect <= 0 || column->doubted == GROUP_KINDS))
            continue;
        if (slot && !is_by_onset(node, slot, w))
            ledger_tell(&node->ledger, LEDGER_FIRST + i, d->beta[column->member.slot],
                        column->member.lowest);
        else
            ledger_tell(&node->ledger, LEDGER_FIRST + i, (double)w->slope_now, (double)w->before);
    }
}

static void share_out(struct attribution_node *node)
{
    struct attribution_findings *all = &node->findings;
    for (size_t i = 0; i < node->n_columns; i++) {
        struct attribution_finding *f = &node->columns[i].finding;
        f->caused_ns = f->effect * all->per_effect;
        f->sd_ns = gate_sd_ns(f->se, all->per_effect, f->caused_ns);
        all->suspected |= f->state == ATTRIBUTION_SUSPECTED;
        if (f->state != ATTRIBUTION_NAMED)
            continue;
        all->named = true;
        all->named_ns += f->caused_ns;
        all->standing += f->effect;
    }
}

/* Of the ledger's groups the effects are not in the sum: none of its members has it. */
static void take_groups(struct attribution_node *node)
{
    const struct attribution_domain *d = &node->domain;
    const struct ledger *ledger = &node->ledger;
    struct attribution_findings *all = &node->findings;
    for (unsigned i = 0; i < d->n_groups; i++) {
        const struct attribution_group *g = &d->groups[i];
        double se = g->score > 0 ? g->effect / g->score : 0;
        all->groups[all->n_groups++] = (struct attribution_found_group){
            .members = g->members, .score = g->score, .effect = g->effect, .se = se};
    }
    for (unsigned i = 0; i < ledger_groups(ledger); i++) {
        const struct ledger_group *g = &ledger->group[i];
        all->groups[all->n_groups++] =
            (struct attribution_found_group){.kind = GROUP_ONE_OF,
                                             .members = g->n,
                                             .effect = (double)g->effect_now,
                                             .se = (double)g->se};
    }
}

static void share_out_groups(struct attribution_findings *all)
{
    for (unsigned i = 0; i < all->n_groups; i++) {
        struct attribution_found_group *g = &all->groups[i];
        g->caused_ns = g->effect * all->per_effect;
        g->sd_ns = gate_sd_ns(g->se, all->per_effect, g->caused_ns);
        all->group_ns += g->caused_ns;
        all->standing += g->effect;
    }
}

void findings_make(struct attribution_node *node)
{
    struct attribution_findings *all = &node->findings;
    const struct attribution_domain *d = &node->domain;
    *all = (struct attribution_findings){.effect = d->effect};
    for (size_t i = 0; i < node->n_columns; i++)
        judge(node, i);
    take_groups(node);
    doubts_raise(node);
    all->effect = fmax(0, all->effect);
    all->per_effect = attribution_per_effect(d->latency_ns, all->effect);
    all->rest_ns = d->beta[ATTRIBUTION_REST] * d->above[ATTRIBUTION_REST] * all->per_effect;
    share_out(node);
    share_out_groups(all);
    tell(node);
}

enum gate_domain_state findings_state(const struct attribution_node *node)
{
    const struct attribution_findings *all = &node->findings;
    if (node->domain.readings <= node->domain.config.learning)
        return GATE_LEARNING;
    if (all->named)
        return GATE_NAMED;
    if (all->n_groups > 0)
        return GATE_GROUP;
    if (node->domain.latency_ns - node->calm_ns < least_effect * node->domain.latency_ns)
        return GATE_CALM;
    return all->suspected ? GATE_SUSPECTED : GATE_UNKNOWN;
}
