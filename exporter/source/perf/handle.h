/*
 * An open group on all CPUs: rows, totals, CPUs that come and go.
 */
#ifndef IE_SOURCE_PERF_HANDLE_H
#define IE_SOURCE_PERF_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/source/perf/cpus.h"
#include "exporter/source/perf/group.h"
#include "exporter/source/perf/ladder.h"
#include "exporter/source/source.h"

/* The open handles of a source, and what they stand on (borrowed). */
struct perf_handles {
    struct perf_context *context;
    struct perf_ladder *ladder;
    const struct perf_cpus *cpus;
    struct perf_handle *first, **end; /* oldest first: those keep their counters, if any do */
    bool recheck; /* a row lost its CPU or its counters: sync all handles in the next begin */
};

/* A group on one CPU, or the only row of a thread or unit. */
struct perf_row {
    int32_t cpu; /* as in readings: -1 for threads and units */
    int32_t on;  /* where its events are opened; -1: wherever the thread runs */
    bool open;
    bool detached;    /* its CPU was offline meanwhile: the kernel took the group apart */
    uint32_t present; /* roles with a total; 0 before the first reading */
};

struct perf_handle {
    struct perf_handle *next, **link; /* of the source's open handles */
    enum scope_kind kind;
    enum group group;
    pid_t pid;     /* a cgroup directory's descriptor of our own, a thread, or -1 */
    uint32_t mask; /* the slots that are open: bit i is role i, if the group has so many roles */
    size_t summand_of[PERF_SUMMANDS]; /* the roles that the slots behind are added to */
    bool refused;                     /* a pinned group that did not fit when it was read last */
    size_t n, cap;
    struct perf_row *rows;
    int *fds;       /* per row: one per slot of the group, -1 where not open */
    uint64_t *last; /* per row: enabled, running, counts: what was handed out last */
    uint64_t *base; /* the same layout, added to the kernel's totals; NULL: all 0 */
};

void perf_handles_init(struct perf_handles *handles, struct perf_context *context,
                       struct perf_ladder *ladder, const struct perf_cpus *cpus);

int perf_handle_new(struct perf_handles *handles, const struct scope *scope, enum group group,
                    struct perf_handle **out, struct verdict *why);
void perf_handle_free(struct perf_handles *handles, struct perf_handle *handle);
int perf_handle_read(struct perf_handles *handles, struct perf_handle *handle, struct reading *out);
/* Opens and closes rows as CPUs came and went, and again, with fewer roles if there are any, what
 * the PMU refused. 0, or the error of a row that could not be opened: its totals stand still. */
int perf_handle_sync(struct perf_handles *handles, struct perf_handle *handle);
/* Opens all rows again with these roles; totals go on. 'read' takes what was counted meanwhile, for
 * rows that run: time in which nothing was counted must not stretch the window. Errors as above. */
int perf_handle_reopen(struct perf_handles *handles, struct perf_handle *handle, uint32_t mask,
                       bool read);

#endif
