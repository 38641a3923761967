/*
 * How busy a container, or the whole machine, was beside the probe: CPU seconds per second, by NUMA
 * node ("basis": "cpu_time").
 *
 * From the clocks of any group of the scope: a group is enabled while its scope runs. What ran on
 * the probe's own CPU cannot have been in the probe's way, since they took turns. A container is
 * taken to use the memory of the node that it runs on, as the kernel and Kubernetes place memory
 * where they can. Where it is not known on which CPU, or on which node, something ran, it counts
 * for every node.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_ACTIVITY_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_ACTIVITY_H

#include <stdbool.h>

#include "exporter/source/machine.h"
#include "exporter/source/open_groups.h"

/* Nodes that have a domain; of more, the first. */
enum { ATTRIBUTION_NODES = 16 };

/* Whose memory is watched, and from which CPU. */
struct activity_nodes {
    const struct machine *machine; /* borrowed */
    size_t n;
    struct {
        int numa_node;
        int probe_cpu; /* -1: not known */
    } at[ATTRIBUTION_NODES];
};

struct activity {
    bool placed; /* whatever ran has a CPU whose node is known */
    double all;  /* on any CPU, the probe's included */
    double on[ATTRIBUTION_NODES];
};

/* So much of it ran on this CPU; -1: not known which. */
void activity_add(struct activity *out, const struct activity_nodes *nodes, int cpu, double rate);

/* The window's, which spans so many seconds (> 0). False, with *out unknown: a clock fell. */
bool activity_of_window(const struct group_window *window, const struct activity_nodes *nodes,
                        double seconds, struct activity *out);

/*
 * What a container did to the memory of every node: cache lines per second, from the group traffic
 * ("basis": "traffic").
 *
 *     T = llc_misses + min(rfo, llc_misses)
 *
 * A line for each miss, prefetches and stores included, and for stores the line that is written
 * back later. Where RFOs cannot be counted, T is the misses alone. By CPU as CPU time is: what ran
 * on the probe's own CPU took turns with it.
 */
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
