#include "collectors/learned/rate_peak.h"

#include <math.h>

static const double lowest_rate = 16;
static const double per_octave = 8;

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
    uint32_t sum[RATE_BUCKETS] = {0}, all = 0, above = 0;
    for (int slice = 0; slice < SLICES; slice++) {
        for (int i = 0; i < RATE_BUCKETS; i++) {
            sum[i] += peak->count[slice][i];
            all += peak->count[slice][i];
        }
    }
    for (int i = RATE_BUCKETS - 1; i > 0; i--) {
        above += sum[i];
        if (above * 100 > all)
            return lowest_rate * exp2(i / per_octave);
    }
    return 0;
}
