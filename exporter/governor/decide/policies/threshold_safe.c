/*
 * What best effort may have is what was calm (control_safe.h), and nobody is held for a
 * victim whom that does not help (benefit.h). In a dry run a cut changes nothing, so that nothing
 * can be said of its benefit.
 */
#include <math.h>

#include "exporter/governor/decide/policies/threshold.h"

/* Of what it has: who uses less says nothing of what more would do. */
static const double used_part = 0.5;

enum {
    OWN_PERIOD_WINDOWS = 2, /* in which it cuts twice at the most */
    CUT_SHOWS_WINDOWS = 10  /* after a cut */
};

static struct control_safe_config config_of(const struct threshold_policy *policy,
                                            const struct governed *governed,
                                            const struct holding *holding)
{
    const struct class *class = &policy->config->classes[governed->class];
    struct control_safe_config config = policy->config->threshold.safe;
    config.base_cores = fmax(class->base_cores, holding->claim.least);
    config.step_cores = class->step_cores;
    return config;
}

static struct holding *known_holding(const struct policy_tick *tick, size_t i)
{
    struct holding *holding = threshold_holding(&tick->governed[i]);
    return holding && holding->known ? holding : NULL;
}

/* ---- who is to be cut for whom ---- */

struct leaving_out {
    const struct threshold_policy *policy;
    uint64_t victim;
};

static bool is_barred(void *context, uint64_t owner)
{
    const struct leaving_out *leaving = context;
    return benefit_is_barred(leaving->policy->benefit, leaving->victim, owner);
}

/* Where its cycles, or how many there are in a second, are not known, it counts as busy. */
static bool is_idle(struct threshold_policy *policy, const struct policy_tick *tick, size_t i)
{
    const struct view_container *container = tick->governed[i].container;
    const struct holding *holding = threshold_holding(&tick->governed[i]);
    struct threshold_app *app = threshold_find(policy, container->path);
    if (!app)
        return false;
    double cycles = view_grown(app->started ? app->cycles : NAN, container->reference_cycles);
    app->cycles = container->reference_cycles;
    app->used = cycles / tick->base_hz / tick->interval;
    app->idle =
        holding->claim.value < holding->claim.most && app->used < used_part * holding->claim.value;
    return app->idle;
}

static void learn(struct threshold_policy *policy, const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++) {
        const struct holding *holding = known_holding(tick, i);
        if (holding && !is_idle(policy, tick, i))
            benefit_see(policy->benefit, culprits_owner(policy->culprits, i), holding->claim.value,
                        config_of(policy, &tick->governed[i], holding).base_cores,
                        holding->claim.most);
    }
    benefit_end(policy->benefit);
}

static void choose_for(struct threshold_policy *policy, const struct policy_tick *tick,
                       size_t victim)
{
    uint64_t key = policy->victims[victim].key;
    struct leaving_out leaving = {policy, key};
    culprits_choose(policy->culprits, is_barred, &leaving);
    policy->victims[victim].by = culprits_chosen_by(policy->culprits);
    for (size_t i = 0; i < tick->n; i++) {
        if (!known_holding(tick, i) || !culprits_include(policy->culprits, i))
            continue;
        if (policy->causes[i] == VICTIM_NONE)
            policy->causes[i] = (uint8_t)victim;
        if (!enforcer_is_dry(tick->enforcer))
            benefit_accuse(policy->benefit, key, culprits_owner(policy->culprits, i));
    }
}

void threshold_safe_begin(struct threshold_policy *policy, const struct policy_tick *tick)
{
    learn(policy, tick);
    for (size_t i = 0; i < tick->n; i++)
        policy->causes[i] = VICTIM_NONE;
    for (size_t victim = 0; victim < policy->n_over; victim++)
        choose_for(policy, tick, victim);
}

/* ---- one container ---- */

/* The victim for whom it is held, or the slowest that is a reason to hold it; VICTIM_NONE: there is
 * none. */
static size_t cause_of(const struct threshold_policy *policy, size_t i, uint64_t owner)
{
    if (policy->causes[i] != VICTIM_NONE)
        return policy->causes[i];
    for (size_t victim = 0; victim < policy->n_victims; victim++)
        if (!benefit_is_barred(policy->benefit, policy->victims[victim].key, owner))
            return victim;
    return VICTIM_NONE;
}

/* It has everything. That others wait as well is a reason to end that, if it lasts. */
static void watch_trial(struct threshold_policy *policy, struct threshold_app *app, size_t victim,
                        uint64_t owner, const struct control_safe_config *config)
{
    bool other = victim < policy->n_over &&
                 !benefit_tries(policy->benefit, policy->victims[victim].key, owner);
    app->safe.history = app->safe.history << 1 | other;
    if (!control_safe_confirmed(&app->safe, config))
        return;
    benefit_break_off(policy->benefit, owner);
    app->safe.failed_cores = app->safe.quota_cores;
}

static void join_trial(const struct threshold_policy *policy, struct threshold_app *app,
                       const struct control_safe_config *config, double most, double now,
                       uint64_t owner)
{
    bool part = benefit_on_trial(policy->benefit, owner) == BENEFIT_PART_BACK;
    double half = (fmin(app->safe.failed_cores, most) + config->base_cores) / 2;
    app->before = app->safe.quota_cores;
    app->on_trial = true;
    control_safe_move(&app->safe, config, part ? fmin(half, most) : most, now);
}

static void leave_trial(const struct threshold_policy *policy, struct threshold_app *app,
                        const struct control_safe_config *config, double now, uint64_t owner)
{
    app->on_trial = false;
    if (!benefit_is_acquitted(policy->benefit, owner))
        control_safe_move(&app->safe, config, app->before, now);
}

/* Whether its owner is to have everything, for one does not know whether holding it helps. */
static bool is_to_be_tried(struct threshold_policy *policy, const struct threshold_app *app,
                           const struct control_safe_config *config, double now, size_t victim,
                           uint64_t owner)
{
    const struct control_safe *safe = &app->safe;
    bool for_long = now - safe->base_since >= policy->config->threshold.futile_seconds;
    return control_safe_confirmed(safe, config) && safe->since_cut >= CUT_SHOWS_WINDOWS &&
           benefit_try(policy->benefit, policy->victims[victim].key, owner, for_long);
}

static void wish(struct threshold_policy *policy, const struct policy_tick *tick,
                 const struct threshold_app *app, size_t i, size_t victim)
{
    const struct threshold_victim *cause = victim == VICTIM_NONE ? NULL : &policy->victims[victim];
    struct holding *holding = threshold_holding(&tick->governed[i]);
    const struct because because = {.cause = cause ? cause->name : "",
                                    .measured = cause ? cause->measured : NAN,
                                    .limit = cause ? cause->limit : NAN,
                                    .chosen_by = app->chosen_by,
                                    .culprit = policy->causes[i] != VICTIM_NONE && !app->on_trial,
                                    .period_seconds = OWN_PERIOD_WINDOWS * tick->interval};
    if (app->on_trial && app->safe.quota_cores >= holding->claim.most)
        enforcer_let_go(tick->enforcer, holding, RELEASE_FUTILE, &because);
    else
        enforcer_want(holding, app->safe.quota_cores, &because);
}

void threshold_safe_step(struct threshold_policy *policy, const struct policy_tick *tick,
                         struct threshold_app *app, size_t i)
{
    struct holding *holding = threshold_holding(&tick->governed[i]);
    const struct control_safe_config config = config_of(policy, &tick->governed[i], holding);
    double most = holding->claim.most;
    uint64_t owner = culprits_owner(policy->culprits, i);
    size_t victim = cause_of(policy, i, owner);
    bool culprit = policy->causes[i] != VICTIM_NONE && !app->idle;
    if (!app->started || app->mode != CONTROL_SAFE)
        control_safe_init(&app->safe, &config, most);
    if (app->started && app->mode != CONTROL_SAFE) /* it keeps what it has */
        control_safe_move(&app->safe, &config, app->paper.quota_cores, tick->now);
    app->started = true;
    app->mode = CONTROL_SAFE;
    app->safe.used_cores = app->used;
    if (holding->crowded_out)
        control_safe_move(&app->safe, &config, most, tick->now);
    if (benefit_on_trial(policy->benefit, owner) != BENEFIT_NO_TRIAL) {
        if (!app->on_trial)
            join_trial(policy, app, &config, most, tick->now, owner);
        watch_trial(policy, app, victim, owner, &config);
    } else {
        if (app->on_trial)
            leave_trial(policy, app, &config, tick->now, owner);
        enum control_window window = policy->window;
        double ratio = victim == VICTIM_NONE ? NAN : policy->victims[victim].ratio;
        if (window == CONTROL_OVER && victim >= policy->n_over)
            window = CONTROL_BELOW;
        if (window == CONTROL_BELOW && app->idle)
            window = CONTROL_SILENT;
        if (control_safe_step(&app->safe, &config, most, tick->now, window, ratio, culprit) ==
            CONTROL_CUT)
            app->chosen_by = policy->victims[victim].by;
        else if (culprit && !enforcer_is_dry(tick->enforcer) &&
                 is_to_be_tried(policy, app, &config, tick->now, victim, owner))
            join_trial(policy, app, &config, most, tick->now, owner);
    }
    wish(policy, tick, app, i, victim);
}
