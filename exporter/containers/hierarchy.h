/*
 * Which cgroup hierarchy owns perf_event, and where it is mounted: v2, v1 or hybrid.
 */
#ifndef IE_CONTAINERS_HIERARCHY_H
#define IE_CONTAINERS_HIERARCHY_H

#include <stddef.h>

#include "exporter/base/fsroot.h"

struct cgroup_hierarchy {
    int version; /* 1 or 2 */
    char path[4096];
};

/*
 * With fs->path[FSROOT_CGROUP] given, looks there: a v2 mount itself, or perf_event/ (v1) or
 * unified/ below it. Otherwise asks libcgroup for the mounts of this machine. -ENOENT with the
 * message in error when there is none.
 */
int cgroup_hierarchy_find(const struct fsroot *fs, struct cgroup_hierarchy *out, char *error,
                          size_t error_size);

#endif
