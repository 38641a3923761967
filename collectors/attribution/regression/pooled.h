/*
 * How much all the traffic of a node together moves its latency (ATTRIBUTION.md section 6): the
 * estimator with one column, x = sum of T / peak. Its slope says of each container what to expect
 * before anything is known of it.
 *
 * The peak is the 99th percentile of the sliding hour (collectors/learned/hour.h), and the
 * unit in which the node's estimators know activities. When it changes, all that they have learned
 * is converted, so that a new peak is not taken for a change of activity.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_REGRESSION_POOLED_H
#define IE_COLLECTORS_ATTRIBUTION_REGRESSION_POOLED_H

#include "collectors/attribution/regression/estimator.h"
#include "collectors/learned/hour.h"
#include "exporter/state/fields.h"

struct pooled {
    struct rate_peak peak;
    double unit; /* lines a second that are an activity of 1 */
    struct attribution_member all;
    struct attribution_domain domain;
};

/* 0 or -ENOMEM. For free(). */
int pooled_new(struct pooled **out);

/* How it outlives a restart (collectors/learned/keep.h), read into a new one: the peak, and the
 * sums of the regression. Levels and noise are learned anew, within seconds. Where the walk failed,
 * it is to be thrown away. */
void pooled_keep(struct pooled *pooled, struct state_fields *fields);

/* A tick's total, lines a second; NaN: not known. What activities until now must be multiplied by,
 * as this one's own have been already. */
double pooled_measure(struct pooled *pooled, uint64_t mono_ns, double total,
                      struct attribution_scratch *scratch);

/* The tick's latency, after pooled_measure. */
void pooled_take(struct pooled *pooled, double latency_ns, double total,
                 struct attribution_scratch *scratch);

/* From now on the total is of others as well, or no longer of them, who have so many lines a
 * second: no change of activity. Between ticks. */
void pooled_shift(struct pooled *pooled, double lines_per_second);

/* Log latency per unit: 0 where the slope is not significant, a score of at least 4. */
double pooled_slope(const struct pooled *pooled);

#endif
