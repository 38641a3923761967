/*
 * What the reads of each container took in a tick, and what is normal for it: as core_latency
 * publishes both, for collectors that ask who made it wait. A part of the facts.
 *
 * Written by core_latency in its collect, where somebody wants it, and read after that in the same
 * tick: both pages then say the same. Loop thread.
 */
#ifndef IE_COLLECTORS_CONTRACT_READ_LATENCIES_H
#define IE_COLLECTORS_CONTRACT_READ_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of NUMA nodes with higher numbers, who reads what is not told. */
enum { READ_LATENCY_NODES = 16 };

/* Of the window of one container. */
struct read_latency {
    uint64_t tick;           /* number of the tick that it is of; of any other it is not known */
    double latency_seconds;  /* of one read; of busy windows only, as everything about baselines */
    double baseline_seconds; /* NaN: not known yet, or a lower bound only (basis machine) */
    double reads;            /* that took so long */
    /* Of these, by the NUMA node of the CPU; where the machine has one, or where some CPU's node is
     * not known, all 0. */
    double by_node[READ_LATENCY_NODES];
};

/* Zeroed: nobody wants it. */
struct read_latencies {
    bool wanted;   /* said by who reads it, at its start */
    uint64_t tick; /* the last one that core_latency collected */
    struct read_latency *at;
    size_t n; /* by the container's slot */
};

/* For core_latency. Room for slots below n: 0 or -ENOMEM. */
int read_latencies_reserve(struct read_latencies *latencies, size_t n);
void read_latencies_release(struct read_latencies *latencies);
/* Where to write what is known of this slot's container; NULL: nobody wants it. */
struct read_latency *read_latencies_entry(struct read_latencies *latencies, size_t slot);

/* NULL: the slot's container has none in this tick. */
const struct read_latency *read_latencies_find(const struct read_latencies *latencies, size_t slot,
                                               uint64_t tick);

#endif
