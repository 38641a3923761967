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

/* Whether fewer than a tenth of the windows lie in lower buckets. Nothing lies below the lowest:
 * the newest slice is enough then, and of a thousand histories little is in a cache. */
static bool is_lowest_decile(const struct calm *calm, int bucket)
{
    uint32_t lower = 0, all = 0;
    for (uint64_t age = 0; age < SLICES; age++) {
        const uint16_t *count = calm->count[(calm->slices.newest + SLICES - age) % SLICES];
        for (int i = 0; i < CALM_BUCKETS; i++) {
            all += count[i];
            lower += i < bucket ? count[i] : 0;
        }
        if (bucket == 0 && all >= CALM_MIN_WINDOWS)
            return true;
    }
    return all >= CALM_MIN_WINDOWS && lower * 10 < all;
}

bool calm_window(struct calm *calm, uint64_t mono_ns, double corunner_rate, double node_peak_rate)
{
    if (!isfinite(corunner_rate) || corunner_rate < 0)
        return false;
    int bucket = bucket_of(corunner_rate);
    slices_count(&calm->slices, mono_ns, calm->count[0], CALM_BUCKETS, (size_t)bucket);
    bool quiet = corunner_rate == 0 || corunner_rate < peak_share * node_peak_rate;
    return quiet && is_lowest_decile(calm, bucket);
}
