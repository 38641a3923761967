/*
 * How much memory this process may have: the least limit of its cgroup and of those above it.
 */
#ifndef IE_CONTAINERS_CGROUPS_OWN_MEMORY_H
#define IE_CONTAINERS_CGROUPS_OWN_MEMORY_H

#include <stdint.h>

#include "exporter/base/fsroot.h"

/* Bytes; 0: no limit, or none that can be seen from here. 'fs' with the trees as this process has
 * them, not the host's. As cgroup_hierarchy_find(), for one thread at a time. */
uint64_t own_memory_limit(const struct fsroot *fs);

#endif
