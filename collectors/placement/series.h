/*
 * What placement exports, and the series of one container. Loop thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_SERIES_H
#define IE_COLLECTORS_PLACEMENT_SERIES_H

#include "collectors/placement/latencies.h"
#include "exporter/store/store.h"

enum placement_metric {
    PLACEMENT_SERIAL_READS,
    PLACEMENT_OBSERVED,
    PLACEMENT_PREDICTED,
    PLACEMENT_TARGET_LATENCY,
    PLACEMENT_METRICS
};

/* Ended by NULL, for the collector's ops. */
extern const struct metric_desc *const placement_metrics[PLACEMENT_METRICS + 1];

/* Of one container since it is known, of windows that have a prediction. */
struct placement_totals {
    double serial_reads, observed_seconds, predicted_seconds[PLACEMENT_TARGETS];
};

/* Of one container; 'made' with its names. */
struct placement_set {
    bool made;
    struct series *series[PLACEMENT_OBSERVED + 1];
    struct series *predicted[PLACEMENT_TARGETS]; /* NULL: not a target yet */
};

/* 0, or -errno and nothing is made. */
int placement_set_make(struct placement_set *set, struct family *const families[PLACEMENT_METRICS],
                       struct labelset *labels);
/* For targets that are known since. 0 or -errno: those that could be made are there. */
int placement_set_extend(struct placement_set *set, struct family *predicted,
                         struct labelset *labels, const struct placement_latencies *latencies);
/* Whether some target has no series yet. */
bool placement_set_lacks(const struct placement_set *set,
                         const struct placement_latencies *latencies);
/* Sets the series that are made. They are absent unless 'shown', and for targets that are not
 * known. */
void placement_set_show(struct placement_set *set, const struct placement_totals *totals,
                        const struct placement_latencies *latencies, bool shown);
/* 'labels' may be NULL: then it is not made any more, as after an error. */
void placement_set_relabel(struct placement_set *set, struct labelset *labels);
void placement_set_release(struct placement_set *set);

#endif
