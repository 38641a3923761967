/*
 * CPUs that read memory on a NUMA node from which the probe has no readings: nothing can be
 * predicted for these windows, and that is said once it lasts. Loop thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_BLIND_H
#define IE_COLLECTORS_PLACEMENT_BLIND_H

#include "collectors/placement/latencies.h"
#include "exporter/base/reason.h"

/* All zero before the first tick. */
struct placement_blind {
    bool seen;            /* in this tick, as initiator 'node' */
    int node;             /* the last one */
    uint64_t first, last; /* ticks in which one was seen, at most a minute apart; 0: never */
};

/* A window of this initiator was not predicted, since it has no latencies. */
void placement_blind_see(struct placement_blind *blind, int initiator);

/* Once a tick. After PLACEMENT_STALE_TICKS, which the probe's first readings may take, the verdict
 * is REASON_NOT_CALIBRATED, unless it has something to say already; until there are readings, or as
 * many ticks without such a window. */
void placement_blind_judge(struct placement_blind *blind,
                           const struct placement_latencies *latencies, const struct tick *tick,
                           struct verdict *verdict);

#endif
