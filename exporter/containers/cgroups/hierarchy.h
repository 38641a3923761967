/*
 * Which cgroup hierarchy owns perf_event, and where it is mounted: v2, v1 or hybrid.
 */
#ifndef IE_CONTAINERS_CGROUPS_HIERARCHY_H
#define IE_CONTAINERS_CGROUPS_HIERARCHY_H

#include <stddef.h>

#include "exporter/base/fsroot.h"

/* Of a directory's path, with the hierarchy's: what a container's share (tree.h) allows, for paths
 * may be longer than the kernel takes at once. */
enum { CGROUP_PATH_BYTES = 16384 };

struct cgroup_hierarchy {
    int version;         /* 1 or 2 */
    char path[4096];     /* without a slash at its end, except for "/" itself */
    char controller[64]; /* by which libcgroup walks it; "": it does not */
    size_t cgroups;      /* in it when it was found; SIZE_MAX: not known */
};

/*
 * With fs->path[FSROOT_CGROUP] given, looks there: a v2 mount or a v1 perf_event mount itself, or
 * perf_event/ (v1) or unified/ (v2) below it. Otherwise looks at this process's mounts (mounts.h),
 * and asks libcgroup how it can walk what it found; libcgroup has one set of tables per process, so
 * only one thread at a time may call this. A mounted v1 perf_event owns the controller, whatever
 * else is mounted. -ENOENT when there is none, with what was looked for and what is there in error.
 */
int cgroup_hierarchy_find(const struct fsroot *fs, struct cgroup_hierarchy *out, char *error,
                          size_t error_size);

/*
 * Where the hierarchy of another controller of v1 is mounted, "cpuacct" say; or for "" that of v2.
 * Found as above. 0, or -ENOENT with *out an empty text: a given path may be one mount alone.
 */
int cgroup_mount_find(const struct fsroot *fs, const char *controller, char *out, size_t size);

#endif
