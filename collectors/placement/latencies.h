/*
 * What a read takes from each NUMA node to each target: the nodes that the memory probe reaches,
 * and the tiers that a flag gives. Loop thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_LATENCIES_H
#define IE_COLLECTORS_PLACEMENT_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/contract/option.h"
#include "exporter/base/tick.h"
#include "exporter/source/source.h"
#include "exporter/store/store.h"

enum {
    PLACEMENT_NODES = 16, /* NUMA nodes with higher numbers are no targets */
    PLACEMENT_TARGETS = PLACEMENT_NODES + OPTION_LATENCIES_MAX, /* by node; then the tiers */
    PLACEMENT_ANYWHERE = PLACEMENT_NODES, /* as initiator: a CPU whose node is not known */
    PLACEMENT_INITIATORS,
    PLACEMENT_READINGS = 60, /* of a pair, one per tick with bursts of it */
    PLACEMENT_STALE_TICKS = 60,
};

/* A pair of nodes that the probe has measured. */
struct placement_pair {
    double reading[PLACEMENT_READINGS]; /* seconds; a ring */
    size_t n, next;
    uint64_t last_tick;
    struct series *series;
};

struct placement_latencies {
    /* Seconds; NaN: not known now. From anywhere: the mean over the initiators that are known. */
    double seconds[PLACEMENT_INITIATORS][PLACEMENT_TARGETS];
    bool known[PLACEMENT_TARGETS]; /* some initiator has a latency to it now */
    size_t nodes;                  /* NUMA nodes among these */
    uint32_t with_cpus;            /* bit n: node n has CPUs; where that is not known, all have */

    const struct option_latencies *tiers;
    struct family *family;
    struct placement_pair *pair[PLACEMENT_NODES][PLACEMENT_NODES]; /* NULL: never measured */
    struct series *tier[PLACEMENT_NODES][OPTION_LATENCIES_MAX];
};

/* 'tiers' is borrowed. */
void placement_latencies_init(struct placement_latencies *latencies,
                              const struct option_latencies *tiers, const struct machine *machine,
                              struct family *family);
void placement_latencies_release(struct placement_latencies *latencies);

/* The bursts of a tick. Allocates when a pair is seen for the first time, which is not the steady
 * state; without memory for it, the pair stays unknown. */
void placement_latencies_add(struct placement_latencies *latencies, const struct tick *tick,
                             const struct probe_reading *bursts, size_t n);

/* "node0", "cxl". Returns 'name'. */
enum { PLACEMENT_NAME_BYTES = OPTION_NAME_BYTES };
const char *placement_target_name(const struct placement_latencies *latencies, int target,
                                  char name[PLACEMENT_NAME_BYTES]);

#endif
