/*
 * A sliding hour in bounded memory: counts by bucket, by slices of ten minutes, the current one and
 * the six before, so that the hour is between 60 and 70 minutes long. Of latencies, which say any
 * percentile, and of rates, which say the high one. Pure, embedded; zeroed: empty. Time that runs
 * backwards counts as now.
 */
#ifndef IE_COLLECTORS_LEARNED_HOUR_H
#define IE_COLLECTORS_LEARNED_HOUR_H

#include <stddef.h>
#include <stdint.h>

enum { SLICES = 7, SLICE_SECONDS = 600 };

/* Beside the counts, uint16_t count[SLICES][buckets], of its owner. */
struct slices {
    uint64_t newest; /* number of the newest slice, from 1; 0: none */
};

/* Counts one more in the bucket (saturating), in the slice of this time; forgets slices that are
 * too old by then. */
void slices_count(struct slices *slices, uint64_t mono_ns, uint16_t *count, size_t buckets,
                  size_t bucket);

/* Bucket i holds [10 ns * 1.02^i, ... * 1.02): 350 of them reach 10 us; the ends are open. */
enum { HOUR_BUCKETS = 350 };

struct hour_percentile {
    uint16_t count[SLICES][HOUR_BUCKETS];
    struct slices slices;
};

/* What is not above 0 and finite is ignored. */
void hour_percentile_add(struct hour_percentile *hour, uint64_t mono_ns, double seconds);

/* The middle of the bucket in which the share (0 < share <= 1) is reached, so within 1 % of the
 * true percentile between 10 ns and 10 us. NaN when empty. */
double hour_percentile_seconds(const struct hour_percentile *hour, double share);

/* How many are in it. */
uint32_t hour_percentile_readings(const struct hour_percentile *hour);

/* The 99th percentile of rates, so that one odd window does not count, nor a spike of ten seconds.
 * Bucket 0 is everything below 16 per second, bucket i begins at 2^(4 + (i - 1) / 8); the last is
 * open, at 2^35 per second. */
enum { RATE_BUCKETS = 250 };

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
