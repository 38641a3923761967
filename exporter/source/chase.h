/*
 * The memory probe: real load-to-use latency, from a pinned thread that chases pointers.
 *
 * One thread per initiator NUMA node, on a housekeeping CPU, through a few MiB of huge pages on the
 * target node; targets take turns. Before each run the lines are flushed (by computed address, not
 * by loading them), so every load goes to memory and the TLB does not matter. Runs disturbed by
 * preemption, migration or steal are discarded; a burst is the median of several short runs.
 * At most 0.1 % of one CPU per initiator node.
 */
#ifndef IE_SOURCE_CHASE_H
#define IE_SOURCE_CHASE_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/source/source.h"

struct chase_config {
    const struct fsroot *fs; /* borrowed, like log */
    const struct log *log;
    uint64_t interval_ns; /* one burst per initiator and interval */
    size_t buffer_bytes;  /* 0: the default */
};

/*
 * Finds initiators and targets, allocates, starts the threads. On failure nothing is left running:
 * -errno and *why. The source's probes() op hands out finished bursts; check/open are not served.
 */
int chase_source_new(const struct chase_config *config, struct source **out, struct verdict *why);

/* The threads, for opening counters on them; valid until the source is freed. */
const struct thread *chase_source_threads(const struct source *source, size_t *n);

/* Runs thrown away since the start, by cause. Any thread. */
enum chase_discard { CHASE_PREEMPTED, CHASE_MIGRATED, CHASE_STOLEN, CHASE_DISCARDS };
uint64_t chase_source_discarded(const struct source *source, enum chase_discard cause);

#endif
