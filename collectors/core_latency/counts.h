/*
 * What a window says of one container, whichever of the groups its CPU counts: Intel's core group,
 * AMD's fills, Arm's loads in flight or misses, or, on any other CPU, cycles and instructions.
 * Pure.
 */
#ifndef IE_COLLECTORS_CORE_LATENCY_COUNTS_H
#define IE_COLLECTORS_CORE_LATENCY_COUNTS_H

#include "collectors/contract/facts.h"
#include "collectors/core_latency/metrics.h"
#include "collectors/formulas/core_latency.h"
#include "exporter/source/window.h"

struct counts {
    uint64_t count[C_COUNTS];
    uint32_t counted; /* bit c: count[c] is a count, not unknown */
    bool too_few;     /* of them, for latencies: the PMU has too few counters */
};

/* Those that every machine with this group has. */
uint32_t counts_basic(enum group group);

/* Likewise those that a hypervisor passes which filters all others: with reference cycles. */
uint32_t counts_of_any_cpu(void);

/*
 * A window that ran. Of AMD's and Arm's, memory_read_occupancy is estimated from the counts
 * (fill_latency.h): unknown until t2 and t3 are, and 0 in a window from which it cannot be told.
 */
void counts_take(const struct window_sum *sum, enum group group, const struct facts *facts,
                 struct counts *out);

/*
 * What core_latency_estimate_sums needs. Of GROUP_MISSES stalled cycles take the occupancy's place,
 * and what comes out is no latency. -ENODATA: no latency from this window, and nothing wrong;
 * -ERANGE: implausible: reads without cycles or without occupancy.
 */
int counts_sums(const struct window_sum *sum, enum group group, const struct facts *facts,
                struct core_latency_sums *out);

#endif
