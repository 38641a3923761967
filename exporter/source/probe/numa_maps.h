/* The kernel's text of a process's mappings by node, /proc/PID/numa_maps. Pure. */
#ifndef IE_SOURCE_PROBE_NUMA_MAPS_H
#define IE_SOURCE_PROBE_NUMA_MAPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds the mapping that starts at 'address' in the text of numa_maps, and whether all its pages
 * are on 'node'. 0, -ENXIO when some are elsewhere, -ENOENT when there is no such line or no page.
 */
int chase_numa_maps_check(const char *text, size_t len, uintptr_t address, int node);

#endif
