/*
 * From a cgroup id to the container it belongs to, descendants included.
 *
 * The loop's thread writes, any thread reads: for samplers, which attribute a sample in their own
 * thread. Each waits for the other for a search or a change at most.
 */
#ifndef IE_CONTAINERS_CGROUP_MAP_H
#define IE_CONTAINERS_CGROUP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_map;

int cgroup_map_new(struct cgroup_map **out);
/* No reader may be left. Accepts NULL. */
void cgroup_map_free(struct cgroup_map *map);

/* Loop thread. Setting an id again replaces its container. 0 or -ENOMEM; -EINVAL for an id or a
 * generation of 0, which no cgroup and no container has. */
int cgroup_map_set(struct cgroup_map *map, uint64_t cgroup_id, uint32_t slot, uint32_t gen);
void cgroup_map_remove(struct cgroup_map *map, uint64_t cgroup_id);
/* Ids in it, for tests. Loop thread. */
size_t cgroup_map_size(const struct cgroup_map *map);

/* Any thread. False when the id belongs to no container; then *slot and
 * *gen are untouched. */
bool cgroup_map_find(struct cgroup_map *map, uint64_t cgroup_id, uint32_t *slot, uint32_t *gen);

#endif
