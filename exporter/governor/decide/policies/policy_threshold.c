/*
 * Best-effort containers get CPU as long as no protected container's memory latency is above its
 * theta (formulas/control_threshold.h, once for each best-effort container).
 *
 * It decides once a window, which is a second as in the paper: a tick, or as many of the exporter's
 * as last at least so long. Between its windows nothing is wished for, and what is held stays.
 *
 * Theta is the exporter's baseline times a factor, or what was learned while best effort was held
 * (calibration.h) times it. Any protected container over its theta counts; cut are the culprits
 * among best effort (culprits.h). What the signal cannot see: stores, the TLB, full queues of the
 * caches.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/policies/calibration.h"
#include "exporter/governor/decide/policies/culprits.h"
#include "exporter/governor/decide/policies/latencies.h"

/* Windows without a latency in which a protected container may still be waiting. */
enum { SILENT_WINDOWS = 3 };

/* What is remembered of a container while it is in view. */
struct app {
    char path[CLAIM_PATH_MAX];
    bool seen;
    uint64_t cgroup_id;         /* of protected ones, as what follows: a path may be reused */
    double theta;               /* 0: none is known */
    unsigned silent;            /* windows without a latency */
    struct latencies latencies; /* since the last window */
    bool started;               /* of best effort, as what follows */
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
    struct calibration *calibration;
    bool holding;   /* best effort, to calibrate */
    double decided; /* when the last window ended */
    uint64_t futile, chosen[CHOSEN_BYS];
};

static bool enabled(const struct config *config)
{
    return config->threshold.enabled;
}

static void release(void *self)
{
    struct threshold_policy *policy = self;
    calibration_free(policy->calibration);
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
    policy->decided = -INFINITY;
    policy->apps = calloc(CLAIMS_MAX, sizeof *policy->apps);
    int err =
        policy->apps ? culprits_new(config->threshold.culprit_share, &policy->culprits) : -ENOMEM;
    if (!err)
        err = calibration_new(&policy->calibration);
    if (err)
        release(policy);
    else
        *self = policy;
    return err;
}

/* Nothing of it is of the configuration, which each step is given: quotas stay as they are. */
static void inherit(void *self, void *before)
{
    struct threshold_policy *policy = self, *earlier = before;
    struct app *apps = policy->apps;
    calibration_inherit(policy->calibration, earlier->calibration);
    policy->holding = earlier->holding;
    policy->decided = earlier->decided;
    policy->apps = earlier->apps;
    policy->n = earlier->n;
    policy->signal = earlier->signal;
    earlier->apps = apps;
    earlier->n = 0;
    culprits_inherit(policy->culprits, earlier->culprits);
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
    *app = (struct app){.latencies = LATENCIES_INIT};
    strcpy(app->path, path);
    return app;
}

/* ---- windows ---- */

static void add_latencies(struct threshold_policy *policy, const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        if (!config_is_protected(policy->config, governed->class))
            continue;
        struct app *app = find(policy, governed->container->path);
        if (app)
            latencies_add(&app->latencies, governed->container);
        else
            enforcer_leave_out(tick->enforcer);
    }
}

/* So many of the exporter's ticks, which come a little early or late. */
static double window_seconds(const struct threshold_policy *policy, double interval)
{
    return fmax(1, ceil(policy->config->threshold.window_seconds / interval - 1e-6)) * interval;
}

static bool window_ends(const struct threshold_policy *policy, const struct policy_tick *tick)
{
    double since = tick->now - policy->decided;
    return since < 0 || since >= window_seconds(policy, tick->interval) - tick->interval / 2;
}

/* ---- protected containers ---- */

static double normal_of(const struct threshold_policy *policy, const struct policy_tick *tick,
                        const struct view_container *container, int class)
{
    double learned = NAN;
    if (policy->config->threshold.calibrate == CALIBRATE_THROTTLE)
        learned = calibration_hear(policy->calibration, tick, container,
                                   policy->config->classes[class].cores);
    return isnan(learned) ? container->baseline_seconds : learned;
}

static enum control_window window_of(const struct threshold_policy *policy,
                                     const struct policy_tick *tick, struct app *app,
                                     const struct view_container *container, int class)
{
    double normal = normal_of(policy, tick, container, class);
    if (app->cgroup_id != container->cgroup_id)
        app->theta = 0;
    app->cgroup_id = container->cgroup_id;
    if (!isnan(normal))
        app->theta = normal * policy->config->threshold.factor;
    enum control_window window = control_threshold_window(container->latency_seconds, app->theta);
    if (window != CONTROL_SILENT) {
        app->silent = 0;
        return window;
    }
    /* It has its windows, but reads too little: it does not wait for memory. */
    return app->theta > 0 && ++app->silent > SILENT_WINDOWS ? CONTROL_BELOW : CONTROL_SILENT;
}

static void hear(struct threshold_policy *policy, const struct policy_tick *tick,
                 const struct governed *governed, struct signal *signal)
{
    struct view_container joined = *governed->container, *container = &joined;
    struct app *app = find(policy, container->path);
    if (!app)
        return;
    app->seen = true;
    container->latency_seconds = latencies_end(&app->latencies);
    enum control_window window = window_of(policy, tick, app, container, governed->class);
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

/* At its base whatever the signal is. */
static void hold_one(const struct threshold_policy *policy, const struct policy_tick *tick,
                     struct app *app, struct holding *holding,
                     const struct control_threshold_config *control)
{
    const struct policy_calibration *reason = calibration_reason(policy->calibration);
    const struct because because = {.cause = reason ? reason->container : "",
                                    .measured = NAN,
                                    .limit = NAN,
                                    .why = "calibrate"};
    control_threshold_hold(&app->control, control, holding->claim.most, tick->now);
    enforcer_want(holding, app->control.quota_cores, &because);
}

static void step_one(struct threshold_policy *policy, const struct policy_tick *tick,
                     struct app *app, size_t i, const struct control_threshold_config *control)
{
    const struct signal *signal = &policy->signal;
    struct holding *holding = holding_of(&tick->governed[i]);
    bool culprit = culprits_include(policy->culprits, i);
    if (holding->crowded_out)
        app->control.quota_cores = holding->claim.most;
    enum control_action action = control_threshold_step(&app->control, control, holding->claim.most,
                                                        tick->now, signal->window, culprit);
    if (action == CONTROL_CUT)
        app->chosen_by = culprits_chosen_by(policy->culprits);
    const struct because because = {.cause = signal->cause,
                                    .measured = signal->measured,
                                    .limit = signal->limit,
                                    .chosen_by = app->chosen_by,
                                    .culprit = signal->window == CONTROL_OVER && culprit};
    if (action == CONTROL_GIVE_UP) {
        policy->futile++;
        enforcer_let_go(tick->enforcer, holding, RELEASE_FUTILE, &because);
    } else {
        enforcer_want(holding, app->control.quota_cores, &because);
    }
}

static void decide_one(struct threshold_policy *policy, const struct policy_tick *tick,
                       struct app *app, size_t i)
{
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
    if (policy->holding)
        hold_one(policy, tick, app, holding, &control);
    else
        step_one(policy, tick, app, i, &control);
}

/* ---- calibration ---- */

/* Whether all of best effort has its least. Who has nothing to take has it always; of who cannot be
 * read nobody knows. */
static bool is_quiet(const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        const struct holding *holding = holding_of(&tick->governed[i]);
        if (!holding)
            continue;
        if (holding->known ? holding->claim.value > holding->claim.least || holding->unsure
                           : holding->memory.retry.wait_ns > 0)
            return false;
    }
    return true;
}

/* Who was given up for it did not help stays free. */
static bool may_hold(const struct threshold_policy *policy, double now)
{
    for (size_t i = 0; i < policy->n; i++)
        if (policy->apps[i].started && now < policy->apps[i].control.gave_up_until)
            return false;
    return true;
}

static void begin_calibration(struct threshold_policy *policy, const struct policy_tick *tick)
{
    /* What is held stays so long without a tick (liveness.h). */
    double longest = fmax((double)policy->config->dead_ns * 1e-9, 3.5 * tick->interval);
    if (policy->config->threshold.calibrate == CALIBRATE_THROTTLE)
        calibration_begin(policy->calibration, tick, is_quiet(tick), longest);
}

static bool end_calibration(struct threshold_policy *policy, const struct policy_tick *tick)
{
    return policy->config->threshold.calibrate == CALIBRATE_THROTTLE &&
           calibration_decide(policy->calibration, tick, may_hold(policy, tick->now));
}

/* ---- the whole ---- */

static void forget_unseen(struct threshold_policy *policy)
{
    for (size_t i = policy->n; i-- > 0;)
        if (!policy->apps[i].seen)
            policy->apps[i] = policy->apps[--policy->n];
}

static void decide_window(struct threshold_policy *policy, const struct policy_tick *tick)
{
    struct signal *signal = &policy->signal;
    *signal = (struct signal){.window = CONTROL_SILENT, .measured = NAN, .limit = NAN};
    for (size_t i = 0; i < policy->n; i++)
        policy->apps[i].seen = false;
    begin_calibration(policy, tick);
    for (size_t i = 0; i < tick->n; i++)
        if (config_is_protected(policy->config, tick->governed[i].class))
            hear(policy, tick, &tick->governed[i], signal);
    policy->holding = end_calibration(policy, tick);
    culprits_window(policy->culprits, tick, KNOB_CPU, POLICY_THRESHOLD);
    if (signal->window == CONTROL_OVER && !policy->holding)
        policy->chosen[culprits_chosen_by(policy->culprits)]++;
    for (size_t i = 0; i < tick->n; i++) {
        struct holding *holding = holding_of(&tick->governed[i]);
        struct app *app = holding ? find(policy, tick->governed[i].container->path) : NULL;
        if (app)
            app->seen = true;
        else if (holding)
            enforcer_leave_out(tick->enforcer);
        if (holding && !signal->any && !policy->holding)
            enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, NULL);
        else if (app)
            decide_one(policy, tick, app, i);
    }
    forget_unseen(policy);
}

static void decide(void *self, const struct policy_tick *tick)
{
    struct threshold_policy *policy = self;
    struct policy_tick window = *tick;
    add_latencies(policy, tick);
    if (!window_ends(policy, tick)) {
        calibration_rest(policy->calibration);
        return;
    }
    window.interval = window_seconds(policy, tick->interval);
    policy->decided = tick->now;
    decide_window(policy, &window);
}

static void count(const void *self, struct policy_counts *counts)
{
    const struct threshold_policy *policy = self;
    counts->futile += policy->futile;
    for (int by = 0; by < CHOSEN_BYS; by++)
        counts->chosen[by] += policy->chosen[by];
    calibration_count(policy->calibration, counts);
}

static size_t calibrations(const void *self, const struct policy_calibration **list)
{
    const struct threshold_policy *policy = self;
    return policy->config->threshold.calibrate == CALIBRATE_THROTTLE
               ? calibration_list(policy->calibration, list)
               : 0;
}

static bool active(const void *self)
{
    const struct threshold_policy *policy = self;
    return policy->signal.any || policy->holding;
}

const struct policy_ops threshold_policy = {
    .kind = POLICY_THRESHOLD,
    .enabled = enabled,
    .init = init,
    .inherit = inherit,
    .decide = decide,
    .active = active,
    .count = count,
    .calibrations = calibrations,
    .free = release,
};
