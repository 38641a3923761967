/*
 * How much memory traffic the node has: what calm windows are measured against. A container's
 * co-runners have the rest of it.
 *
 * Measured in the first of two ways that is known, and never in a mixture of both:
 *
 *     lines   what the memory controllers count (cas_traffic.h): of everybody, whether monitored or
 *             not. Where the monitored containers read more, it is what they read.
 *     reads   the demand reads of the monitored containers, where every container is monitored
 *
 * A container's own part is its demand reads in both. Of lines it has more, by its own prefetches
 * and writes, which count as its co-runners': calm windows are then fewer, and none is calm that is
 * not. A container whose own prefetches and writes are a tenth of the node's traffic is never calm.
 *
 * By socket (sockets.h): a co-runner on another socket is none.
 *
 * Of a container inside another one the outer counts the reads as well, since the kernel's counts
 * of a cgroup include its descendants: such reads are added once. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_NODE_TRAFFIC_H
#define IE_COLLECTORS_PARTS_NODE_TRAFFIC_H

#include <stdbool.h>

#include "collectors/learned/hour.h"
#include "collectors/parts/cas_traffic.h"
#include "exporter/base/clock.h"
#include "exporter/state/state.h"

/* Zeroed: nothing was read yet, and there are no controllers. */
struct node_traffic {
    struct cas_traffic cas;
    bool by_lines;     /* else by reads */
    uint64_t lines_ns; /* when lines were known last */

    /* Of this tick. */
    double rate[SOCKETS_AND_ALL]; /* per second */
    bool known;                   /* so is what the co-runners have of it */
    bool by_socket;               /* the sockets' rates are known as well */

    /* Some container that the exporter knows has no valid window in this tick: it is excluded, over
     * the limit, not opened, starved or reset. Nobody knows then what it read. */
    bool blind;
    /* Something was read on a CPU whose socket is not known. For good: measures do not alternate.
     */
    bool unplaced;

    struct rate_peak peak[SOCKETS_AND_ALL];
    /* A tenth of this is little for this socket: the sliding hour's high rate, or what a socket
     * takes without noticing, whichever is more. */
    double high_rate[SOCKETS_AND_ALL];
};

/* At the collector's start, and at its end. */
void node_traffic_open(struct node_traffic *traffic, const struct collector_env *env,
                       const char *collector);
void node_traffic_close(struct node_traffic *traffic);

/*
 * A tick: begin, then one call for each container, then end.
 *
 * add: reads per second by socket; 'placed' is whether the sockets' are known.
 * miss: a container whose window is not valid.
 */
void node_traffic_begin(struct node_traffic *traffic, const struct facts *facts);
void node_traffic_add(struct node_traffic *traffic, const double reads_per_second[SOCKETS_AND_ALL],
                      bool placed);
void node_traffic_miss(struct node_traffic *traffic);
void node_traffic_end(struct node_traffic *traffic, const struct tick *tick,
                      const struct facts *facts);

/* What it learned of the node outlives a restart, as the owner's entry without a key. 'state' may
 * be NULL. */
void node_traffic_save(struct node_traffic *traffic, const char *owner, struct state_writer *out);
void node_traffic_restore(struct node_traffic *traffic, const char *owner, struct state *state);

#endif
