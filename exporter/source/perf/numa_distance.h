/*
 * The kernel's list of distances of a NUMA node (devices/system/node/node0/distance): one number
 * for each node that is online, by ascending number, as the firmware's SLIT has them: 10 is the
 * node itself, 20 takes twice as long. Pure.
 */
#ifndef IE_SOURCE_PERF_NUMA_DISTANCE_H
#define IE_SOURCE_PERF_NUMA_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

/* 0 with exactly n distances in out; -EINVAL for any other number of them, for one that is not
 * between 1 and 255, and for what is no number, with *out as it was. */
int numa_distances_parse(const char *text, size_t len, uint8_t *out, size_t n);

#endif
