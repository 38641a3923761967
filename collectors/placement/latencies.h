/*
 * What a read takes from each NUMA node to each target: the nodes that the memory probe reaches,
 * and the tiers that a flag gives. Loop thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_LATENCIES_H
#define IE_COLLECTORS_PLACEMENT_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/contract/option.h"
#include "exporter/base/clock.h"
#include "exporter/source/source.h"
#include "exporter/store/store.h"

enum {
    PLACEMENT_NODES = 16, /* NUMA nodes with higher numbers are no targets */
    PLACEMENT_TARGETS = PLACEMENT_NODES + OPTION_LATENCIES_MAX, /* by node; then the tiers */
    PLACEMENT_ANYWHERE = PLACEMENT_NODES, /* as initiator: a CPU whose node is not known */
    PLACEMENT_INITIATORS,
    PLACEMENT_READINGS = 60, /* of a pair, one per tick with bursts of it */
    /* Without a reading for as many, a pair is stale; with many nodes, for twice as long as the
     * probe needs to come back to a far one: CHASE_INTERVALS_PER_TARGET there, and as many at its
     * own node, for each of the others. */
    PLACEMENT_STALE_TICKS = 60,
    PLACEMENT_STALE_TICKS_PER_NODE = 12,
};

/* A pair of nodes that the probe has measured. */
struct placement_pair {
    double reading[PLACEMENT_READINGS]; /* seconds; a ring */
    size_t n, next;
    uint64_t last_tick;
    struct series *series;
};

struct placement_latencies {
    /* Seconds; NaN: not known yet. From anywhere: the mean over the initiators that are known. What
     * is stale stays as it was last, so that predictions are of the windows that are observed. */
    double seconds[PLACEMENT_INITIATORS][PLACEMENT_TARGETS];
    bool known[PLACEMENT_TARGETS]; /* some initiator has a latency to it */
    size_t nodes;                  /* NUMA nodes among these */
    uint32_t with_cpus;            /* bit n: node n has CPUs; where that is not known, all have */

    const struct machine *machine;
    const struct option_latencies *tiers;
    struct family *family;
    struct placement_pair *pair[PLACEMENT_NODES][PLACEMENT_NODES]; /* NULL: never measured */
    struct series *tier[PLACEMENT_NODES][OPTION_LATENCIES_MAX];
};

/* 'tiers' and 'machine' are borrowed. */
void placement_latencies_init(struct placement_latencies *latencies,
                              const struct option_latencies *tiers, const struct machine *machine,
                              struct family *family);
void placement_latencies_release(struct placement_latencies *latencies);

/* The bursts of a tick. A pair that is stale is not shown, and its next reading begins anew.
 * Allocates when a pair is seen for the first time, which is not the steady state; without memory
 * for it, the pair stays unknown. */
void placement_latencies_add(struct placement_latencies *latencies, const struct tick *tick,
                             const struct probe_reading *bursts, size_t n);

/* Whether any is known of reads by this initiator; tiers, which all reach, do not count. */
bool placement_latencies_from(const struct placement_latencies *latencies, int initiator);

/* "node0", "cxl". Returns 'name'. */
enum { PLACEMENT_NAME_BYTES = OPTION_NAME_BYTES };
const char *placement_target_name(const struct placement_latencies *latencies, int target,
                                  char name[PLACEMENT_NAME_BYTES]);

#endif
