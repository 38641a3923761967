#include "collectors/probe/calibration.h"

#include <stdlib.h>

/* Of doubles, or of what begins with one. */
static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

bool cache_calibration_add(struct cache_calibration *calibration, double latency_seconds,
                           double cache, double *out)
{
    if (calibration->n == CALIBRATION_BURSTS)
        return false;
    calibration->burst[calibration->n].latency_seconds = latency_seconds;
    calibration->burst[calibration->n].cache = cache;
    if (++calibration->n < CALIBRATION_BURSTS)
        return false;
    qsort(calibration->burst, CALIBRATION_BURSTS, sizeof *calibration->burst, ascending);
    double idle[CALIBRATION_IDLE];
    for (int i = 0; i < CALIBRATION_IDLE; i++)
        idle[i] = calibration->burst[i].cache;
    qsort(idle, CALIBRATION_IDLE, sizeof *idle, ascending);
    *out = (idle[CALIBRATION_IDLE / 2 - 1] + idle[CALIBRATION_IDLE / 2]) / 2;
    return true;
}

bool hit_calibration_add(struct hit_calibration *calibration, double seconds, double *out)
{
    double *lowest = calibration->lowest;
    if (calibration->n == 0 || seconds < lowest[0]) {
        lowest[1] = lowest[0];
        lowest[0] = seconds;
    } else if (calibration->n == 1 || seconds < lowest[1]) {
        lowest[1] = seconds;
    }
    if (++calibration->n < CALIBRATION_HITS)
        return false;
    *out = lowest[1];
    return true;
}

void hit_calibration_serialise(struct hit_calibration *calibration, struct state_fields *fields)
{
    uint32_t n = calibration->n < CALIBRATION_HITS ? (uint32_t)calibration->n : CALIBRATION_HITS;
    double *lowest = calibration->lowest;
    state_u32(fields, &n, CALIBRATION_HITS);
    for (int i = 0; i < 2; i++)
        state_double(fields, &lowest[i], 0, 1e-3);
    state_check(fields, n < 1 || lowest[0] > 0);
    state_check(fields, n < 2 || lowest[1] >= lowest[0]);
    if (state_reading(fields))
        calibration->n = n;
}
