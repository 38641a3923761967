/*
 * What core_latency exports: names, help, and which entry is which.
 */
#ifndef IE_COLLECTORS_CORE_LATENCY_METRICS_H
#define IE_COLLECTORS_CORE_LATENCY_METRICS_H

#include "exporter/store/metric.h"

enum container_metric {
    C_CYCLES,
    C_REF_CYCLES,
    C_INSTRUCTIONS,
    C_READS,
    C_OCCUPANCY,
    C_LLC_READS,
    C_ACTIVE,
    C_IN_FLIGHT,       /* AMD's */
    C_L2_FILLS,        /* likewise */
    C_LOADS_IN_FLIGHT, /* Arm's, of some cores */
    C_STALLS,          /* of the others */
    C_COUNTS,          /* the counts end here */
    C_WAIT = C_COUNTS,
    C_LATENCY_READS,
    C_OBSERVED,
    C_OVER,
    C_LATENCY,
    C_BASELINE,
    C_THRESHOLD,
    C_LACK, /* a note, for the API: why there is no baseline */
    C_METRICS,
    C_HISTOGRAM = C_METRICS, /* only with its flag */
    C_SERIES
};

enum node_metric {
    N_CYCLES,
    N_REF_CYCLES,
    N_READS,
    N_OCCUPANCY,
    N_COUNTS,
    N_WAIT = N_COUNTS,
    N_LATENCY_READS,
    N_HISTOGRAM,
    N_SUMS, /* what is summed over containers ends here */
    N_BASE_FREQUENCY = N_SUMS,
    N_CACHE_CYCLES,
    N_CACHE_SECONDS,
    N_METRICS
};

/* Why a container has no baseline. */
enum lack {
    LACK_NONE,
    LACK_NOT_COUNTED, /* its counters were never opened */
    LACK_NO_LATENCY,  /* this machine's latencies are not known, or not yet */
    LACK_IDLE,        /* it was never at work since it is known */
    LACK_LEARNING,    /* it was, for less than ten minutes of the last day */
    LACKS
};

/* As in the label reason; not for LACK_NONE. */
const char *lack_name(enum lack lack);

extern const struct metric_desc core_latency_basis_changes_desc; /* per basis that is learned */
extern const struct metric_desc core_latency_lacks_desc; /* per reason, from LACK_NONE + 1 on */

extern const struct metric_desc core_latency_container_descs[C_SERIES];
/* Where cycles stalled for memory stand in for a latency: C_WAIT to C_THRESHOLD, for they are
 * another quantity. The others are NULL-named. */
extern const struct metric_desc core_latency_stall_descs[C_SERIES];
extern const struct metric_desc core_latency_node_descs[N_METRICS];

/* All of them, ended by NULL. */
extern const struct metric_desc *const core_latency_metrics[];

#endif
