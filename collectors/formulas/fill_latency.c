#include "collectors/formulas/fill_latency.h"

#include <errno.h>
#include <math.h>

int fills_beyond(const struct fills *fills, struct fill_times times, double *out)
{
    if (!(fills->memory > 0) || !(times.l2 > 0) || !(times.l3 > 0) || !isfinite(times.l2) ||
        !isfinite(times.l3))
        return -ENODATA;
    double served = fills->l2 * times.l2 + fills->l3 * times.l3;
    double looks = served + fills->memory * times.l3;
    double beyond = fills->in_flight - looks;
    if (!(fills->in_flight >= FILLS_LEAST_SHARE_OF_LOOKS * looks))
        return -ERANGE;
    if (served > FILLS_LARGEST_CACHE_SHARE * fills->in_flight)
        return -ENODATA;
    if (!(beyond > 0))
        return -ERANGE;
    *out = beyond;
    return 0;
}

int fills_memory_cycles(const struct fills *fills, struct fill_times times, double *out)
{
    double beyond;
    int err = fills_beyond(fills, times, &beyond);
    if (!err)
        *out = beyond / fills->memory + times.l3;
    return err;
}

int fills_self_test(const struct fills *fills, double latency_seconds, double frequency_hz,
                    double *out)
{
    double cycles = fills->memory * latency_seconds * frequency_hz;
    if (!(cycles > 0) || !isfinite(cycles))
        return -ENODATA;
    *out = fills->in_flight / cycles;
    return 0;
}
