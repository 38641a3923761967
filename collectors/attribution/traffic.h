/*
 * What a container did to the memory of every node: cache lines per second, from the group traffic
 * ("basis": "traffic").
 *
 *     T = llc_misses + min(rfo, llc_misses)
 *
 * A line for each miss, prefetches and stores included, and for stores the line that is written
 * back later. Where RFOs cannot be counted, T is the misses alone. By CPU as CPU time is, see
 * activity.h: what ran on the probe's own CPU took turns with it.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_TRAFFIC_H
#define IE_COLLECTORS_ATTRIBUTION_TRAFFIC_H

#include "collectors/attribution/activity.h"

enum traffic_window {
    TRAFFIC_OK,
    TRAFFIC_STARVED, /* too much of it ran while the counters were another group's */
    TRAFFIC_RESET,   /* a total fell */
};

/* The window's, which spans so many seconds (> 0). *out is known where TRAFFIC_OK is returned. */
enum traffic_window traffic_of_window(const struct group_window *window,
                                      const struct activity_nodes *nodes, double seconds,
                                      struct activity *out);

#endif
