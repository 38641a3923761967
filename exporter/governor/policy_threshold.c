/*
 * Best-effort containers get CPU as long as no protected container's memory latency is above its
 * theta (formulas/control_threshold.h, once for each best-effort container).
 *
 * Theta is the exporter's baseline times a factor. Any protected container over its theta counts;
 * cut are the culprits among best effort (culprits.h). What the signal cannot see: stores, the TLB,
 * full queues of the caches.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/culprits.h"

/* Windows without a latency in which a protected container may still be waiting. */
enum { SILENT_WINDOWS = 3 };

/* What is remembered of a container while it is in view. */
struct app {
    char path[CLAIM_PATH_MAX];
    bool seen;
    double theta;    /* of protected ones; 0: none is known */
    unsigned silent; /* windows without a latency */
    bool started;    /* of best effort, as what follows */
    struct control_threshold control;
    enum chosen_by chosen_by; /* when it was cut last */
};

/* What all protected containers say together. */
struct signal {
    enum control_window window;
    bool any; /* one has a theta */
    char cause[CLAIM_NAME_MAX];
    double measured, limit, worst; /* of the one that is furthest over its theta */
};

struct threshold_policy {
    const struct config *config;
    struct app *apps; /* CLAIMS_MAX */
    size_t n;
    struct signal signal; /* of this tick; wishes point into it until they are committed */
    struct culprits *culprits;
    uint64_t futile, chosen[CHOSEN_BYS];
};

static bool enabled(const struct config *config)
{
    return config->threshold.enabled;
}

static void release(void *self)
{
    struct threshold_policy *policy = self;
    culprits_free(policy->culprits);
    free(policy->apps);
    free(policy);
}

static int init(const struct config *config, void **self)
{
    struct threshold_policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return -ENOMEM;
    policy->config = config;
    policy->apps = calloc(CLAIMS_MAX, sizeof *policy->apps);
    int err =
        policy->apps ? culprits_new(config->threshold.culprit_share, &policy->culprits) : -ENOMEM;
    if (err)
        release(policy);
    else
        *self = policy;
    return err;
}

/* NULL: there are too many. */
static struct app *find(struct threshold_policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->n; i++)
        if (strcmp(policy->apps[i].path, path) == 0)
            return &policy->apps[i];
    if (policy->n == CLAIMS_MAX || strlen(path) >= CLAIM_PATH_MAX)
        return NULL;
    struct app *app = &policy->apps[policy->n++];
    *app = (struct app){.seen = false};
    strcpy(app->path, path);
    return app;
}

/* ---- protected containers ---- */

static enum control_window window_of(const struct threshold_policy *policy, struct app *app,
                                     const struct view_container *container)
{
    if (!isnan(container->baseline_seconds))
        app->theta = container->baseline_seconds * policy->config->threshold.factor;
    enum control_window window = control_threshold_window(container->latency_seconds, app->theta);
    if (window != CONTROL_SILENT) {
        app->silent = 0;
        return window;
    }
    /* It has its windows, but reads too little: it does not wait for memory. */
    return app->theta > 0 && ++app->silent > SILENT_WINDOWS ? CONTROL_BELOW : CONTROL_SILENT;
}

static void hear(struct threshold_policy *policy, const struct view_container *container,
                 struct signal *signal)
{
    struct app *app = find(policy, container->path);
    if (!app)
        return;
    app->seen = true;
    enum control_window window = window_of(policy, app, container);
    signal->any |= app->theta > 0;
    if (window == CONTROL_OVER || (window == CONTROL_BELOW && signal->window == CONTROL_SILENT))
        signal->window = window;
    double ratio = container->latency_seconds / app->theta;
    if (isnan(ratio) || ratio <= signal->worst)
        return;
    signal->worst = ratio;
    signal->measured = container->latency_seconds;
    signal->limit = app->theta;
    snprintf(signal->cause, sizeof signal->cause, "%s/%s/%s", container->namespace_, container->pod,
             container->container);
}

/* ---- best effort ---- */

/* NULL: it is none of this policy's. */
static struct holding *holding_of(const struct governed *governed)
{
    struct holding *holding = governed->holdings[KNOB_CPU];
    return holding && holding->policy == POLICY_THRESHOLD ? holding : NULL;
}

static void decide_one(struct threshold_policy *policy, const struct policy_tick *tick,
                       struct app *app, size_t i)
{
    const struct signal *signal = &policy->signal;
    const struct governed *governed = &tick->governed[i];
    const struct class *class = &policy->config->classes[governed->class];
    struct control_threshold_config control = policy->config->threshold.control;
    struct holding *holding = holding_of(governed);
    if (!holding->known)
        return;
    control.base_cores = fmax(class->base_cores, holding->claim.least);
    control.step_cores = class->step_cores;
    if (!app->started)
        control_threshold_init(&app->control, &control, holding->claim.most, tick->now);
    app->started = true;
    enum control_action action =
        control_threshold_step(&app->control, &control, holding->claim.most, tick->now,
                               signal->window, culprits_include(policy->culprits, i));
    if (action == CONTROL_CUT)
        app->chosen_by = culprits_chosen_by(policy->culprits);
    const struct because because = {.cause = signal->cause,
                                    .measured = signal->measured,
                                    .limit = signal->limit,
                                    .chosen_by = app->chosen_by};
    if (action == CONTROL_GIVE_UP) {
        policy->futile++;
        enforcer_let_go(tick->enforcer, holding, RELEASE_FUTILE, &because);
    } else {
        enforcer_want(holding, app->control.quota_cores, &because);
    }
}

/* ---- the whole ---- */

static void forget_unseen(struct threshold_policy *policy)
{
    for (size_t i = policy->n; i-- > 0;)
        if (!policy->apps[i].seen)
            policy->apps[i] = policy->apps[--policy->n];
}

static void decide(void *self, const struct policy_tick *tick)
{
    struct threshold_policy *policy = self;
    struct signal *signal = &policy->signal;
    *signal = (struct signal){.window = CONTROL_SILENT, .measured = NAN, .limit = NAN};
    for (size_t i = 0; i < policy->n; i++)
        policy->apps[i].seen = false;
    for (size_t i = 0; i < tick->n; i++)
        if (config_is_protected(policy->config, tick->governed[i].class))
            hear(policy, tick->governed[i].container, signal);
    culprits_window(policy->culprits, tick, KNOB_CPU, POLICY_THRESHOLD);
    if (signal->window == CONTROL_OVER)
        policy->chosen[culprits_chosen_by(policy->culprits)]++;
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        struct app *app = holding ? find(policy, tick->governed[i].container->path) : NULL;
        if (app)
            app->seen = true;
        if (holding && !signal->any)
            enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, NULL);
        else if (app)
            decide_one(policy, tick, app, i);
    }
    forget_unseen(policy);
}

static void count(const void *self, struct policy_counts *counts)
{
    const struct threshold_policy *policy = self;
    counts->futile += policy->futile;
    for (int by = 0; by < CHOSEN_BYS; by++)
        counts->chosen[by] += policy->chosen[by];
}

static bool active(const void *self)
{
    return ((const struct threshold_policy *)self)->signal.any;
}

const struct policy_ops threshold_policy = {
    .kind = POLICY_THRESHOLD,
    .enabled = enabled,
    .init = init,
    .decide = decide,
    .active = active,
    .count = count,
    .free = release,
};
