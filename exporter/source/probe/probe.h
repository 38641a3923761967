/*
 * The memory probe: real load-to-use latency, from a pinned thread that chases pointers.
 *
 * One thread per initiator NUMA node, on a housekeeping CPU (topology.h says which), through
 * a few MiB of huge pages on the target node; targets take turns (thread.h). Before each run the
 * lines are flushed (by computed address, not by loading them), so every load goes to memory and
 * the TLB does not matter. Runs disturbed by preemption, migration or steal are discarded; a
 * reading is the median of the runs of one burst (thread.h), absent when too few are left. At most
 * 0.1 % of one CPU per initiator node, everything included; where the interval or the memory does
 * not allow a whole burst for that, bursts become rarer. Needs no privilege.
 */
#ifndef IE_SOURCE_PROBE_PROBE_H
#define IE_SOURCE_PROBE_PROBE_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/source/probe/run.h"
#include "exporter/source/source.h"

struct probe_config {
    const struct fsroot *fs; /* borrowed, like log, until the source is freed */
    const struct log *log;
    uint64_t interval_ns; /* CHASE_BURSTS bursts per initiator in it; > 0 */
    size_t buffer_bytes;  /* per target; 0: 4 MiB; rounded up to 2 MiB; at most 1 GiB */
};

/*
 * Finds initiators and targets, allocates, starts the threads: some milliseconds. Targets that give
 * no memory are left out with a line in the log. On failure nothing is left running: -errno and
 * *why. The source's probes() op hands out finished bursts and never waits. It counts nothing. free
 * waits for the threads: a few milliseconds.
 */
int probe_source_new(const struct probe_config *config, struct source **out, struct verdict *why);

/* The threads, for opening counters on them; valid until the source is freed. Keys "p0", "p1", ...
 */
const struct source_thread *probe_source_threads(const struct source *source, size_t *n);

/* For tests and benchmarks. */

/* CPU time that a thread has used since the start, by its index in probe_source_threads. Any
 * thread; 0 when the kernel does not say. */
uint64_t probe_source_cpu_ns(const struct source *source, size_t thread);

/* Bytes of the targets' buffers. */
size_t probe_source_buffer_bytes(const struct source *source);

#endif
