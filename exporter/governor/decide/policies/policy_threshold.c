/*
 * Best-effort containers get CPU as long as no protected container's memory latency is above its
 * theta (threshold.h), each by itself.
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

#include "exporter/base/hash.h"
#include "exporter/governor/decide/policies/threshold.h"

/* Windows without a latency in which a protected container may still be waiting. */
enum { SILENT_WINDOWS = 3 };

static void release(void *self)
{
    struct threshold_policy *policy = self;
    calibration_free(policy->calibration);
    culprits_free(policy->culprits);
    benefit_free(policy->benefit);
    free(policy->apps);
    free(policy->causes);
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
    policy->causes = calloc(VIEW_CONTAINERS_MAX, sizeof *policy->causes);
    int err = policy->apps && policy->causes
                  ? culprits_new(config->threshold.culprit_share, config->threshold.sure,
                                 &policy->culprits)
                  : -ENOMEM;
    if (!err)
        err = benefit_new(&policy->benefit);
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
    struct threshold_app *apps = policy->apps;
    calibration_inherit(policy->calibration, earlier->calibration);
    policy->holding = earlier->holding;
    policy->decided = earlier->decided;
    policy->apps = earlier->apps;
    policy->n = earlier->n;
    policy->any = earlier->any;
    earlier->apps = apps;
    earlier->n = 0;
    culprits_inherit(policy->culprits, earlier->culprits);
    benefit_inherit(policy->benefit, earlier->benefit);
}

/* ---- windows ---- */

/* A tick. */
static void latencies_add(struct latencies *latencies, const struct view_container *container)
{
    double grown = view_grown(latencies->counted, container->memory_reads);
    latencies->counted = container->memory_reads;
    if (isnan(container->latency_seconds))
        return;
    latencies->last = container->latency_seconds;
    latencies->n++;
    if (!(grown > 0))
        return;
    latencies->reads += grown;
    latencies->reads_latency += grown * container->latency_seconds;
}

/* Of the ticks since the last end, seconds; NaN: none. Of one tick it is that one's. */
static double latencies_end(struct latencies *latencies)
{
    bool joined = latencies->n > 1 && latencies->reads > 0;
    double latency = joined ? latencies->reads_latency / latencies->reads : latencies->last;
    *latencies = (struct latencies){.counted = latencies->counted, .last = NAN};
    return latency;
}

static void add_latencies(struct threshold_policy *policy, const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        if (!config_is_protected(policy->config, governed->class))
            continue;
        struct threshold_app *app = threshold_find(policy, governed->container->path);
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
                                     const struct policy_tick *tick, struct threshold_app *app,
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

/* The slowest by their theta, the slowest first. */
static void add_victim(struct threshold_policy *policy, const struct view_container *container,
                       double theta, uint64_t key)
{
    const struct threshold_victim victim = {.key = key,
                                            .measured = container->latency_seconds,
                                            .limit = theta,
                                            .ratio = container->latency_seconds / theta};
    struct threshold_victim *victims = policy->victims;
    size_t at = policy->n_victims;
    if (isnan(victim.ratio) || (at == VICTIMS_MAX && victims[at - 1].ratio >= victim.ratio))
        return;
    if (at == VICTIMS_MAX)
        at--;
    else
        policy->n_victims++;
    for (; at > 0 && victims[at - 1].ratio < victim.ratio; at--)
        victims[at] = victims[at - 1];
    victims[at] = victim;
    view_name(container, victims[at].name);
}

static void hear(struct threshold_policy *policy, const struct policy_tick *tick,
                 const struct governed *governed)
{
    struct view_container joined = *governed->container, *container = &joined;
    struct threshold_app *app = threshold_find(policy, container->path);
    if (!app)
        return;
    app->seen = true;
    container->latency_seconds = latencies_end(&app->latencies);
    enum control_window window = window_of(policy, tick, app, container, governed->class);
    uint64_t key = hash_bytes(HASH_START, app->path, strlen(app->path)) | 1;
    policy->any |= app->theta > 0;
    if (window == CONTROL_OVER || (window == CONTROL_BELOW && policy->window == CONTROL_SILENT))
        policy->window = window;
    if (app->theta > 0)
        benefit_hear(policy->benefit, key, container->latency_seconds);
    if (window != CONTROL_SILENT)
        add_victim(policy, container, app->theta, key);
}

static void hear_all(struct threshold_policy *policy, const struct policy_tick *tick)
{
    policy->window = CONTROL_SILENT;
    policy->any = false;
    policy->n_victims = 0;
    benefit_begin(policy->benefit, tick->now);
    for (size_t i = 0; i < tick->n; i++)
        if (config_is_protected(policy->config, tick->governed[i].class))
            hear(policy, tick, &tick->governed[i]);
    policy->n_over = 0;
    while (policy->n_over < policy->n_victims && policy->victims[policy->n_over].ratio >= 1)
        policy->n_over++;
}

/* ---- best effort ---- */

/* At its base whatever the window was, to calibrate. */
static void hold(struct threshold_policy *policy, const struct policy_tick *tick,
                 struct threshold_app *app, size_t i)
{
    const struct governed *governed = &tick->governed[i];
    const struct class *class = &policy->config->classes[governed->class];
    struct holding *holding = threshold_holding(governed);
    const struct policy_calibration *reason = calibration_reason(policy->calibration);
    const struct because because = {.cause = reason ? reason->container : "",
                                    .measured = NAN,
                                    .limit = NAN,
                                    .why = "calibrate"};
    double base = fmin(fmax(class->base_cores, holding->claim.least), holding->claim.most);
    struct control_safe_config safe = policy->config->threshold.safe;
    safe.base_cores = base;
    if (!app->started || app->mode != policy->config->threshold.mode)
        control_safe_init(&app->safe, &safe, holding->claim.most);
    app->started = true;
    app->paper.quota_cores = base;
    app->mode = policy->config->threshold.mode;
    control_safe_move(&app->safe, &safe, base, tick->now);
    enforcer_want(holding, base, &because);
}

/* ---- calibration ---- */

/* Whether all of best effort has its least. Who has nothing to take has it always; of who cannot be
 * read nobody knows. */
static bool is_quiet(const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        const struct holding *holding = threshold_holding(&tick->governed[i]);
        if (!holding)
            continue;
        if (holding->known ? holding->claim.value > holding->claim.least || holding->unsure
                           : holding->memory.retry.wait_ns > 0)
            return false;
    }
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
           calibration_decide(policy->calibration, tick,
                              /* Who is free since holding him does not help stays so. */
                              !benefit_bars_anybody(policy->benefit));
}

/* ---- the whole ---- */

static void forget_unseen(struct threshold_policy *policy)
{
    for (size_t i = policy->n; i-- > 0;)
        if (!policy->apps[i].seen)
            policy->apps[i] = policy->apps[--policy->n];
}

static void decide_one(struct threshold_policy *policy, const struct policy_tick *tick, size_t i)
{
    struct holding *holding = threshold_holding(&tick->governed[i]);
    if (!holding)
        return;
    struct threshold_app *app = threshold_find(policy, tick->governed[i].container->path);
    if (app)
        app->seen = true;
    else
        enforcer_leave_out(tick->enforcer);
    if (app && !holding->known)
        app->on_trial = false;
    if (!policy->any && !policy->holding)
        enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, NULL);
    else if (app && holding->known && policy->holding)
        hold(policy, tick, app, i);
    else if (app && holding->known && policy->config->threshold.mode == CONTROL_PAPER)
        threshold_paper_step(policy, tick, app, i);
    else if (app && holding->known)
        threshold_safe_step(policy, tick, app, i);
}

static void decide_window(struct threshold_policy *policy, const struct policy_tick *tick)
{
    for (size_t i = 0; i < policy->n; i++)
        policy->apps[i].seen = false;
    begin_calibration(policy, tick);
    hear_all(policy, tick);
    policy->holding = end_calibration(policy, tick);
    culprits_window(policy->culprits, tick, KNOB_CPU, POLICY_THRESHOLD);
    if (policy->window == CONTROL_OVER && !policy->holding)
        policy->chosen[culprits_chosen_by(policy->culprits)]++;
    if (policy->config->threshold.mode == CONTROL_SAFE && !policy->holding)
        threshold_safe_begin(policy, tick);
    for (size_t i = 0; i < tick->n; i++)
        decide_one(policy, tick, i);
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

static void report(const void *self, struct policy_report *out)
{
    const struct threshold_policy *policy = self;
    out->active[POLICY_THRESHOLD] = policy->any || policy->holding;
    for (size_t i = 0; i < policy->n && policy->config->threshold.mode == CONTROL_SAFE; i++)
        out->tries |= policy->apps[i].on_trial;
    out->counts.futile += benefit_bars(policy->benefit);
    for (int by = 0; by < CHOSEN_BYS; by++)
        out->counts.chosen[by] += policy->chosen[by];
    calibration_report(policy->calibration, out);
    if (policy->config->threshold.calibrate != CALIBRATE_THROTTLE)
        out->n_calibrations = 0;
}

const struct policy_ops threshold_policy = {
    .init = init,
    .inherit = inherit,
    .decide = decide,
    .report = report,
    .free = release,
};
