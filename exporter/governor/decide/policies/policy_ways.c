/*
 * Ways of the last-level cache by feedback (control/control_feedback.h), one way a step.
 *
 * After ASM-QoS: best effort is kept to the lower ways, as many for all containers of a class, so
 * that protected ones, which may use all, have the others alone. While one of them is slower than
 * its class's bound and loses that in the cache, the class that has most gives one.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/control/control_feedback.h"
#include "exporter/governor/decide/policies/meter.h"

struct ways_policy {
    const struct config *config;
    struct meter *meter;
    struct meter_worst worst; /* of the last step; wishes point into it */
    bool active;
    uint64_t bound_missed;
    struct control_qos qos;
    unsigned taken[CONFIG_CLASSES_MAX]; /* ways, from each container of the class */
};

static int init(const struct config *config, void **self)
{
    struct ways_policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return -ENOMEM;
    policy->config = config;
    int err = meter_new(config->ways.step_seconds, config->ways.model, &policy->meter);
    if (err)
        free(policy);
    else
        *self = policy;
    return err;
}

static void release(void *self)
{
    struct ways_policy *policy = self;
    meter_free(policy->meter);
    free(policy);
}

/* NULL: it is none of this policy's, or nothing can be taken from it. */
static struct holding *holding_of(const struct governed *governed)
{
    struct holding *holding = governed->holdings[KNOB_WAYS];
    return holding && holding->policy == POLICY_WAYS && holding->known ? holding : NULL;
}

/* What a class has: that of its container with most; 0: it has none. */
static void class_ways(const struct ways_policy *policy, const struct policy_tick *tick,
                       unsigned ways[CONFIG_CLASSES_MAX], unsigned floors[CONFIG_CLASSES_MAX])
{
    memset(ways, 0, CONFIG_CLASSES_MAX * sizeof *ways);
    memset(floors, 0, CONFIG_CLASSES_MAX * sizeof *floors);
    for (size_t i = 0; i < tick->n; i++) {
        const struct holding *holding = holding_of(&tick->governed[i]);
        int class = tick->governed[i].class;
        if (!holding)
            continue;
        unsigned most = (unsigned)holding->claim.most, least = (unsigned)holding->claim.least;
        unsigned left = most > policy->taken[class] ? most - policy->taken[class] : 0;
        ways[class] = left > ways[class] ? left : ways[class];
        floors[class] = least > floors[class] ? least : floors[class];
    }
}

static void take_or_give(struct ways_policy *policy, const struct policy_tick *tick)
{
    unsigned ways[CONFIG_CLASSES_MAX], floors[CONFIG_CLASSES_MAX];
    const struct meter_worst *worst = &policy->worst;
    enum control_move move =
        control_qos_step(&policy->qos, 1, worst->ratio, worst->loss.cache_part);
    class_ways(policy, tick, ways, floors);
    if (move == CONTROL_MOVE_TAKE) {
        size_t donor = control_donor(ways, floors, CONFIG_CLASSES_MAX);
        if (donor < CONFIG_CLASSES_MAX)
            policy->taken[donor]++;
        else
            policy->bound_missed++;
    } else if (move == CONTROL_MOVE_GIVE) {
        size_t most = 0;
        for (size_t i = 1; i < CONFIG_CLASSES_MAX; i++)
            most = policy->taken[i] > policy->taken[most] ? i : most;
        policy->taken[most] -= policy->taken[most] > 0;
    }
}

static void decide(void *self, const struct policy_tick *tick)
{
    struct ways_policy *policy = self;
    if (meter_tick(policy->meter, tick)) {
        meter_protected(policy->meter, policy->config, tick, &policy->worst);
        policy->active = policy->worst.any;
        if (policy->active)
            take_or_give(policy, tick);
        else
            memset(policy->taken, 0, sizeof policy->taken);
    }
    const struct because because = {.cause = policy->worst.cause,
                                    .measured = policy->worst.slowdown,
                                    .limit = policy->worst.bound};
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        if (holding && policy->active)
            enforcer_want(holding, holding->claim.most - policy->taken[tick->governed[i].class],
                          &because);
        else if (holding)
            enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, NULL);
    }
}

static void report(const void *self, struct policy_report *out)
{
    const struct ways_policy *policy = self;
    out->active[POLICY_WAYS] = policy->active;
    out->counts.bound_missed += policy->bound_missed;
}

const struct policy_ops ways_policy = {
    .init = init,
    .decide = decide,
    .report = report,
    .free = release,
};
