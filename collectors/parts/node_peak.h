/*
 * The highest rate at which the monitored containers of the node ever read memory together: what
 * calm windows are measured against. Pure, embedded.
 */
#ifndef IE_COLLECTORS_PARTS_NODE_PEAK_H
#define IE_COLLECTORS_PARTS_NODE_PEAK_H

#include "exporter/base/tick.h"

/* Zeroed: nothing was read yet. */
struct node_peak {
    uint64_t last_mono_ns; /* of the last tick; 0: none */
    double rate;           /* reads per second */
};

/* Adds a tick, in which all containers together read so often. */
void node_peak_update(struct node_peak *peak, const struct tick *tick, uint64_t node_reads);

#endif
