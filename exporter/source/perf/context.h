/*
 * What opening events needs to know of this machine, and the descriptors that the open ones hold.
 *
 * One context per source that opens events. Loop thread only.
 */
#ifndef IE_SOURCE_PERF_CONTEXT_H
#define IE_SOURCE_PERF_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/source/event/file.h"
#include "exporter/source/event/table.h"
#include "exporter/source/perf/kernel.h"
#include "exporter/source/perf/said.h"
#include "exporter/source/pool.h"
#include "exporter/source/role.h"

struct perf_context {
    const struct fsroot *fs; /* borrowed for the context's life, like all pointers here */
    const struct log *log;
    const struct perf_kernel *kernel;
    const struct event_table *table; /* NULL: an unsupported CPU */
    const struct events_file *file;  /* NULL: no --events.file */
    size_t fd_limit;                 /* as in struct perf_config */
    struct descriptor_pool *pool;    /* likewise */
    struct perf_said *said;          /* likewise */
    bool no_pmem;                    /* likewise */
    size_t open_counters;
    size_t cgroup_handles; /* groups of containers that are open: each holds its directory */
    size_t shared;         /* other descriptors, of what all counters use together */
    size_t told;           /* the sum, as the pool knows it */
    bool for_all;          /* a group counts all containers: fewer of them need no fewer events */
};

/* Tells the pool what counters hold now. Contexts with the same pool add up. */
void perf_fd_account(struct perf_context *context);

/* 0, with what others hold of it called in; or -EMFILE with *why when a group of that many events
 * on that many CPUs does not fit beside all counters of the pool. */
int perf_fd_budget(struct perf_context *context, enum group group, size_t events, size_t cpus,
                   struct verdict *why);

#endif
