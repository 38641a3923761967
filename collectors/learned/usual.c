#include "collectors/learned/usual.h"

#include <math.h>

static const double share = 0.2;
static const double min_seconds = 600;
static const double calm_factor = 1.25;

double usual_time(const struct usual *usual)
{
    double seconds = 0;
    for (int i = 0; i < USUAL_SLICES; i++)
        seconds += (double)usual->length_seconds[i];
    return seconds;
}

/* The next higher latency, and for how long it was that. */
static float next_above(const struct usual *usual, float latency, double *seconds)
{
    float next = INFINITY;
    for (int i = 0; i < USUAL_SLICES; i++) {
        float at = usual->latency_seconds[i];
        if (!(usual->length_seconds[i] > 0) || at <= latency || at > next)
            continue;
        *seconds = (at < next ? 0 : *seconds) + (double)usual->length_seconds[i];
        next = at;
    }
    return next;
}

/* It goes through all that it remembers a few dozen times: once for each slice. */
static void refresh(struct usual *usual)
{
    double all = usual_time(usual), below = 0, seconds = 0;
    float latency = 0;
    if (all < min_seconds)
        return;
    while (below < share * all) {
        latency = next_above(usual, latency, &seconds);
        below += seconds;
    }
    usual->seconds = (double)latency;
}

static void begin_slice(struct usual *usual, uint64_t slice)
{
    refresh(usual);
    uint64_t gap = usual->newest > 0 ? slice - usual->newest : 0;
    for (uint64_t i = 1; i <= gap && i <= USUAL_SLICES; i++)
        usual->length_seconds[(usual->newest + i) % USUAL_SLICES] = 0;
    usual->newest = slice;
}

void usual_learn(struct usual *usual, uint64_t mono_ns, double length_seconds,
                 double latency_seconds)
{
    uint64_t slice = mono_ns / (USUAL_SLICE_SECONDS * UINT64_C(1000000000)) + 1;
    if (!(latency_seconds > 0) || !isfinite(latency_seconds) || !(length_seconds > 0))
        return;
    if (slice > usual->newest)
        begin_slice(usual, slice);
    float *length = &usual->length_seconds[usual->newest % USUAL_SLICES];
    float *mean = &usual->latency_seconds[usual->newest % USUAL_SLICES];
    double in_all = (double)*length + length_seconds;
    double before = *length > 0 ? (double)*mean : latency_seconds;
    *mean = (float)(before + (latency_seconds - before) * length_seconds / in_all);
    *length = (float)in_all;
    if (!(usual->seconds > 0))
        refresh(usual);
}

bool usual_allows_calm(const struct usual *usual, double latency_seconds)
{
    return !(usual->seconds > 0) || latency_seconds <= calm_factor * usual->seconds;
}
