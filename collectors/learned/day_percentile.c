#include "collectors/learned/day_percentile.h"

#include <math.h>
#include <string.h>

static const uint64_t slice_ns = DAY_SLICE_SECONDS * 1000000000ull;
static const double lowest_seconds = 10e-9;
static const double bucket_ratio = 1.04;

static void move_to(struct day_percentile *day, uint64_t slice)
{
    if (day->slice == 0)
        day->slice = slice;
    if (slice > day->slice && slice - day->slice >= DAY_SLICES) {
        memset(day->count, 0, sizeof day->count);
        memset(day->seconds, 0, sizeof day->seconds);
        day->slice = slice;
    }
    while (day->slice < slice) {
        uint64_t i = ++day->slice % DAY_SLICES;
        memset(day->count[i], 0, sizeof day->count[i]);
        day->seconds[i] = 0;
    }
}

void day_percentile_add(struct day_percentile *day, uint64_t mono_ns, double length_seconds,
                        double latency_seconds)
{
    if (!isfinite(latency_seconds) || latency_seconds <= 0)
        return;
    move_to(day, mono_ns / slice_ns + 1);
    double at = floor(log(latency_seconds / lowest_seconds) / log(bucket_ratio));
    int bucket = (int)fmin(fmax(at, 0), DAY_BUCKETS - 1);
    uint16_t *count = &day->count[day->slice % DAY_SLICES][bucket];
    if (*count < UINT16_MAX)
        (*count)++;
    day->seconds[day->slice % DAY_SLICES] += (float)length_seconds;
}

double day_percentile_time(const struct day_percentile *day)
{
    double sum = 0;
    for (int slice = 0; slice < DAY_SLICES; slice++)
        sum += (double)day->seconds[slice];
    return sum;
}

double day_percentile_seconds(const struct day_percentile *day, double share)
{
    uint32_t sum[DAY_BUCKETS] = {0};
    uint64_t all = 0;
    for (int slice = 0; slice < DAY_SLICES; slice++) {
        for (int i = 0; i < DAY_BUCKETS; i++) {
            sum[i] += day->count[slice][i];
            all += day->count[slice][i];
        }
    }
    double wanted = share * (double)all, below = 0;
    for (int i = 0; i < DAY_BUCKETS; i++) {
        if (sum[i] > 0 && below + sum[i] >= wanted)
            return lowest_seconds * pow(bucket_ratio, i + (wanted - below) / sum[i]);
        below += sum[i];
    }
    return NAN;
}
