/*
 * A percentile of a sliding hour of latencies, in bounded memory: logarithmic buckets 2 % wide.
 * Pure, embedded.
 */
#ifndef IE_COLLECTORS_LEARNED_HOUR_PERCENTILE_H
#define IE_COLLECTORS_LEARNED_HOUR_PERCENTILE_H

#include "collectors/learned/slices.h"

/* Bucket i holds [10 ns * 1.02^i, ... * 1.02): 350 of them reach 10 us; the ends are open. */
enum { HOUR_BUCKETS = 350 };

/* Zeroed: empty. */
struct hour_percentile {
    uint16_t count[SLICES][HOUR_BUCKETS];
    struct slices slices;
};

/* Time that runs backwards counts as now; what is not above 0 and finite is ignored. */
void hour_percentile_add(struct hour_percentile *hour, uint64_t mono_ns, double seconds);

/* The middle of the bucket in which the share (0 < share <= 1) is reached, so within 1 % of the
 * true percentile between 10 ns and 10 us. NaN when empty. */
double hour_percentile_seconds(const struct hour_percentile *hour, double share);

/* How many are in it. */
uint32_t hour_percentile_readings(const struct hour_percentile *hour);

#endif
