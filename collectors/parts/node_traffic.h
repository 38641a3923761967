/*
 * How much the monitored containers of the node read together: what calm windows are measured
 * against. A container's co-runners read the rest.
 *
 * Of a container inside another one the outer counts the reads as well, since the kernel's counts
 * of a cgroup include its descendants: such reads are added once. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_NODE_TRAFFIC_H
#define IE_COLLECTORS_PARTS_NODE_TRAFFIC_H

#include <stdbool.h>

#include "collectors/contract/facts.h"
#include "collectors/learned/rate_peak.h"
#include "exporter/base/tick.h"

/* Zeroed: nothing was read yet. */
struct node_traffic {
    double rate; /* reads per second in this tick, of all containers that have a window */
    /* Some container that the exporter knows has no valid window in this tick: it is excluded, over
     * the limit, not opened, starved or reset. Nobody knows then what it read. */
    bool blind;
    struct rate_peak peak;
    /* A tenth of this is little for this node: the sliding hour's high rate, or what a socket takes
     * without noticing, whichever is more. */
    double high_rate;
};

/* A tick: begin, then one call for each container, then end. */
void node_traffic_begin(struct node_traffic *traffic, const struct facts *facts);
void node_traffic_add(struct node_traffic *traffic, double reads_per_second);
void node_traffic_miss(struct node_traffic *traffic);
void node_traffic_end(struct node_traffic *traffic, const struct tick *tick,
                      const struct facts *facts);

#endif
