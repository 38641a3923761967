/*
 * Walks a cgroup hierarchy, or a part of it: every directory once, parents before children.
 *
 * The children of a directory are looked for only when the caller asks for the next entry. So a
 * caller that adds a watch to each directory it is handed misses no child: the watch reports those
 * that are made after the walk has passed. Directories that vanish on the way are stepped over.
 */
#ifndef IE_CONTAINERS_CGROUPS_WALK_H
#define IE_CONTAINERS_CGROUPS_WALK_H

#include <stdint.h>

#include "exporter/containers/cgroups/hierarchy.h"

struct cgroup_walk;

struct cgroup_walk_entry {
    const char *path; /* below the hierarchy's root, with a leading slash; "/" is the root */
    uint64_t inode;   /* 0: not known */
};

/*
 * From 'below' downwards, itself included ("/": everything).
 *
 * WALK_FIRST has libcgroup walk the whole of a hierarchy that libcgroup found. It looks at every
 * control file, and the kernel makes an inode for each: 200 us for each cgroup, against 10 without.
 * So that is for the start, if there are not too many cgroups; rescans ask for WALK_CHEAPLY.
 */
enum walk_effort { WALK_FIRST, WALK_CHEAPLY };

int cgroup_walk_new(const struct cgroup_hierarchy *hierarchy, const char *below,
                    enum walk_effort effort, struct cgroup_walk **out);
void cgroup_walk_free(struct cgroup_walk *walk);

/* Not what is below the entry that was handed out last. What libcgroup walks is not left out. */
void cgroup_walk_skip(struct cgroup_walk *walk);

/* 1 with *out, whose path is valid until the next call; 0 at the end; -ENOMEM. */
int cgroup_walk_next(struct cgroup_walk *walk, struct cgroup_walk_entry *out);

#endif
