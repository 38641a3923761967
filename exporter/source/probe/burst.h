/*
 * A burst: a few short runs, of which one may be odd.
 *
 * One run of 500 loads varies with refresh, interrupts and neighbours. Most of that is slower than
 * a burst, so three short bursts in an interval, of which the reader takes the median, say more
 * than one long burst at the same cost (bench_bursts). account.h says what a burst may cost.
 */
#ifndef IE_SOURCE_PROBE_BURST_H
#define IE_SOURCE_PROBE_BURST_H

#include "exporter/source/probe/run.h"

enum {
    CHASE_RUN_LOADS = 500,
    CHASE_WARM_LOADS = 100, /* a first run that does not count: the CPU leaves its idle state */
    CHASE_RUNS = 3,
    CHASE_RUNS_NEEDED = 2, /* otherwise there is no reading */
    CHASE_BURSTS = 3,      /* of an initiator, in an interval */
};

struct chase_burst {
    double latency_ns; /* median of the runs that count; 0 unless 'valid' */
    bool valid;
    uint32_t runs; /* made, without the warm one */
    uint32_t discarded[PROBE_DISCARDS];
};

/* Runs on the calling thread, which should be pinned to 'cpu', until CHASE_RUNS are made or the
 * next would exceed 'budget_ns' of CPU time. */
void chase_burst(struct chase_ring *ring, enum chase_flush how, int cpu, uint64_t budget_ns,
                 struct chase_burst *out);

#endif
