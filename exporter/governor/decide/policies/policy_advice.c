/*
 * Advice to who places pods: whether this node should get more work, and which best-effort
 * container it should lose (control/control_billing.h, control_admission). Nobody is touched.
 *
 * A step is a minute. Admission goes by the greatest slowdown of a protected container over five
 * minutes; the candidate is the best-effort container with the most memory reads in the last one,
 * of those that may be restricted: nobody moves kube-system.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/control/control_billing.h"
#include "exporter/governor/decide/policies/meter.h"

enum { MINUTES = 5, MINUTE_SECONDS = 60 };

/* A protected container's last minutes, in a ring; 0 where nothing was observed. */
struct past {
    char path[CLAIM_PATH_MAX];
    bool seen;
    double observed[MINUTES], lost[MINUTES]; /* cycles */
};

struct advice_policy {
    const struct config *config;
    struct meter *meter;
    struct past *pasts; /* CLAIMS_MAX */
    size_t n;
    unsigned minute;
    struct control_admission_config control;
    struct control_admission admission;
    struct advice advice;
};

static void release(void *self)
{
    struct advice_policy *policy = self;
    meter_free(policy->meter);
    free(policy->pasts);
    free(policy);
}

static int init(const struct config *config, void **self)
{
    struct advice_policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return -ENOMEM;
    policy->config = config;
    control_admission_defaults(&policy->control);
    policy->control.hold_slowdown = config->advice.hold_slowdown;
    policy->control.ok_slowdown = config->advice.ok_slowdown;
    policy->advice.slowdown = policy->advice.reads_share = NAN;
    policy->pasts = calloc(CLAIMS_MAX, sizeof *policy->pasts);
    int err =
        policy->pasts ? meter_new(MINUTE_SECONDS, config->advice.model, &policy->meter) : -ENOMEM;
    if (err)
        release(policy);
    else
        *self = policy;
    return err;
}

/* ---- protected containers ---- */

/* NULL: there are too many. */
static struct past *past_of(struct advice_policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->n; i++)
        if (strcmp(policy->pasts[i].path, path) == 0)
            return &policy->pasts[i];
    if (policy->n == CLAIMS_MAX || strlen(path) >= CLAIM_PATH_MAX)
        return NULL;
    struct past *past = &policy->pasts[policy->n++];
    *past = (struct past){.seen = false};
    strcpy(past->path, path);
    return past;
}

/* Over the minutes that are known; NaN: none is. */
static double slowdown_of(const struct past *past)
{
    double observed = 0, lost = 0;
    for (size_t i = 0; i < MINUTES; i++) {
        observed += past->observed[i];
        lost += past->lost[i];
    }
    return lost < observed ? observed / (observed - lost) : NAN;
}

static void hear(struct advice_policy *policy, const struct view_container *container)
{
    const struct meter_reading *reading = meter_find(policy->meter, container->path);
    struct past *past = past_of(policy, container->path);
    unsigned at = policy->minute % MINUTES;
    if (!past)
        return;
    bool known = reading && reading->known;
    past->seen = true;
    past->observed[at] = known ? reading->observed : 0;
    past->lost[at] = known ? reading->observed * (1 - 1 / reading->loss.slowdown) : 0;
    double slowdown = slowdown_of(past);
    if (isnan(slowdown) || slowdown <= policy->advice.slowdown)
        return;
    policy->advice.slowdown = slowdown;
    view_name(container, policy->advice.cause);
}

/* ---- best effort ---- */

static void find_candidate(struct advice_policy *policy, const struct policy_tick *tick)
{
    double most = 0, all = 0;
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        const struct meter_reading *reading =
            governed->class == CLASS_NONE ? NULL
                                          : meter_find(policy->meter, governed->container->path);
        if (!reading || !(reading->reads > 0))
            continue;
        all += reading->reads;
        if (config_is_protected(policy->config, governed->class) || governed->exempt ||
            reading->reads <= most)
            continue;
        most = reading->reads;
        view_name(governed->container, policy->advice.candidate);
    }
    policy->advice.reads_share = most > 0 ? most / all : NAN;
}

/* ---- the whole ---- */

static void decide(void *self, const struct policy_tick *tick)
{
    struct advice_policy *policy = self;
    if (!meter_tick(policy->meter, tick))
        return;
    policy->minute++;
    policy->advice = (struct advice){.slowdown = NAN, .reads_share = NAN};
    for (size_t i = 0; i < policy->n; i++)
        policy->pasts[i].seen = false;
    for (size_t i = 0; i < tick->n; i++)
        if (config_is_protected(policy->config, tick->governed[i].class))
            hear(policy, tick->governed[i].container);
    for (size_t i = policy->n; i-- > 0;)
        if (!policy->pasts[i].seen)
            policy->pasts[i] = policy->pasts[--policy->n];
    find_candidate(policy, tick);
    /* Nobody had an estimate for five minutes: none is there, or all are idle. Nobody waits. */
    double slowdown = isnan(policy->advice.slowdown) ? 1 : policy->advice.slowdown;
    policy->advice.hold = control_admission_step(&policy->admission, &policy->control, slowdown);
}

static void report(const void *self, struct policy_report *out)
{
    const struct advice_policy *policy = self;
    out->active[POLICY_ADVICE] = !isnan(policy->advice.slowdown);
    out->advice = &policy->advice;
}

const struct policy_ops advice_policy = {
    .init = init,
    .decide = decide,
    .report = report,
    .free = release,
};
