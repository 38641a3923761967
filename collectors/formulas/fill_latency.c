#include "collectors/formulas/fill_latency.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

int fills_beyond(const struct fills *fills, struct fill_times times, double *out)
{
    if (!(fills->memory > 0) || !(times.l2 > 0) || !(times.l3 > 0) || !isfinite(times.l2) ||
        !isfinite(times.l3))
        return -ENODATA;
    double served = fills->l1 * times.l1 + fills->l2 * times.l2 + fills->l3 * times.l3;
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

/* What was served here, of 'came', when 'left' went on: as windows are read one counter after the
 * other, a little more may have. */
static bool serve(double came, double left, double *served)
{
    *served = came > left ? came - left : 0;
    return left <= 1.05 * came;
}

int fills_of_loads(double in_flight, double loads, double l1_misses, double llc_reads,
                   double llc_misses, struct fills *out)
{
    struct fills fills = {.in_flight = in_flight, .memory = llc_misses};
    if (!serve(loads, l1_misses, &fills.l1) || !serve(l1_misses, llc_reads, &fills.l2) ||
        !serve(llc_reads, llc_misses, &fills.l3))
        return -ERANGE;
    *out = fills;
    return 0;
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
