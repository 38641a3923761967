/* The metrics of the collector attribution: what they are, and the series of a NUMA node. */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_METRICS_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_METRICS_H

#include "exporter/store/store.h"

enum attribution_metric {
    A_CAUSED,
    A_UNCERTAINTY,
    A_CAUSED_TOTAL,
    A_CONTAINER_METRICS, /* of a node */
    A_CAUSED_WAIT = A_CONTAINER_METRICS,
    A_EXCESS,
    A_EXCESS_TOTAL,
    A_READINGS, /* from here on one of each node */
    A_CANDIDATES,
    A_NOISE,
    A_INFLATION,
    A_ACTIVITY,
    A_STEPS, /* to here */
    A_CPUS,  /* for the API only */
    A_METRICS
};

/* Whose part of the excess. */
enum attribution_by { BY_NAMED, BY_GROUP, BY_HOST, BY_UNKNOWN, ATTRIBUTION_PARTS };

/* As in labels and in the API. */
extern const char *const attribution_by_name[ATTRIBUTION_PARTS];

extern const struct metric_desc *const attribution_metrics[]; /* ended by NULL */

struct attribution_families {
    struct family *at[A_METRICS];
};

int attribution_families_register(struct attribution_families *families, struct store *store,
                                  const char *owner);

/* What is there of every NUMA node, from its start on. */
struct attribution_node_set {
    struct series *excess[ATTRIBUTION_PARTS], *excess_total[ATTRIBUTION_PARTS];
    struct series *at[A_CPUS]; /* from A_READINGS on */
};

/* All of them, or none and -errno. */
int attribution_node_set_make(struct attribution_node_set *set,
                              const struct attribution_families *families, int numa_node);
void attribution_node_set_release(struct attribution_node_set *set);
/* Clears the gauges: there was no reading for long. */
void attribution_node_set_stale(struct attribution_node_set *set);

/* The series of a container that was suspected, of A_CONTAINER_METRICS: all of them, or none and
 * -errno. The counter is at 0, the gauges are absent. */
int attribution_container_set_make(struct series **at, const struct attribution_families *families,
                                   struct labelset *labels, int numa_node);

#endif
