/*
 * Ways of the last-level cache by feedback (formulas/control_feedback.h), one way a step.
 *
 * Mode bound, after ASM-QoS: best effort is kept to the lower ways, as many for all containers of a
 * class, so that protected ones, which may use all, have the others alone. While one of them is
 * slower than its class's bound and loses that in the cache, the class that has most gives one.
 *
 * Mode fair, after ASM-Cache: the containers of the policy's classes have ways of their own, at
 * first equally many; who is slowed most gets one from who is slowed least, and if that does not
 * help it goes back.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/control_feedback.h"
#include "exporter/governor/decide/policies/meter.h"

enum { OBSTACLE_MAX = 128 };

/* One that has ways of its own. */
struct peer {
    struct holding *holding;
    const struct view_container *container;
};

struct ways_policy {
    const struct config *config;
    struct meter *meter;
    struct meter_worst worst; /* of the last step; wishes point into it */
    bool active;
    uint64_t bound_missed;
    /* Mode bound. */
    struct control_qos qos;
    unsigned taken[CONFIG_CLASSES_MAX]; /* ways, from each container of the class */
    /* Mode fair, of this tick, in the order of the cgroups' inodes. */
    struct control_fair fair;
    struct peer peers[CONTROL_WAYS];
    struct control_peer asked[CONTROL_WAYS];
    size_t n;
    char obstacle[OBSTACLE_MAX]; /* to ways of their own; "": none */
};

static bool enabled(const struct config *config)
{
    return config->ways.enabled;
}

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

static void let_all_go(const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        if (!holding)
            continue;
        holding->aim = NAN;
        enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, NULL);
    }
}

static void want(const struct ways_policy *policy, struct holding *holding, double ways,
                 unsigned at)
{
    const struct because because = {.cause = policy->worst.cause,
                                    .measured = policy->worst.slowdown,
                                    .limit = policy->worst.bound};
    enforcer_want_at(holding, ways, at, &because);
}

/* ---- a bound ---- */

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

static void decide_bound(struct ways_policy *policy, const struct policy_tick *tick, bool stepped)
{
    if (stepped) {
        meter_protected(policy->meter, policy->config, tick, &policy->worst);
        policy->active = policy->worst.any;
        if (policy->active)
            take_or_give(policy, tick);
        else
            memset(policy->taken, 0, sizeof policy->taken);
    }
    if (!policy->active) {
        let_all_go(tick);
        return;
    }
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        if (holding)
            want(policy, holding, holding->claim.most - policy->taken[tick->governed[i].class], 0);
    }
}

/* ---- fair shares ---- */

static int compare_peers(const void *a, const void *b)
{
    const struct claim *x = &((const struct peer *)a)->holding->claim;
    const struct claim *y = &((const struct peer *)b)->holding->claim;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

static void say_too_many(struct ways_policy *policy, size_t n, double needed, double ways)
{
    policy->obstacle[0] = '\0';
    if (n > CONTROL_WAYS || needed > ways)
        snprintf(policy->obstacle, sizeof policy->obstacle,
                 "%zu containers are to have ways of their own, %g at the least, and there are %g",
                 n, needed, ways);
}

/* False: there is nobody to share with, or there are more than can have ways of their own. */
static bool find_peers(struct ways_policy *policy, const struct policy_tick *tick)
{
    double ways = INFINITY, needed = 0;
    size_t n = 0;
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        if (!holding)
            continue;
        if (n < CONTROL_WAYS)
            policy->peers[n] = (struct peer){holding, tick->governed[i].container};
        n++;
        needed += holding->claim.least;
        ways = fmin(ways, holding->claim.most);
    }
    policy->n = n < CONTROL_WAYS ? n : CONTROL_WAYS;
    qsort(policy->peers, policy->n, sizeof *policy->peers, compare_peers);
    say_too_many(policy, n, needed, ways);
    return n > 1 && !policy->obstacle[0];
}

/* Equally many, and what is left to the first; no less than anybody's least. */
static void share_equally(struct ways_policy *policy)
{
    unsigned left = (unsigned)policy->peers[0].holding->claim.most;
    for (size_t i = 0; i < policy->n; i++) {
        struct holding *holding = policy->peers[i].holding;
        holding->aim = holding->claim.least;
        left -= (unsigned)holding->claim.least;
    }
    while (left > 0) {
        struct holding *fewest = policy->peers[0].holding;
        for (size_t i = 1; i < policy->n; i++)
            if (policy->peers[i].holding->aim < fewest->aim)
                fewest = policy->peers[i].holding;
        fewest->aim++;
        left--;
    }
}

/* Somebody has come or gone: their ways are not all of them, once each. */
static bool is_shared(const struct ways_policy *policy)
{
    double sum = 0;
    for (size_t i = 0; i < policy->n; i++)
        sum += policy->peers[i].holding->aim; /* NaN: it has come */
    return sum == policy->peers[0].holding->claim.most;
}

/* The peers as the formula takes them, and who is slowed most for the log. */
static void ask_peers(struct ways_policy *policy)
{
    policy->worst = (struct meter_worst){.slowdown = NAN, .bound = NAN};
    for (size_t i = 0; i < policy->n; i++) {
        const struct peer *peer = &policy->peers[i];
        const struct meter_reading *reading = meter_find(policy->meter, peer->container->path);
        bool known = reading && reading->known;
        policy->asked[i] =
            (struct control_peer){.id = peer->holding->claim.ino,
                                  .slowdown = known ? reading->loss.slowdown : NAN,
                                  .cache_part = known ? reading->loss.cache_part : NAN,
                                  .ways = (unsigned)peer->holding->aim,
                                  .floor = (unsigned)peer->holding->claim.least};
        if (!known || policy->asked[i].slowdown <= policy->worst.slowdown)
            continue;
        policy->worst.any = true;
        policy->worst.slowdown = policy->asked[i].slowdown;
        snprintf(policy->worst.cause, sizeof policy->worst.cause, "%s",
                 peer->holding->claim.container);
    }
}

static void decide_fair(struct ways_policy *policy, const struct policy_tick *tick, bool stepped)
{
    size_t from, to;
    unsigned at = 0;
    if (!find_peers(policy, tick)) {
        policy->active = false;
        let_all_go(tick);
        return;
    }
    policy->active = true;
    if (!is_shared(policy)) {
        policy->fair = (struct control_fair){.trying = false};
        share_equally(policy);
    }
    if (stepped) {
        ask_peers(policy);
        if (control_fair_step(&policy->fair, policy->asked, policy->n, tick->now, &from, &to)) {
            policy->peers[from].holding->aim--;
            policy->peers[to].holding->aim++;
        }
    }
    for (size_t i = 0; i < policy->n; i++) {
        struct holding *holding = policy->peers[i].holding;
        want(policy, holding, holding->aim, at);
        at += (unsigned)holding->aim;
    }
}

/* ---- the whole ---- */

static void decide(void *self, const struct policy_tick *tick)
{
    struct ways_policy *policy = self;
    bool stepped = meter_tick(policy->meter, tick);
    if (policy->config->ways.mode == WAYS_FAIR)
        decide_fair(policy, tick, stepped);
    else
        decide_bound(policy, tick, stepped);
}

static bool active(const void *self)
{
    return ((const struct ways_policy *)self)->active;
}

static const char *obstacle(const void *self)
{
    return ((const struct ways_policy *)self)->obstacle;
}

static void count(const void *self, struct policy_counts *counts)
{
    counts->bound_missed += ((const struct ways_policy *)self)->bound_missed;
}

const struct policy_ops ways_policy = {
    .kind = POLICY_WAYS,
    .enabled = enabled,
    .init = init,
    .decide = decide,
    .active = active,
    .obstacle = obstacle,
    .count = count,
    .free = release,
};
