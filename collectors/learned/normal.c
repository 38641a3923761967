#include "collectors/learned/normal.h"

#include <math.h>

enum { BUSY_MIN_READS = 1000 };
static const double busy_min_cpu = 0.1;

/* From fewer calm windows than this their mean would be noise; after this many it forgets. */
enum { CALM_MIN = 10, CALM_MEMORY = 3600 };

enum { CHANGE_MINUTES = 10, WAITED_MAX = 60 };

const char *basis_name(enum basis basis)
{
    static const char *const names[BASES] = {
        [BASIS_FILE] = "file",   [BASIS_CALM] = "calm",       [BASIS_EXTRAPOLATED] = "extrapolated",
        [BASIS_USUAL] = "usual", [BASIS_MACHINE] = "machine",
    };
    return names[basis];
}

bool window_is_busy(uint64_t reads, double cpu_seconds, double length_seconds)
{
    return reads >= BUSY_MIN_READS && cpu_seconds >= busy_min_cpu * length_seconds;
}

/* The minute that has ended; true if it tells nothing of an ordinary day. */
static bool waited(struct normal *normal)
{
    bool waited = 2 * normal->waited > normal->windows;
    normal->windows = normal->waited = 0;
    normal->waited_minutes = waited ? normal->waited_minutes + 1 : 0;
    return waited && normal->waited_minutes <= WAITED_MAX;
}

/* Once a minute, since it goes through all that it remembers. */
static void refresh_fit(struct normal *normal, uint64_t mono_ns)
{
    if (waited(normal))
        return;
    double found = fmax(traffic_fit_alone_seconds(&normal->fit, mono_ns), 0);
    if (found > 0)
        found = fmax(found, traffic_fit_calmest_seconds(&normal->fit, mono_ns));
    bool taken = normal->extrapolated_seconds > 0;
    if (taken == (found > 0)) {
        normal->other_minutes = 0;
        normal->extrapolated_seconds += (found - normal->extrapolated_seconds) / CHANGE_MINUTES;
    } else if (++normal->other_minutes >= CHANGE_MINUTES) {
        normal->other_minutes = 0;
        normal->extrapolated_seconds = found;
    }
}

void normal_learn(struct normal *normal, const struct normal_window *window)
{
    if (window->calm && usual_allows_calm(&normal->usual, window->latency_seconds)) {
        if (normal->calm_windows < CALM_MEMORY)
            normal->calm_windows++;
        normal->calm_seconds +=
            (window->latency_seconds - normal->calm_seconds) / normal->calm_windows;
    }
    usual_learn(&normal->usual, window->mono_ns, window->length_seconds, window->latency_seconds);
    if (!window->corunners_known)
        return;
    if (traffic_fit_measured_by(&normal->fit, window->measure)) {
        normal->extrapolated_seconds = 0;
        normal->other_minutes = 0;
    }
    if (traffic_fit_add(&normal->fit, window->mono_ns, window->latency_seconds,
                        window->corunner_rate, window->own_rate))
        refresh_fit(normal, window->mono_ns);
    normal->windows++;
    normal->waited += window->waits;
}

/* Where the probe's lower bound is above it: but what the container itself saw counts more. */
static double raised(const struct normal *normal, double seconds, double least_seconds)
{
    double least = fmin(least_seconds, normal->usual.seconds);
    return least_seconds > 0 && least > seconds ? least : seconds;
}

bool normal_find(const struct normal *normal, double machine_seconds, double machine_error,
                 enum basis *basis, double *seconds)
{
    if (normal->calm_windows >= CALM_MIN) {
        *basis = BASIS_CALM;
        *seconds = normal->calm_seconds;
    } else if (normal->extrapolated_seconds > 0) {
        *basis = BASIS_EXTRAPOLATED;
        *seconds = raised(normal, normal->extrapolated_seconds, machine_seconds - machine_error);
    } else if (normal->usual.seconds > 0) {
        *basis = BASIS_USUAL;
        *seconds = normal->usual.seconds;
    } else if (machine_seconds > 0) {
        *basis = BASIS_MACHINE;
        *seconds = machine_seconds;
    } else {
        return false;
    }
    return true;
}

double normal_busy_time(const struct normal *normal)
{
    return usual_time(&normal->usual);
}
