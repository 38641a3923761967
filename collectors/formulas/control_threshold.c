#include "collectors/formulas/control_threshold.h"

#include <math.h>

void control_threshold_defaults(struct control_threshold_config *config)
{
    *config = (struct control_threshold_config){
        .mode = CONTROL_SAFE,
        .base_cores = 1,
        .step_cores = 0.5,
        .confirm = 2,
        .confirm_of = 3,
        .calm = 3,
        .hold_seconds = 10,
        .hold_max_seconds = 320,
        .relapse_seconds = 60,
        .forgive_seconds = 600,
        .futile_seconds = 120,
        .futile_ratio = 0.8,
        .back_off_seconds = 600,
    };
}

enum control_window control_threshold_window(double latency, double theta)
{
    if (!isfinite(latency) || !isfinite(theta) || latency <= 0 || theta <= 0)
        return CONTROL_SILENT;
    return latency < theta ? CONTROL_BELOW : CONTROL_OVER;
}

static void come_to_base(struct control_threshold *state, double now)
{
    state->base_since = now;
    state->base_windows = state->base_over = 0;
}

void control_threshold_init(struct control_threshold *state,
                            const struct control_threshold_config *config, double max_cores,
                            double now)
{
    *state = (struct control_threshold){
        .quota_cores = fmin(config->base_cores, max_cores),
        .hold_seconds = config->hold_seconds,
        .held_until = -INFINITY,
        .raised_at = -INFINITY,
        .cut_at = -INFINITY,
        .gave_up_until = -INFINITY,
    };
    come_to_base(state, now);
}

static enum control_action raise_quota(struct control_threshold *state,
                                       const struct control_threshold_config *config,
                                       double max_cores, double now)
{
    if (state->quota_cores >= max_cores)
        return CONTROL_KEEP;
    state->quota_cores = fmin(state->quota_cores + config->step_cores, max_cores);
    state->raised_at = now;
    return CONTROL_RAISE;
}

static enum control_action cut_quota(struct control_threshold *state,
                                     const struct control_threshold_config *config,
                                     double max_cores, double now)
{
    double base = fmin(config->base_cores, max_cores);
    if (state->quota_cores <= base)
        return CONTROL_KEEP;
    state->quota_cores = base;
    state->cut_at = now;
    come_to_base(state, now);
    return CONTROL_CUT;
}

static bool confirmed(const struct control_threshold *state,
                      const struct control_threshold_config *config)
{
    uint32_t last = state->history & (uint32_t)((UINT64_C(1) << config->confirm_of) - 1);
    return (unsigned)__builtin_popcount(last) >= config->confirm;
}

/* The hold of a cut, before it happens. */
static void hold(struct control_threshold *state, const struct control_threshold_config *config,
                 double now)
{
    if (now - state->cut_at >= config->forgive_seconds)
        state->hold_seconds = config->hold_seconds;
    if (now - state->raised_at <= config->relapse_seconds)
        state->hold_seconds = fmin(2 * state->hold_seconds, config->hold_max_seconds);
    state->held_until = now + state->hold_seconds;
}

/* At base, and it does not help: then it is something else that makes memory slow. */
static bool is_futile(struct control_threshold *state,
                      const struct control_threshold_config *config, double now, bool over)
{
    if (state->quota_cores > config->base_cores)
        return false;
    state->base_windows++;
    state->base_over += over;
    if (now - state->base_since < config->futile_seconds)
        return false;
    bool futile = state->base_over >= config->futile_ratio * state->base_windows;
    come_to_base(state, now);
    return futile;
}

static enum control_action give_up(struct control_threshold *state,
                                   const struct control_threshold_config *config, double max_cores,
                                   double now)
{
    state->quota_cores = max_cores;
    state->gave_up_until = now + config->back_off_seconds;
    state->history = 0;
    state->calm = 0;
    return CONTROL_GIVE_UP;
}

static enum control_action step_safe(struct control_threshold *state,
                                     const struct control_threshold_config *config,
                                     double max_cores, double now, bool over, bool culprit)
{
    state->history = state->history << 1 | over;
    state->calm = over ? 0 : state->calm + 1;
    if (is_futile(state, config, now, over))
        return give_up(state, config, max_cores, now);
    if (over) {
        if (!culprit || !confirmed(state, config) || state->quota_cores <= config->base_cores)
            return CONTROL_KEEP;
        hold(state, config, now);
        return cut_quota(state, config, max_cores, now);
    }
    if (state->calm < config->calm || now < state->held_until)
        return CONTROL_KEEP;
    return raise_quota(state, config, max_cores, now);
}

enum control_action control_threshold_step(struct control_threshold *state,
                                           const struct control_threshold_config *config,
                                           double max_cores, double now, enum control_window window,
                                           bool culprit)
{
    state->quota_cores = fmin(state->quota_cores, max_cores);
    if (now < state->gave_up_until) {
        state->quota_cores = max_cores;
        return CONTROL_KEEP;
    }
    if (window == CONTROL_SILENT)
        return CONTROL_KEEP;
    bool over = window == CONTROL_OVER;
    if (config->mode == CONTROL_SAFE)
        return step_safe(state, config, max_cores, now, over, culprit);
    if (!over)
        return raise_quota(state, config, max_cores, now);
    return culprit ? cut_quota(state, config, max_cores, now) : CONTROL_KEEP;
}

void control_threshold_hold(struct control_threshold *state,
                            const struct control_threshold_config *config, double max_cores,
                            double now)
{
    state->quota_cores = fmin(config->base_cores, max_cores);
    state->history = 0;
    state->calm = 0;
    come_to_base(state, now);
}

double control_threshold_theta(const double *latencies, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += latencies[i];
    return n > 0 ? sum / (double)n : 0;
}
