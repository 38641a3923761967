#include "collectors/learned/calm.h"

#include <math.h>
#include <string.h>

static const uint64_t slice_ns = 600ull * 1000000000ull;
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

/* Moves to the slice of this time, forgetting what lay where it and skipped ones lie now. */
static uint16_t *slice_at(struct calm *calm, uint64_t mono_ns)
{
    uint64_t slice = mono_ns / slice_ns + 1;
    if (calm->slice == 0)
        calm->slice = slice;
    for (uint64_t cleared = 0; calm->slice < slice; cleared++) {
        if (cleared == CALM_SLICES)
            calm->slice = slice; /* all are empty: go there at once */
        else
            memset(calm->count[++calm->slice % CALM_SLICES], 0, sizeof calm->count[0]);
    }
    return calm->count[calm->slice % CALM_SLICES];
}

bool calm_window(struct calm *calm, uint64_t mono_ns, double corunner_rate, double node_peak_rate)
{
    if (!isfinite(corunner_rate) || corunner_rate < 0)
        return false;
    int bucket = bucket_of(corunner_rate);
    uint16_t *now = slice_at(calm, mono_ns);
    if (now[bucket] < UINT16_MAX)
        now[bucket]++;

    uint32_t lower = 0, all = 0;
    for (int slice = 0; slice < CALM_SLICES; slice++) {
        for (int i = 0; i < CALM_BUCKETS; i++) {
            all += calm->count[slice][i];
            lower += i < bucket ? calm->count[slice][i] : 0;
        }
    }
    bool decile = lower * 10 < all;
    bool quiet = corunner_rate == 0 || corunner_rate < peak_share * node_peak_rate;
    return all >= CALM_MIN_WINDOWS && decile && quiet;
}
