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

#include <stddef.h>
#include <stdint.h>

#include "exporter/source/pool.h"
#include "exporter/source/source.h"

/*
 * The kernel's memory.numa_stat of a cgroup: what it has of each NUMA node's memory. Pure.
 *
 * Of v2, "anon" and "file_mapped": what its programs address, child cgroups included; not the page
 * cache, which is read by system calls, from front to back, and would outweigh all else. Of v1,
 * "hierarchical_anon", or "anon" where the kernel has no sums; mapped files are not told apart from
 * the cache there, and so are left out.
 */

/* Nodes with higher numbers are left out. */
enum { NUMA_STAT_NODES = 64 };

struct numa_stat {
    uint64_t nodes; /* bit n: the file has node n */
    uint64_t bytes[NUMA_STAT_NODES];
};

/* v1 counts in pages, of 'page_bytes'. The text may end in the middle: only whole lines count. 0;
 * -ENODATA when none of these lines is there, -EINVAL for what no kernel writes, also when a sum
 * does not fit: *out is untouched then. */
int numa_stat_parse(const char *text, size_t len, uint64_t page_bytes, struct numa_stat *out);

enum { MEMORY_PERIOD_SECONDS = 30 };

struct memory_config {            /* borrowed for the source's life */
    const char *memory;           /* where v1's controller is mounted; "": nowhere */
    const char *unified;          /* likewise, v2 */
    struct descriptor_pool *pool; /* NULL: no limit */
};

/* 0 or -ENOMEM. After every other source that borrows from the pool. */
int memory_source_new(const struct memory_config *config, struct source **out);

#endif
