/*
 * Memory bandwidth by feedback (control/control_feedback.h), ten points at a time, or the
 * hardware's next coarser step.
 *
 * Mode bound: while a protected container is slower than its class's bound and loses most of that
 * in memory, the culprits among best effort (culprits.h) get less. Mode fair,
 * after ASM-Mem: of the policy's containers each moves to its share by slowdown, the slowest to
 * 100 %; one that has had no slowdown for a few steps goes back to 100 %.
 *
 * It is a delay between the L2 and the L3, no share of the memory: hits in the L3 wait as well.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/governor/decide/control/control_feedback.h"
#include "exporter/governor/decide/policies/culprits.h"
#include "exporter/governor/decide/policies/meter.h"

enum { STEP_POINTS = 10 };

struct mba_policy {
    const struct config *config;
    struct meter *meter;
    struct meter_worst worst; /* of the last step; wishes point into it */
    struct culprits *culprits;
    enum chosen_by chosen_by; /* in the last step */
    bool active, began;
    uint64_t bound_missed, chosen[CHOSEN_BYS];
    struct control_mba control; /* calm steps: all containers see the same ones */
    /* Mode fair, of this step; CLAIMS_MAX. */
    struct holding **peers;
    double *slowdowns;
    unsigned *shares;
    size_t n;
};

static void release(void *self)
{
    struct mba_policy *policy = self;
    meter_free(policy->meter);
    culprits_free(policy->culprits);
    free(policy->peers);
    free(policy->slowdowns);
    free(policy->shares);
    free(policy);
}

static int init(const struct config *config, void **self)
{
    struct mba_policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return -ENOMEM;
    policy->config = config;
    policy->peers = calloc(CLAIMS_MAX, sizeof(struct holding *));
    policy->slowdowns = calloc(CLAIMS_MAX, sizeof *policy->slowdowns);
    policy->shares = calloc(CLAIMS_MAX, sizeof *policy->shares);
    int err = policy->peers && policy->slowdowns && policy->shares ? 0 : -ENOMEM;
    if (!err)
        err = meter_new(config->mba.step_seconds, config->mba.model, &policy->meter);
    if (!err)
        err = culprits_new(config->mba.culprit_share, CULPRITS_SURE, &policy->culprits);
    if (err)
        release(policy);
    else
        *self = policy;
    return err;
}

static struct holding *holding_of(const struct governed *governed)
{
    struct holding *holding = governed->holdings[KNOB_MBA];
    return holding && holding->policy == POLICY_MBA && holding->known ? holding : NULL;
}

/* The hardware's own may be one point: with these it would take a quarter of an hour to act. */
static unsigned step_of(const struct holding *holding)
{
    unsigned fine = holding->claim.step >= 1 ? (unsigned)holding->claim.step : 1;
    return (STEP_POINTS + fine - 1) / fine * fine;
}

static unsigned percent_of(const struct holding *holding)
{
    return (unsigned)fmin(isnan(holding->aim) ? INFINITY : holding->aim, holding->claim.most);
}

/* ---- a bound ---- */

static void step_bound(struct mba_policy *policy, const struct policy_tick *tick)
{
    const struct meter_worst *worst = &policy->worst;
    bool over = worst->ratio > 1, less = false;
    double memory_part = worst->loss.memory_part;
    struct control_mba after = policy->control;
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        struct control_mba state = policy->control;
        if (!holding)
            continue;
        unsigned percent = percent_of(holding);
        holding->aim =
            control_mba_feedback(&state, percent, step_of(holding), (unsigned)holding->claim.least,
                                 over, memory_part, culprits_include(policy->culprits, i));
        less |= holding->aim < percent;
        after = state;
    }
    policy->control = after;
    policy->chosen_by = culprits_chosen_by(policy->culprits);
    policy->chosen[policy->chosen_by] += over && memory_part >= 0.5;
    policy->bound_missed += over && memory_part >= 0.5 && !less;
}

static void decide_bound(struct mba_policy *policy, const struct policy_tick *tick)
{
    meter_protected(policy->meter, policy->config, tick, &policy->worst);
    policy->active = policy->worst.any;
    if (policy->active && !isnan(policy->worst.ratio))
        step_bound(policy, tick);
}

/* ---- fair shares ---- */

static void find_peers(struct mba_policy *policy, const struct policy_tick *tick)
{
    policy->n = 0;
    policy->worst = (struct meter_worst){.slowdown = NAN, .bound = NAN};
    for (size_t i = 0; i < tick->n && policy->n < CLAIMS_MAX; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        const struct meter_reading *reading =
            holding ? meter_find(policy->meter, tick->governed[i].container->path) : NULL;
        if (!reading || !reading->known)
            continue;
        policy->peers[policy->n] = holding;
        policy->slowdowns[policy->n++] = reading->loss.slowdown;
        if (reading->loss.slowdown <= policy->worst.slowdown)
            continue;
        policy->worst.slowdown = reading->loss.slowdown;
        snprintf(policy->worst.cause, sizeof policy->worst.cause, "%s", holding->claim.container);
    }
}

/* Who does not wait for memory any more is no peer, and gets back what was taken. */
static void raise_idle(struct mba_policy *policy, const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        const struct meter_reading *reading =
            holding ? meter_find(policy->meter, tick->governed[i].container->path) : NULL;
        if (reading && !reading->waits)
            holding->aim = control_mba_step(percent_of(holding), 100, step_of(holding));
    }
}

static void decide_fair(struct mba_policy *policy, const struct policy_tick *tick)
{
    find_peers(policy, tick);
    policy->active = policy->n > 1;
    if (!policy->active)
        return;
    raise_idle(policy, tick);
    unsigned step = step_of(policy->peers[0]); /* the machine's: all have the same */
    control_mba_map(policy->slowdowns, policy->n, step, step, policy->shares);
    for (size_t i = 0; i < policy->n; i++) {
        struct holding *peer = policy->peers[i];
        unsigned least = (unsigned)peer->claim.least, share = policy->shares[i];
        peer->aim = control_mba_step(percent_of(peer), share < least ? least : share, step);
    }
}

/* ---- the whole ---- */

/* What it was to have was never written. */
static void start_anew_who_has_no_claim(const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        if (holding && holding->crowded_out)
            holding->aim = NAN;
    }
}

static void decide(void *self, const struct policy_tick *tick)
{
    struct mba_policy *policy = self;
    bool stepped = meter_tick(policy->meter, tick);
    bool cut = false;
    if (stepped || !policy->began)
        culprits_window(policy->culprits, tick, KNOB_MBA, POLICY_MBA);
    policy->began = true;
    start_anew_who_has_no_claim(tick);
    if (stepped) {
        if (policy->config->mba.mode == MBA_FAIR)
            decide_fair(policy, tick);
        else
            decide_bound(policy, tick);
        cut = policy->config->mba.mode != MBA_FAIR && policy->worst.ratio > 1;
    }
    struct because because = {.cause = policy->worst.cause,
                              .measured = policy->worst.slowdown,
                              .limit = policy->worst.bound,
                              .chosen_by = policy->chosen_by};
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        if (!holding)
            continue;
        if (!policy->active) {
            holding->aim = NAN;
            enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, NULL);
        } else if (!isnan(holding->aim)) {
            because.culprit = cut && culprits_include(policy->culprits, i);
            enforcer_want(holding, holding->aim, &because);
        }
    }
}

static void report(const void *self, struct policy_report *out)
{
    const struct mba_policy *policy = self;
    out->active[POLICY_MBA] = policy->active;
    out->counts.bound_missed += policy->bound_missed;
    for (int by = 0; by < CHOSEN_BYS; by++)
        out->counts.chosen[by] += policy->chosen[by];
}

const struct policy_ops mba_policy = {
    .init = init,
    .decide = decide,
    .report = report,
    .free = release,
};
