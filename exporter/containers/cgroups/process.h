/*
 * Which cgroup a process is in, by its number: for samples that do not carry their cgroup.
 *
 * The kernel writes paths as seen from the reader's cgroup namespace, with ".." for what is above
 * its root. If the exporter runs in a container, that root is not the hierarchy's; where it is in
 * the hierarchy is found out at start, by the exporter's own process.
 */
#ifndef IE_CONTAINERS_CGROUPS_PROCESS_H
#define IE_CONTAINERS_CGROUPS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/containers/cgroups/hierarchy.h"

/* Immutable after init; any thread may ask. */
struct process_cgroups {
    const struct fsroot *fs; /* borrowed */
    struct cgroup_hierarchy hierarchy;
    char root[4096]; /* of our cgroup namespace, below the hierarchy's; "" is that one's */
};

/* Uses the hierarchy that cgroup_hierarchy_find finds, or the whole of it if that is only a part.
 * -errno with the message in error when there is none, or none that this process is in. */
int process_cgroups_init(struct process_cgroups *cgroups, const struct fsroot *fs, char *error,
                         size_t error_size);

/* The cgroup's id; of a path that the kernel did not write whole, for it is longer than PATH_MAX,
 * that of the last directory above that it did. -ESRCH when there is no such process, or it began
 * after 'time_ns' (CLOCK_MONOTONIC): another process had the number before. -ENOENT when the cgroup
 * is gone. */
int process_cgroup_id(const struct process_cgroups *cgroups, uint32_t pid, uint64_t time_ns,
                      uint64_t *out);

/* The same where nothing else is asked; 0: it is not known. */
uint64_t process_cgroup_find_own(const struct fsroot *fs);

/* ---- the parts, for tests ---- */

/* The path in the hierarchy of a controller of v1; for "", of v2. Points into the text. -ENOENT. */
int process_cgroup_path(const char *text, size_t len, const char *controller, const char **path,
                        size_t *path_len);
/* How much of such a path consists of whole names. */
size_t process_cgroup_whole(const char *path, size_t len);
/* A path as the kernel writes it, from a namespace's root below the hierarchy's. 0; -EINVAL for one
 * that leads out of the hierarchy, -ENAMETOOLONG. */
int process_cgroup_resolve(const char *root, const char *path, size_t path_len, char *out,
                           size_t size);

#endif
