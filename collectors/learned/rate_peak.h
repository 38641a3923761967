/*
 * The high rate of a sliding hour: its 99th percentile, so that one odd window does not count, nor
 * a spike of ten seconds. In bounded memory: logarithmic buckets, ratio 2^(1/8). Pure, embedded.
 */
#ifndef IE_COLLECTORS_LEARNED_RATE_PEAK_H
#define IE_COLLECTORS_LEARNED_RATE_PEAK_H

#include "collectors/learned/slices.h"

/* Bucket 0 is everything below 16 per second, bucket i begins at 2^(4 + (i - 1) / 8); the last is
 * open, at 2^35 per second. */
enum { RATE_BUCKETS = 250 };

/* Zeroed: empty. */
struct rate_peak {
    uint16_t count[SLICES][RATE_BUCKETS];
    struct slices slices;
};

/* Adds a window's rate per second; what is negative or not finite is ignored. */
void rate_peak_add(struct rate_peak *peak, uint64_t mono_ns, double rate);

/* The upper edge of the bucket that holds the 99th percentile, so at most 9 % too high; with fewer
 * than 100 windows that of the highest. 0 when empty or when nothing was above 16 per second. */
double rate_peak_find(const struct rate_peak *peak);

#endif
