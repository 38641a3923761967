#include "exporter/governor/decide/control/control_safe.h"

#include <math.h>

enum {
    FEW_OVER = 3,        /* fewer are no share */
    NOT_HELPED = 3,      /* windows after a cut in which another violation is the same one */
    WINDOWS_MANY = 1000, /* of a level: older ones count less */
    CUT_LONG_AGO = 1000,
    MEAN_WINDOWS = 60,   /* of the latency's mean */
    MEAN_LEAST = 20,     /* before it is one */
    WINDOWS_ENOUGH = 900 /* that say how many are over */
};
static const double headroom_deviations = 2.6; /* one of 200 normal numbers is beyond */
static const double slope_part = 0.2;          /* of what is believed, a raise tells so much */
/* What a latency must have fallen by, at the same quota: this, and so many deviations. */
static const double fallen = 0.03, fallen_deviations = 3.5;

static const double epsilon = 1e-9;

void control_safe_defaults(struct control_safe_config *config)
{
    *config = (struct control_safe_config){.base_cores = 1,
                                           .step_cores = 0.5,
                                           .confirm = 2,
                                           .confirm_of = 3,
                                           .over_share = 0.008,
                                           .calm = 10,
                                           .hold_seconds = 60,
                                           .hold_max_seconds = 1800,
                                           .forgive_seconds = 600};
}

void control_safe_init(struct control_safe *state, const struct control_safe_config *config,
                       double max_cores)
{
    *state = (struct control_safe){.quota_cores = max_cores,
                                   .used_cores = NAN,
                                   .since_cut = CUT_LONG_AGO,
                                   .failed_cores = INFINITY,
                                   .failed_last = INFINITY,
                                   .wait_seconds = config->hold_seconds,
                                   .retry_at = -INFINITY,
                                   .failed_at = -INFINITY,
                                   .base_since = NAN,
                                   .mean_then = NAN,
                                   .cores_before = NAN};
}

static double base_of(const struct control_safe_config *config, double max_cores)
{
    return fmin(config->base_cores, max_cores);
}

static void set(struct control_safe *state, const struct control_safe_config *config, double cores,
                double now)
{
    bool at_base = cores <= config->base_cores + epsilon;
    if (!at_base)
        state->base_since = NAN;
    else if (isnan(state->base_since))
        state->base_since = now;
    state->quota_cores = cores;
    state->windows = state->over = state->calm = 0;
    state->cores_before = NAN;
    state->mean = state->variance = 0;
    state->told = 0;
    state->mean_then = NAN;
}

void control_safe_move(struct control_safe *state, const struct control_safe_config *config,
                       double cores, double now)
{
    state->base_since = NAN;
    set(state, config, cores, now);
    state->history = 0;
    state->since_cut = CUT_LONG_AGO;
}

bool control_safe_confirmed(const struct control_safe *state,
                            const struct control_safe_config *config)
{
    uint32_t last = state->history & (uint32_t)((UINT64_C(1) << config->confirm_of) - 1);
    return (unsigned)__builtin_popcount(last) >= config->confirm;
}

static bool fails(const struct control_safe *state, const struct control_safe_config *config)
{
    return control_safe_confirmed(state, config) ||
           (state->over >= FEW_OVER && state->over > config->over_share * state->windows);
}

/* ---- down ---- */

/* The wait before this level is tried again. */
static void remember_failure(struct control_safe *state, const struct control_safe_config *config,
                             double now)
{
    double off = state->quota_cores - state->failed_last;
    bool again = fabs(off) < config->step_cores + epsilon &&
                 now - state->failed_at < state->wait_seconds + config->forgive_seconds;
    double longer = off < -epsilon ? state->wait_seconds / 2 : 2 * state->wait_seconds;
    state->wait_seconds = again ? fmin(fmax(longer, config->hold_seconds), config->hold_max_seconds)
                                : config->hold_seconds;
    state->failed_at = now;
    state->failed_last = state->quota_cores;
    state->retry_at = now + state->wait_seconds;
    state->failed_cores = state->quota_cores;
    if (state->calm_cores > state->quota_cores - epsilon)
        state->calm_cores = 0;
}

static enum control_action cut(struct control_safe *state, const struct control_safe_config *config,
                               double max_cores, double now)
{
    double base = base_of(config, max_cores);
    if (state->quota_cores > max_cores - epsilon && state->used_cores < state->quota_cores)
        state->quota_cores = fmax(state->used_cores, base);
    double back =
        state->quota_cores - (control_safe_confirmed(state, config) ? 1 : 0.5) * config->step_cores;
    bool helped_not = control_safe_confirmed(state, config) && state->since_cut <= NOT_HELPED;
    if (helped_not) /* what failed is what was tried first */
        state->failed_cores = fmax(state->failed_cores, state->quota_cores);
    else
        remember_failure(state, config, now);
    if (helped_not)
        back = base;
    else if (state->calm_cores > 0)
        back = state->calm_cores;
    set(state, config, fmax(back, base), now);
    state->history = 0;
    state->since_cut = 0;
    return CONTROL_CUT;
}

/* ---- up ---- */

static void follow(struct control_safe *state, double ratio)
{
    double off = log(ratio) - state->mean;
    if (!isfinite(off)) /* of a latency of 0, too: one would be the mean for ever */
        return;
    state->told += state->told < MEAN_WINDOWS;
    double part = 1.0 / state->told;
    state->mean += part * off;
    state->variance = (1 - part) * (state->variance + part * off * off);
    if (isnan(state->mean_then) && state->told >= MEAN_LEAST)
        state->mean_then = state->mean;
}

/* Somebody else has gone, or it is night: what failed may do now. */
static bool has_fallen(const struct control_safe *state)
{
    double deviation = sqrt(state->variance * (1.0 / MEAN_LEAST + 1.0 / MEAN_WINDOWS));
    return state->mean_then - state->mean > fmax(fallen, fallen_deviations * deviation);
}

/* What the last raise has cost. */
static void learn_slope(struct control_safe *state)
{
    double slope = (state->mean - state->mean_before) / (state->quota_cores - state->cores_before);
    if (!isnan(slope))
        state->slope = fmax(state->slope + slope_part * (slope - state->slope), 0);
    state->cores_before = NAN;
}

static bool has_room(const struct control_safe *state, const struct control_safe_config *config,
                     double next)
{
    double expected = state->mean + state->slope * (next - state->quota_cores);
    return state->told < config->calm ||
           expected + headroom_deviations * sqrt(state->variance) < 0 ||
           (state->windows >= WINDOWS_ENOUGH && state->over <= config->over_share * state->windows);
}

static enum control_action raise_quota(struct control_safe *state,
                                       const struct control_safe_config *config, double max_cores,
                                       double now)
{
    double next = state->quota_cores + config->step_cores, failed = state->failed_cores;
    if (next > failed - epsilon) {
        if (has_fallen(state))
            state->wait_seconds = config->hold_seconds;
        else if (now < state->retry_at)
            return CONTROL_KEEP;
        bool near = failed - state->quota_cores < 0.75 * config->step_cores;
        next = near ? failed : state->quota_cores + config->step_cores / 2;
        if (has_room(state, config, next))
            state->retry_at = now + state->wait_seconds;
    }
    next = fmin(next, max_cores);
    if (!has_room(state, config, next))
        return CONTROL_KEEP;
    double mean = state->mean, cores = state->quota_cores;
    set(state, config, next, now);
    state->mean_before = mean;
    state->cores_before = cores;
    return CONTROL_RAISE;
}

static void remember_calm(struct control_safe *state)
{
    state->calm_cores = state->quota_cores;
    if (state->quota_cores > state->failed_cores - epsilon)
        state->failed_cores = INFINITY;
}

enum control_action control_safe_step(struct control_safe *state,
                                      const struct control_safe_config *config, double max_cores,
                                      double now, enum control_window window, double ratio,
                                      bool culprit)
{
    bool over = window == CONTROL_OVER;
    if (state->quota_cores > max_cores)
        control_safe_move(state, config, max_cores, now);
    if (window == CONTROL_SILENT)
        return CONTROL_KEEP;
    state->history = state->history << 1 | over;
    state->calm = over ? 0 : state->calm + 1;
    state->since_cut += state->since_cut < CUT_LONG_AGO;
    state->windows++;
    state->over += over && culprit;
    follow(state, ratio);
    if (state->windows >= WINDOWS_MANY) {
        state->windows /= 2;
        state->over /= 2;
    }
    if (over) {
        bool at_base = state->quota_cores <= base_of(config, max_cores) + epsilon;
        return culprit && !at_base && fails(state, config) ? cut(state, config, max_cores, now)
                                                           : CONTROL_KEEP;
    }
    if (state->calm < config->calm)
        return CONTROL_KEEP;
    remember_calm(state);
    learn_slope(state);
    return state->quota_cores < max_cores ? raise_quota(state, config, max_cores, now)
                                          : CONTROL_KEEP;
}
