/*
 * Which NUMA nodes the memory of containers is on: the group pages, from memory.numa_stat of cgroup
 * v2, or of v1's memory controller.
 *
 * A container's file stays open and is read every half minute, since the kernel adds up the
 * statistics of all its CPUs for it; containers take turns, so that no tick has them all. Between
 * two readings there is none: -ENODATA. When the cgroup is gone, -ESRCH.
 *
 * One descriptor per container, borrowed from the counters' share (pool.h) beside who else borrows.
 * When counters need them back, the handles that give them up read as -EMFILE from then on. Needs
 * no privilege. Loop thread only.
 */
#ifndef IE_SOURCE_MEMORY_MEMORY_H
#define IE_SOURCE_MEMORY_MEMORY_H

#include "exporter/source/pool.h"
#include "exporter/source/source.h"

enum { MEMORY_PERIOD_SECONDS = 30 };

struct memory_config {            /* borrowed for the source's life */
    const char *memory;           /* where v1's controller is mounted; "": nowhere */
    const char *unified;          /* likewise, v2 */
    struct descriptor_pool *pool; /* NULL: no limit */
};

/* 0 or -ENOMEM. After every other source that borrows from the pool. */
int memory_source_new(const struct memory_config *config, struct source **out);

#endif
