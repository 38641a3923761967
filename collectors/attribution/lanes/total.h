/*
 * The traffic of a NUMA node's memory by everybody, cache lines per second: of the containers that
 * are counted, of those that are not, of the host's processes, and of devices.
 *
 * By the memory controllers (parts/cas_traffic.h), read and written lines. A container's traffic is
 * in the same unit (activity.h), but two things are counted differently: the controllers see lines
 * where the memory is, the containers' counters where the CPU is that asked for them; and evictions
 * of lines that were changed in the caches, prefetches of the L3 and stores past the caches are the
 * controllers' alone. What the controllers have more is therefore the host's, and what they have
 * less by up to a tenth is nobody's. Where they have less than that, what the containers do is not
 * what the controllers see: memory of another socket, or a kind of memory that these controllers do
 * not serve. The host's part is then not known.
 *
 * Only where a NUMA node is what some controllers serve, all of it and nothing else: with one node,
 * or with one on each socket. Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_TOTAL_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_TOTAL_H

#include "collectors/attribution/lanes/lane.h"
#include "collectors/parts/cas_traffic.h"
#include "exporter/base/clock.h"

/* Zeroed: nobody counts it. */
struct traffic_total {
    struct cas_traffic cas;
    bool counted, known; /* known: in this tick, which counted says nothing about */
    uint64_t counted_ns; /* the last time */
};

/* The log says where there are none. Closed by cas_traffic_close(). */
void traffic_total_open(struct traffic_total *total, const struct collector_env *env);

/* Once a tick. Whoever was silent for a minute does not count any more; until then ticks without
 * counts have no total, so that it does not jump between what all and what the containers have. */
void traffic_total_read(struct traffic_total *total, const struct tick *tick);
/* The same, and every node learns what everybody has, when the containers' rates are shared. */
void traffic_total_measure(struct traffic_total *total, const struct attribution_context *in,
                           const struct tick *tick);

/* Of the node with this number, in this tick; NaN: not known. False: nobody counts it. */
bool traffic_total_of(const struct traffic_total *total, const struct machine *machine,
                      int numa_node, double *lines_per_second);

#endif
