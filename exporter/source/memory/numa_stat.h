/*
 * The kernel's memory.numa_stat of a cgroup: what it has of each NUMA node's memory. Pure.
 *
 * Of v2, "anon" and "file_mapped": what its programs address, child cgroups included; not the page
 * cache, which is read by system calls, from front to back, and would outweigh all else. Of v1,
 * "hierarchical_anon", or "anon" where the kernel has no sums; mapped files are not told apart from
 * the cache there, and so are left out.
 */
#ifndef IE_SOURCE_MEMORY_NUMA_STAT_H
#define IE_SOURCE_MEMORY_NUMA_STAT_H

#include <stddef.h>
#include <stdint.h>

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

#endif
