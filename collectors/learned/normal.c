#include "collectors/learned/normal.h"

#include <math.h>

enum { BUSY_MIN_READS = 1000 };
static const double busy_min_cpu = 0.1;

/* From fewer calm windows than this their mean would be noise; after this many it forgets. */
enum { CALM_MIN = 10, CALM_MEMORY = 3600 };

enum { CHANGE_MINUTES = 10, WAITED_MAX = 60 };

/* Of what is usual: the share of the day, its least time, and what calm may be of it. */
static const double usual_share = 0.2, min_seconds = 600, calm_factor = 1.25;

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

/* ---- what is usual ---- */

void usual_add_up(struct usual *usual)
{
    usual->earlier = -(double)usual->at[usual->newest % USUAL_SLICES].length_seconds;
    for (int i = 0; i < USUAL_SLICES; i++)
        usual->earlier += (double)usual->at[i].length_seconds;
}

static double usual_time(const struct usual *usual)
{
    return usual->earlier + (double)usual->at[usual->newest % USUAL_SLICES].length_seconds;
}

/* The next higher latency, and for how long it was that. */
static float next_above(const struct usual *usual, float latency, double *seconds)
{
    float next = INFINITY;
    for (int i = 0; i < USUAL_SLICES; i++) {
        float at = usual->at[i].latency_seconds;
        if (!(usual->at[i].length_seconds > 0) || at <= latency || at > next)
            continue;
        *seconds = (at < next ? 0 : *seconds) + (double)usual->at[i].length_seconds;
        next = at;
    }
    return next;
}

/* It goes through all that it remembers a few dozen times: once for each slice. */
static void refresh_usual(struct usual *usual)
{
    double all = usual_time(usual), below = 0, seconds = 0;
    float latency = 0;
    if (all < min_seconds)
        return;
    while (below < usual_share * all) {
        latency = next_above(usual, latency, &seconds);
        below += seconds;
    }
    usual->seconds = (double)latency;
}

static void begin_slice(struct usual *usual, uint64_t slice)
{
    refresh_usual(usual);
    uint64_t gap = usual->newest > 0 ? slice - usual->newest : 0;
    for (uint64_t i = 1; i <= gap && i <= USUAL_SLICES; i++)
        usual->at[(usual->newest + i) % USUAL_SLICES].length_seconds = 0;
    usual->newest = slice;
    usual_add_up(usual);
}

void usual_learn(struct usual *usual, uint64_t mono_ns, double length_seconds,
                 double latency_seconds)
{
    uint64_t slice = mono_ns / (USUAL_SLICE_SECONDS * UINT64_C(1000000000)) + 1;
    if (!(latency_seconds > 0) || !isfinite(latency_seconds) || !(length_seconds > 0))
        return;
    if (slice > usual->newest)
        begin_slice(usual, slice);
    struct usual_slice *now = &usual->at[usual->newest % USUAL_SLICES];
    double in_all = (double)now->length_seconds + length_seconds;
    double before = now->length_seconds > 0 ? (double)now->latency_seconds : latency_seconds;
    now->latency_seconds = (float)(before + (latency_seconds - before) * length_seconds / in_all);
    now->length_seconds = (float)in_all;
    if (!(usual->seconds > 0))
        refresh_usual(usual);
}

bool usual_allows_calm(const struct usual *usual, double latency_seconds)
{
    return !(usual->seconds > 0) || latency_seconds <= calm_factor * usual->seconds;
}

/* ---- what is normal ---- */

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
