/*
 * The kernel's counters: perf_event_open in cgroup mode per CPU, per thread, and per uncore unit.
 *
 * A group is one leader and its members per CPU, read with one read(2).
 */
#ifndef IE_SOURCE_PERF_PERF_H
#define IE_SOURCE_PERF_PERF_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/event/file.h"
#include "exporter/source/event/table.h"
#include "exporter/source/perf/kernel.h"
#include "exporter/source/perf/said.h"
#include "exporter/source/pool.h"
#include "exporter/source/source.h"

struct perf_config {
    const struct fsroot *fs; /* borrowed for the source's life, like all pointers here */
    const struct log *log;
    const struct event_table *table; /* NULL: an unsupported CPU */
    const struct events_file *file;  /* NULL: no --events.file */
    const struct perf_kernel *kernel;
    /* Descriptors that counters may take; by perf, with the directory that each group of a
     * container holds; 0: as many as there are. */
    size_t fd_limit;
    /* Who else holds some of these meanwhile; NULL: nobody. */
    struct descriptor_pool *pool;
    /* What another source with the same events has said of them; NULL: there is none. */
    struct perf_said *said;
    /* No persistent memory modules here. Their queues are then not counted, unless 'file' names the
     * events: DRAM's queues have the boxes' few counters to themselves. */
    bool no_pmem;
};

int perf_source_new(const struct perf_config *config, struct source **out);

/* Descriptors that a container takes here with the groups of which one is open; 0: none is. *all:
 * what those of all containers take now. */
size_t perf_source_each(const struct source *source, size_t *all);

/* For tests: which roles of a group are counted after the fallback ladder, as bits; 0 before a
 * check. */
uint32_t perf_source_roles(const struct source *source, enum group group);

#endif
