#include "collectors/learned/hour.h"

#include <math.h>
#include <string.h>

static const uint64_t slice_ns = SLICE_SECONDS * 1000000000ull;
static const double lowest_seconds = 10e-9, bucket_ratio = 1.02;
static const double lowest_rate = 16, per_octave = 8;

/* Moves to the slice of this time, forgetting what lay where it and skipped ones lie now. */
static void move(struct slices *slices, uint64_t mono_ns, uint16_t *count, size_t buckets)
{
    uint64_t slice = mono_ns / slice_ns + 1;
    if (slices->newest == 0)
        slices->newest = slice;
    if (slice > slices->newest && slice - slices->newest >= SLICES) {
        memset(count, 0, SLICES * buckets * sizeof *count);
        slices->newest = slice;
    }
    while (slices->newest < slice)
        memset(count + ++slices->newest % SLICES * buckets, 0, buckets * sizeof *count);
}

void slices_count(struct slices *slices, uint64_t mono_ns, uint16_t *count, size_t buckets,
                  size_t bucket)
{
    move(slices, mono_ns, count, buckets);
    uint16_t *now = &count[slices->newest % SLICES * buckets + bucket];
    if (*now < UINT16_MAX)
        (*now)++;
}

/* Of all slices, by bucket; returns how many there are. */
static uint32_t sum_up(const uint16_t *count, size_t buckets, uint32_t *sum)
{
    uint32_t all = 0;
    memset(sum, 0, buckets * sizeof *sum);
    for (int slice = 0; slice < SLICES; slice++)
        for (size_t i = 0; i < buckets; i++, count++) {
            sum[i] += *count;
            all += *count;
        }
    return all;
}

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
    uint32_t sum[HOUR_BUCKETS], all = sum_up(hour->count[0], HOUR_BUCKETS, sum), below = 0;
    for (int i = 0; i < HOUR_BUCKETS; i++) {
        below += sum[i];
        if (below > 0 && below >= share * all)
            return lowest_seconds * pow(bucket_ratio, i + 0.5);
    }
    return NAN;
}

uint32_t hour_percentile_readings(const struct hour_percentile *hour)
{
    uint32_t sum[HOUR_BUCKETS];
    return sum_up(hour->count[0], HOUR_BUCKETS, sum);
}

void rate_peak_add(struct rate_peak *peak, uint64_t mono_ns, double rate)
{
    if (!isfinite(rate) || rate < 0)
        return;
    double at = rate < lowest_rate ? 0 : floor(log2(rate / lowest_rate) * per_octave) + 1;
    slices_count(&peak->slices, mono_ns, peak->count[0], RATE_BUCKETS,
                 (size_t)fmin(at, RATE_BUCKETS - 1));
}

double rate_peak_find(const struct rate_peak *peak)
{
    uint32_t sum[RATE_BUCKETS], all = sum_up(peak->count[0], RATE_BUCKETS, sum), above = 0;
    for (int i = RATE_BUCKETS - 1; i > 0; i--) {
        above += sum[i];
        if (above * 100 > all)
            return lowest_rate * exp2(i / per_octave);
    }
    return 0;
}
