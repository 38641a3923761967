#include "collectors/learned/baseline.h"

/* From fewer windows than this it would be noise. */
enum { MIN_WINDOWS = 10 };
/* After this many the mean forgets: an hour of one-second windows. */
enum { MEMORY_WINDOWS = 3600 };
/* A busy window has at least this many reads and this share of one CPU. */
enum { BUSY_MIN_READS = 1000 };
static const double busy_min_cpu = 0.1;

void baseline_learn(struct baseline *baseline, const struct baseline_window *window)
{
    bool busy = window->reads >= BUSY_MIN_READS &&
                window->cpu_seconds >= busy_min_cpu * window->length_seconds;
    if (!window->calm || !busy || !window->known)
        return;
    if (baseline->windows < MEMORY_WINDOWS)
        baseline->windows++;
    baseline->seconds += (window->latency_seconds - baseline->seconds) / baseline->windows;
}

bool baseline_find(const struct baseline *baseline, double *seconds)
{
    if (baseline->windows < MIN_WINDOWS)
        return false;
    *seconds = baseline->seconds;
    return true;
}
