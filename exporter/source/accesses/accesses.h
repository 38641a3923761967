/*
 * The kernel's samples of stores and loads, as a source: opened when first asked for, attributed in
 * the sampler's thread (assignment.h), handed out in the loop's.
 *
 * Three events on each CPU: stores, loads if wanted, and one that never counts, for the records of
 * mappings: so the flood of samples cannot drown those. Where the hardware collects precise
 * samples by the dozen they are taken without the cgroup, for which the kernel would take an
 * interrupt at each of them; whose they are is then found by the process. All others have it.
 */
#ifndef IE_SOURCE_ACCESSES_ACCESSES_H
#define IE_SOURCE_ACCESSES_ACCESSES_H

#include "exporter/base/log.h"
#include "exporter/source/accesses/assignment.h"
#include "exporter/source/perf/perf.h"

struct perf_samples_config {
    const struct fsroot *fs; /* borrowed for the source's life, like all pointers here */
    const struct log *log;
    const struct perf_kernel *kernel;
    const struct event_table *table; /* NULL: an unsupported CPU */
    const struct events_file *file;  /* NULL: no --events.file */
    /* Not REASON_OK: why there is nothing to sample here; copied. The source then only says so. */
    struct verdict nothing;
    struct process_reader *reader; /* NULL: in this process */
    struct medium_rule *rule;
    const struct sample_owners *owners;
    uint64_t period;
    bool loads;
    bool asked_for;  /* by name: missing privileges are then an error, otherwise it is merely off */
    bool no_cgroups; /* for tests: find processes' cgroups also where samples could have them */
    uint64_t (*cpu_ns)(void *context); /* for tests: as in assignment_config */
};

/* 0 or -ENOMEM. */
int perf_samples_new(const struct perf_samples_config *config, struct source **out);

/* Records of mappings for which there was no room, since the start: samples from around such a loss
 * have no medium and no size. */
uint64_t perf_samples_lost_mappings(const struct source *source);

#endif
