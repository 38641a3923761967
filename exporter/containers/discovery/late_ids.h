/*
 * Ids whose cgroup is gone: they stay in the map for a while, since samples of them may still be on
 * their way. Loop thread only.
 */
#ifndef IE_CONTAINERS_DISCOVERY_LATE_IDS_H
#define IE_CONTAINERS_DISCOVERY_LATE_IDS_H

#include "exporter/containers/cgroup_map.h"

/* How long an id stays in the map after its cgroup. */
#define LATE_IDS_NS UINT64_C(10000000000)
/* Beyond this many the oldest goes early. */
enum { LATE_IDS_MAX = 65536 };

/* All zero: none. */
struct late_ids {
    struct late_id *ring; /* by when they are due */
    size_t first, n, cap;
};

void late_ids_release(struct late_ids *late);

/* The cgroup is gone. Does nothing for an id that is not in the map. Times must not go back.
 * Without memory the id is removed at once. */
void late_ids_add(struct late_ids *late, struct cgroup_map *map, uint64_t cgroup_id,
                  uint64_t now_ns);
/* Removes from the map what is due, unless the id is another container's by now. */
void late_ids_forget(struct late_ids *late, struct cgroup_map *map, uint64_t now_ns);

#endif
