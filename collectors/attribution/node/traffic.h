/*
 * The traffic of a node, and how much all of it together moves the latency (ATTRIBUTION.md
 * section 6): the estimator with one column, x = sum of T / peak. Its slope says of each container
 * what to expect before anything is known of it.
 *
 * The peak is the 99th percentile of the sliding hour (collectors/learned/hour.h), and the unit in
 * which the node's estimators know activities. When it changes, all that they have learned is
 * converted, so that a new peak is not taken for a change of activity.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_TRAFFIC_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_TRAFFIC_H

#include "collectors/attribution/regression/estimator.h"
#include "collectors/learned/hour.h"
#include "exporter/base/clock.h"
#include "exporter/state/fields.h"

struct pooled {
    struct rate_peak peak;
    double unit; /* lines a second that are an activity of 1 */
    struct attribution_member all;
    struct attribution_domain domain;
};

/* 0 or -ENOMEM. For free(). */
int pooled_new(struct pooled **out);

/* How it outlives a restart (collectors/learned/serialise.h), read into a new one: the peak, and
 * the sums of the regression. Levels and noise are learned anew, within seconds. Where the walk
 * failed, it is to be thrown away. */
void pooled_serialise(struct pooled *pooled, struct state_fields *fields);

/* Log latency per unit: 0 where the slope is not significant, a score of at least 4. */
double pooled_slope(const struct pooled *pooled);

/* ---- the traffic of a node ---- */

struct attribution_node;

/* Before a reading is taken: the traffic of all, lines a second. Who had a rate before and has none
 * now is taken at his mean, as if nothing had changed, as long as that is little: of hundreds there
 * is mostly one that was not counted. NaN: not known. */
double attribution_node_traffic(const struct attribution_node *node);
/* After that: what everybody has, lines a second; NaN: not known in this tick. Not 'counted':
 * nobody knows. Where that changes, what was learned goes on from the new total. */
void attribution_node_measure(struct attribution_node *node, bool counted, double everybody);
/* Of one of them, as a part of that. */
double attribution_seat_traffic(const struct attribution_node *node, size_t slot);

/* In a reading, after that: rates in units of the peak, and what to expect of everybody's. Returns
 * the host's. */
double attribution_node_convert(struct attribution_node *node, const struct tick *tick,
                                double latency_ns, struct attribution_scratch *scratch);

#endif
