/*
 * The pointer chase itself: one run through a part of a ring, and what a run must satisfy to count.
 */
#ifndef IE_SOURCE_PROBE_RUN_H
#define IE_SOURCE_PROBE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/probe/flush.h"
#include "exporter/source/probe/ring.h"
#include "exporter/source/source.h"

/* What was seen around one run. */
struct chase_facts {
    uint64_t loads;
    uint64_t wall_ns;
    uint64_t cpu_ns;  /* the thread's CPU time, taken around wall_ns */
    int64_t switches; /* context switches, voluntary or not */
    int cpu_wanted;
    int cpu_before;
    int cpu_after;
};

/*
 * Flushes the next 'loads' lines of the ring, then loads them one after the other, each address
 * coming from the line before. CHASE_FLUSH_NONE leaves the caches alone (for rings that are larger
 * than they are). The caller sets facts->cpu_wanted, the CPU on which the run should be.
 */
void chase_run(struct chase_ring *ring, enum chase_flush how, uint32_t loads,
               struct chase_facts *facts);

/* True if the run counts, otherwise *cause says why not. Up to 2 % and 500 ns of lost time are the
 * clocks' own. */
bool chase_run_counts(const struct chase_facts *facts, enum probe_discard *cause);

/* The median; the mean of the middle two when n is even. Sorts in place. n >= 1. */
double chase_median(double *values, size_t n);

#endif
