/*
 * A percentile of the latencies of a sliding day, in bounded memory: logarithmic buckets 4 % wide,
 * by two-hour slices. Pure, embedded.
 */
#ifndef IE_COLLECTORS_LEARNED_DAY_PERCENTILE_H
#define IE_COLLECTORS_LEARNED_DAY_PERCENTILE_H

#include <stdint.h>

/* Bucket i holds [10 ns * 1.04^i, ... * 1.04): 160 of them reach 5.3 us; the ends are open. Slices:
 * the current two hours and the twelve before, so the day is between 24 and 26 hours long. */
enum { DAY_BUCKETS = 160, DAY_SLICES = 13, DAY_SLICE_SECONDS = 7200 };

/* Zeroed: empty. */
struct day_percentile {
    uint16_t count[DAY_SLICES][DAY_BUCKETS]; /* windows, saturating */
    float seconds[DAY_SLICES];               /* how long those windows were */
    uint64_t slice;                          /* number of the newest slice, from 1; 0: empty */
};

/* A window of this length had this latency. Time that runs backwards counts as now; a latency that
 * is not above 0 and finite is ignored. */
void day_percentile_add(struct day_percentile *day, uint64_t mono_ns, double length_seconds,
                        double latency_seconds);

/* How much time of windows the day holds. */
double day_percentile_time(const struct day_percentile *day);

/* The latency below which this share (0 < share <= 1) of the windows lies, interpolated inside its
 * bucket. NaN when empty. It goes through all buckets: for once a minute, not for each tick. */
double day_percentile_seconds(const struct day_percentile *day, double share);

#endif
