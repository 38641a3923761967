#include "collectors/learned/unloaded.h"

#include <math.h>

static void learn_calm(struct unloaded *unloaded, const struct unloaded_window *window)
{
    if (unloaded->calm_windows >= UNLOADED_MEMORY_WINDOWS) {
        const double fade = 1 - 1.0 / UNLOADED_MEMORY_WINDOWS;
        unloaded->accesses *= fade;
        unloaded->misses *= fade;
        unloaded->wait_seconds *= fade;
    }
    if (unloaded->calm_windows < UINT32_MAX)
        unloaded->calm_windows++;
    unloaded->accesses += (double)window->accesses;
    unloaded->misses += (double)window->misses;
    unloaded->wait_seconds += window->wait_seconds;
}

static void learn_latency(struct unloaded *unloaded, const struct unloaded_window *window)
{
    double misses = (double)window->misses;
    if (!window_is_busy(window->misses, window->cpu_seconds, window->length_seconds) ||
        !traffic_fit_add(&unloaded->latency_fit, window->mono_ns, window->wait_seconds / misses,
                         window->corunner_rate, misses / window->length_seconds))
        return;
    double alone = traffic_fit_alone_seconds(&unloaded->latency_fit, window->mono_ns);
    unloaded->extrapolated_seconds = isnan(alone) ? 0 : alone;
}

/* Also of windows without misses: left alone, it may have none. */
static void learn_ratio(struct unloaded *unloaded, const struct unloaded_window *window)
{
    double accesses = (double)window->accesses;
    if (!window_is_busy(window->accesses, window->cpu_seconds, window->length_seconds) ||
        !traffic_fit_add(&unloaded->ratio_fit, window->mono_ns, (double)window->misses / accesses,
                         window->corunner_rate, accesses / window->length_seconds))
        return;
    double alone = traffic_fit_alone_share(&unloaded->ratio_fit, window->mono_ns);
    unloaded->ratio_extrapolates = !isnan(alone);
    unloaded->extrapolated_ratio = alone;
}

void unloaded_learn(struct unloaded *unloaded, const struct unloaded_window *window)
{
    if (unloaded->windows < CALM_MIN_WINDOWS)
        unloaded->windows++;
    unloaded->ever_calm |= window->calm;
    if (window->accesses == 0)
        return;
    double seconds = window->misses > 0 ? window->wait_seconds / (double)window->misses : 0;
    if (window->calm && usual_allows_calm(&unloaded->usual, seconds))
        learn_calm(unloaded, window);
    if (window_is_busy(window->misses, window->cpu_seconds, window->length_seconds))
        usual_learn(&unloaded->usual, window->mono_ns, window->length_seconds, seconds);
    if (!window->corunners_known)
        return;
    if (traffic_fit_measured_by(&unloaded->latency_fit, window->measure))
        unloaded->extrapolated_seconds = 0;
    if (traffic_fit_measured_by(&unloaded->ratio_fit, window->measure))
        unloaded->ratio_extrapolates = false;
    learn_latency(unloaded, window);
    learn_ratio(unloaded, window);
}

enum basis unloaded_latency_basis(const struct unloaded *unloaded)
{
    if (unloaded->calm_windows >= UNLOADED_MIN_WINDOWS && unloaded->misses >= UNLOADED_MIN_COUNT)
        return BASIS_CALM;
    return unloaded->extrapolated_seconds > 0 ? BASIS_EXTRAPOLATED : BASES;
}

enum basis unloaded_ratio_basis(const struct unloaded *unloaded)
{
    if (unloaded->calm_windows >= UNLOADED_MIN_WINDOWS && unloaded->accesses >= UNLOADED_MIN_COUNT)
        return BASIS_CALM;
    return unloaded->ratio_extrapolates ? BASIS_EXTRAPOLATED : BASES;
}

double unloaded_latency_seconds(const struct unloaded *unloaded)
{
    enum basis basis = unloaded_latency_basis(unloaded);
    if (basis == BASIS_CALM)
        return unloaded->wait_seconds / unloaded->misses;
    return basis == BASIS_EXTRAPOLATED ? unloaded->extrapolated_seconds : NAN;
}

double unloaded_miss_ratio(const struct unloaded *unloaded)
{
    enum basis basis = unloaded_ratio_basis(unloaded);
    if (basis == BASIS_CALM)
        return unloaded->misses / unloaded->accesses;
    return basis == BASIS_EXTRAPOLATED ? unloaded->extrapolated_ratio : NAN;
}

bool unloaded_never_calm(const struct unloaded *unloaded)
{
    return unloaded->windows >= CALM_MIN_WINDOWS && !unloaded->ever_calm;
}
