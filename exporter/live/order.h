/* Who is in trouble, and who makes it. Pure. */
#ifndef IE_LIVE_ORDER_H
#define IE_LIVE_ORDER_H

#include "exporter/live/live.h"

/* Read latency divided by what is normal; NaN: one of them is not known. */
double live_ratio(const struct live_container *container);
/* The larger of that and the slowdown; NaN: neither is known. */
double live_trouble(const struct live_container *container);

/* Seconds; NaN: it does not wait. */
double live_waits_seconds(const struct live_view *view, const struct live_container *container);
/* Times as long as alone: what the alert InterferenceContainerSlowdown calls slow, too, unless it
 * is told otherwise (slowdownBound in dashboards/config.libsonnet, which a check compares with
 * this). */
#define LIVE_SLOWDOWN_BOUND 1.5

/* By that, or by its own limit, whatever it is that slows it down. */
bool live_is_slowed(const struct live_container *container);

/* All reads of the containers per second; NaN: nobody's are known. */
double live_all_reads(const struct live_view *view);

/*
 * Those that wait, by their trouble; then those that make memory slow, the surest first; then the
 * others by their trouble, their CPU time and their names. An order without ties. Says who is
 * named.
 */
void live_sort(struct live_view *view);

#endif
