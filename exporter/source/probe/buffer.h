/*
 * Memory on a chosen NUMA node, in huge pages where the kernel has them to give.
 *
 * Transparent huge pages only: pages of the reserved hugetlb pool belong to whoever sized it.
 */
#ifndef IE_SOURCE_PROBE_BUFFER_H
#define IE_SOURCE_PROBE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/reason.h"

/* The kernel's text of a process's mappings by node, /proc/PID/numa_maps. Pure. */

/*
 * Finds the mapping that starts at 'address' in the text of numa_maps, and whether all its pages
 * are on 'node'. 0, -ENXIO when some are elsewhere, -ENOENT when there is no such line or no page.
 */
int chase_numa_maps_check(const char *text, size_t len, uintptr_t address, int node);

enum { CHASE_HUGE_BYTES = 2 << 20 };

struct chase_buffer {
    char *base;   /* owned; aligned to CHASE_HUGE_BYTES */
    size_t bytes; /* a multiple of CHASE_HUGE_BYTES */
    int node;
    bool huge;       /* every page is known to be huge */
    bool verifiable; /* move_pages works here */
};

/*
 * Allocates, places, populates with zeros and verifies. 'cpu' is one of the node's CPUs or -1:
 * where mbind is forbidden (container runtimes' seccomp filters), the pages are touched first from
 * that CPU. 'only_node' says that the machine has no other memory, so that nothing needs to be
 * proven. -ENXIO when the memory came from another node, or other -errno; *why says more.
 */
int chase_buffer_init(struct chase_buffer *buffer, const struct fsroot *fs, size_t bytes, int node,
                      int cpu, bool only_node, struct verdict *why);
void chase_buffer_release(struct chase_buffer *buffer);

/* Whether the pages are still where they were put: also true where nothing can be verified.
 * About a microsecond. */
bool chase_buffer_in_place(const struct chase_buffer *buffer);

#endif
