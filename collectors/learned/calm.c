#include "collectors/learned/calm.h"

#include <math.h>

static const double peak_share = 0.1;

static int bucket_of(double rate)
{
    if (rate < 16)
        return 0;
    int exponent;
    double mantissa = frexp(rate, &exponent); /* in [0.5, 1): rate = mantissa * 2^exponent */
    int bucket = 2 * (exponent - 5) + (mantissa >= M_SQRT1_2) + 1;
    return bucket < CALM_BUCKETS ? bucket : CALM_BUCKETS - 1;
}

void calm_measured_by(struct calm *calm, enum traffic_measure measure)
{
    if (calm->measure != measure)
        *calm = (struct calm){.measure = measure};
}

bool calm_window(struct calm *calm, uint64_t mono_ns, double corunner_rate, double node_peak_rate)
{
    if (!isfinite(corunner_rate) || corunner_rate < 0)
        return false;
    int bucket = bucket_of(corunner_rate);
    slices_count(&calm->slices, mono_ns, calm->count[0], CALM_BUCKETS, (size_t)bucket);

    uint32_t lower = 0, all = 0;
    for (int slice = 0; slice < SLICES; slice++) {
        for (int i = 0; i < CALM_BUCKETS; i++) {
            all += calm->count[slice][i];
            lower += i < bucket ? calm->count[slice][i] : 0;
        }
    }
    bool decile = lower * 10 < all;
    bool quiet = corunner_rate == 0 || corunner_rate < peak_share * node_peak_rate;
    return all >= CALM_MIN_WINDOWS && decile && quiet;
}
