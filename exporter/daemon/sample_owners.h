/*
 * Finds the container that a sample belongs to, by its cgroup.
 */
#ifndef IE_DAEMON_SAMPLE_OWNERS_H
#define IE_DAEMON_SAMPLE_OWNERS_H

#include "exporter/containers/cgroup_map.h"
#include "exporter/containers/cgroups/process.h"
#include "exporter/source/accesses/assignment.h"

/* Embedded where it does not move: 'owners' points to it. */
struct container_owners {
    struct sample_owners owners; /* answers container_tag() of the container */
    struct cgroup_map *map;      /* borrowed */
    struct process_cgroups cgroups;
};

/* As process_cgroups_init. */
int container_owners_init(struct container_owners *owners, const struct fsroot *fs,
                          struct cgroup_map *map, char *error, size_t error_size);

#endif
