#include "collectors/learned/unloaded.h"

#include <math.h>

void unloaded_learn(struct unloaded *unloaded, const struct unloaded_window *window)
{
    if (unloaded->windows < CALM_MIN_WINDOWS)
        unloaded->windows++;
    unloaded->ever_calm |= window->calm;
    if (!window->calm || window->accesses == 0)
        return;
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

double unloaded_latency_seconds(const struct unloaded *unloaded)
{
    bool enough =
        unloaded->calm_windows >= UNLOADED_MIN_WINDOWS && unloaded->misses >= UNLOADED_MIN_COUNT;
    return enough ? unloaded->wait_seconds / unloaded->misses : NAN;
}

double unloaded_miss_ratio(const struct unloaded *unloaded)
{
    bool enough =
        unloaded->calm_windows >= UNLOADED_MIN_WINDOWS && unloaded->accesses >= UNLOADED_MIN_COUNT;
    return enough ? unloaded->misses / unloaded->accesses : NAN;
}

bool unloaded_never_calm(const struct unloaded *unloaded)
{
    return unloaded->windows >= CALM_MIN_WINDOWS && !unloaded->ever_calm;
}
