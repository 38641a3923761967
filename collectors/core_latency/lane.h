/*
 * What core_latency keeps of each container, and how that follows the container and what can be
 * counted of it. For the collector's own files. Loop thread only.
 */
#ifndef IE_COLLECTORS_CORE_LATENCY_LANE_H
#define IE_COLLECTORS_CORE_LATENCY_LANE_H

#include "collectors/core_latency/limits.h"
#include "collectors/formulas/core_latency.h"
#include "collectors/parts/core_lane.h"

/* What the flags say. */
struct core_latency_config {
    bool container_histogram;
    double threshold_factor; /* baseline times this */
};

/* One container. */
struct lane {
    struct core_lane core; /* first */

    bool made;                       /* the series are */
    struct series *series[C_SERIES]; /* NULL where not asked for */

    uint64_t total[C_COUNTS];
    uint32_t basic;     /* bit c: total[c] is counted on every machine like this one */
    uint32_t counted;   /* bit c: total[c] was ever counted */
    bool known;         /* which counts this machine can do: a window of it ran */
    bool latency_known; /* some window of it had one: what follows is true, 0 included */
    double wait_seconds, observed_seconds, over_seconds;
    uint64_t latency_reads;

    /* The window just read. */
    bool window;  /* counts are valid */
    bool latency; /* so is the estimate */
    uint64_t count[C_COUNTS];
    struct core_latency estimate;

    bool busy; /* in this window */
    struct limits limits;
    struct calm calm;
};

struct core_latency_collector {
    struct collector_env env;
    const struct core_latency_config *config;
    struct collector_status *status;
    struct family *container_family[C_SERIES]; /* NULL where not asked for */
    struct series *node[N_METRICS];
    struct series *lacks[LACKS]; /* NULL for LACK_NONE */
    struct basis_changes changes;

    struct lanes lanes;
    enum group group;
    bool few_counters; /* a window lacked some of the counts that latencies need */
    bool basics_only;  /* the hypervisor filters the fills, but not cycles and instructions */

    struct node_traffic traffic;
    unsigned thresholds_version;
    bool fell_back; /* from loads in flight to stalls */
    bool off;       /* found out while running that it cannot work */
};

extern const struct lane_ops latency_lane_ops;

/* The containers' families: of latencies, or of stalls, which have names of their own. 0 or the
 * store's error; what is there already is not registered again. */
int latency_families_register(struct core_latency_collector *self);

/* Until a window ran, the counts that every machine has are 0; afterwards a count that this
 * machine cannot do is absent. */
bool latency_lane_counts(const struct lane *lane, enum container_metric c);
/* Shows what is known of it from its totals. */
void latency_lane_show(const struct lane *lane);
/* By the file of thresholds. */
void latency_lane_find_threshold(const struct core_latency_collector *self, struct lane *lane);

/* From loads in flight, which were not true, to stalls per read (GROUP_MISSES). */
void latency_lanes_fall_back(struct core_latency_collector *self);

#endif
