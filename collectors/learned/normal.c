#include "collectors/learned/normal.h"

#include <math.h>

enum { BUSY_MIN_READS = 1000 };
static const double busy_min_cpu = 0.1;

/* From fewer calm windows than this their mean would be noise; after this many it forgets. */
enum { CALM_MIN = 10, CALM_MEMORY = 3600 };

static const double usual_share = 0.2;
static const double usual_min_seconds = 600;

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

/* Once a minute, since both go through all that they remember. */
static void refresh_fit(struct normal *normal, uint64_t mono_ns)
{
    double alone = traffic_fit_alone_seconds(&normal->fit, mono_ns);
    normal->extrapolated_seconds = isnan(alone) ? 0 : alone;
}

static void refresh_usual(struct normal *normal, uint64_t mono_ns)
{
    uint64_t minute = mono_ns / 60000000000u + 1;
    if (minute == normal->usual_minute)
        return;
    normal->usual_minute = minute;
    if (day_percentile_time(&normal->day) >= usual_min_seconds)
        normal->usual_seconds = day_percentile_seconds(&normal->day, usual_share);
}

void normal_learn(struct normal *normal, const struct normal_window *window)
{
    if (window->calm) {
        if (normal->calm_windows < CALM_MEMORY)
            normal->calm_windows++;
        normal->calm_seconds +=
            (window->latency_seconds - normal->calm_seconds) / normal->calm_windows;
    }
    refresh_usual(normal, window->mono_ns);
    day_percentile_add(&normal->day, window->mono_ns, window->length_seconds,
                       window->latency_seconds);
    if (!window->corunners_known)
        return;
    if (traffic_fit_measured_by(&normal->fit, window->measure))
        normal->extrapolated_seconds = 0;
    if (traffic_fit_add(&normal->fit, window->mono_ns, window->latency_seconds,
                        window->corunner_rate, window->own_rate))
        refresh_fit(normal, window->mono_ns);
}

bool normal_find(const struct normal *normal, double machine_seconds, enum basis *basis,
                 double *seconds)
{
    if (normal->calm_windows >= CALM_MIN) {
        *basis = BASIS_CALM;
        *seconds = normal->calm_seconds;
    } else if (normal->extrapolated_seconds > 0) {
        *basis = BASIS_EXTRAPOLATED;
        *seconds = normal->extrapolated_seconds;
    } else if (normal->usual_seconds > 0) {
        *basis = BASIS_USUAL;
        *seconds = normal->usual_seconds;
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
    return day_percentile_time(&normal->day);
}
