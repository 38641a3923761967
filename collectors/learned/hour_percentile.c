#include "collectors/learned/hour_percentile.h"

#include <math.h>

static const double lowest_seconds = 10e-9;
static const double bucket_ratio = 1.02;

void hour_percentile_add(struct hour_percentile *hour, uint64_t mono_ns, double seconds)
{
    if (!isfinite(seconds) || seconds <= 0)
        return;
    double at = floor(log(seconds / lowest_seconds) / log(bucket_ratio));
    int bucket = (int)fmin(fmax(at, 0), HOUR_BUCKETS - 1);
    slices_count(&hour->slices, mono_ns, hour->count[0], HOUR_BUCKETS, (size_t)bucket);
}

double hour_percentile_seconds(const struct hour_percentile *hour, double share)
{
    uint32_t sum[HOUR_BUCKETS] = {0};
    uint64_t all = 0, below = 0;
    for (int slice = 0; slice < SLICES; slice++) {
        for (int i = 0; i < HOUR_BUCKETS; i++) {
            sum[i] += hour->count[slice][i];
            all += hour->count[slice][i];
        }
    }
    for (int i = 0; i < HOUR_BUCKETS; i++) {
        below += sum[i];
        if (below > 0 && (double)below >= share * (double)all)
            return lowest_seconds * pow(bucket_ratio, i + 0.5);
    }
    return NAN;
}

uint32_t hour_percentile_readings(const struct hour_percentile *hour)
{
    uint32_t all = 0;
    for (int slice = 0; slice < SLICES; slice++)
        for (int i = 0; i < HOUR_BUCKETS; i++)
            all += hour->count[slice][i];
    return all;
}
