#include "exporter/governor/decide/control/control_threshold.h"

#include <math.h>

enum control_window control_threshold_window(double latency, double theta)
{
    if (!isfinite(latency) || !isfinite(theta) || latency <= 0 || theta <= 0)
        return CONTROL_SILENT;
    return latency < theta ? CONTROL_BELOW : CONTROL_OVER;
}

void control_threshold_init(struct control_threshold *state,
                            const struct control_threshold_config *config, double max_cores)
{
    state->quota_cores = fmin(config->base_cores, max_cores);
}

enum control_action control_threshold_step(struct control_threshold *state,
                                           const struct control_threshold_config *config,
                                           double max_cores, enum control_window window,
                                           bool culprit)
{
    double base = fmin(config->base_cores, max_cores);
    state->quota_cores = fmin(state->quota_cores, max_cores);
    if (window == CONTROL_BELOW && state->quota_cores < max_cores) {
        state->quota_cores = fmin(state->quota_cores + config->step_cores, max_cores);
        return CONTROL_RAISE;
    }
    if (window == CONTROL_OVER && culprit && state->quota_cores > base) {
        state->quota_cores = base;
        return CONTROL_CUT;
    }
    return CONTROL_KEEP;
}

double control_threshold_theta(const double *latencies, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += latencies[i];
    return n > 0 ? sum / (double)n : 0;
}
