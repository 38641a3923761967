/*
 * From a cgroup id to the container it belongs to, descendants included.
 *
 * The loop's thread writes, any thread reads without locks: for samplers that must attribute a
 * sample in their own thread.
 */
#ifndef IE_CONTAINERS_CGROUP_MAP_H
#define IE_CONTAINERS_CGROUP_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup_map;

int cgroup_map_new(struct cgroup_map **out);
void cgroup_map_free(struct cgroup_map *map);

/* Loop thread. Setting an id again replaces its container. 0 or -ENOMEM. */
int cgroup_map_set(struct cgroup_map *map, uint64_t cgroup_id, uint32_t slot, uint32_t gen);
void cgroup_map_remove(struct cgroup_map *map, uint64_t cgroup_id);

/* Any thread, wait-free for the writer. False when the id belongs to no container. */
bool cgroup_map_find(const struct cgroup_map *map, uint64_t cgroup_id, uint32_t *slot,
                     uint32_t *gen);

#endif
