#include "exporter/containers/discovery/late_ids.h"

#include <errno.h>
#include <stdlib.h>

struct late_id {
    uint64_t cgroup_id, due_ns;
    uint32_t slot, gen;
};

void late_ids_release(struct late_ids *late)
{
    free(late->ring);
    *late = (struct late_ids){0};
}

static void forget_first(struct late_ids *late, struct cgroup_map *map)
{
    const struct late_id *id = &late->ring[late->first];
    uint32_t slot, gen;
    /* Not if another one has it by now: a directory that was renamed keeps its id. */
    if (cgroup_map_find(map, id->cgroup_id, &slot, &gen) && slot == id->slot && gen == id->gen)
        cgroup_map_remove(map, id->cgroup_id);
    late->first = (late->first + 1) % late->cap;
    late->n--;
}

void late_ids_forget(struct late_ids *late, struct cgroup_map *map, uint64_t now_ns)
{
    while (late->n > 0 && late->ring[late->first].due_ns <= now_ns)
        forget_first(late, map);
}

static int grow(struct late_ids *late)
{
    size_t cap = late->cap ? late->cap * 2 : 64;
    struct late_id *ring = malloc(cap * sizeof *ring);
    if (!ring)
        return -ENOMEM;
    for (size_t i = 0; i < late->n; i++)
        ring[i] = late->ring[(late->first + i) % late->cap];
    free(late->ring);
    late->ring = ring;
    late->cap = cap;
    late->first = 0;
    return 0;
}

void late_ids_add(struct late_ids *late, struct cgroup_map *map, uint64_t cgroup_id,
                  uint64_t now_ns)
{
    struct late_id id = {.cgroup_id = cgroup_id, .due_ns = now_ns + LATE_IDS_NS};
    if (!cgroup_map_find(map, cgroup_id, &id.slot, &id.gen))
        return;
    if (late->n == LATE_IDS_MAX)
        forget_first(late, map);
    if (late->n == late->cap && grow(late) != 0) {
        cgroup_map_remove(map, cgroup_id);
        return;
    }
    late->ring[(late->first + late->n++) % late->cap] = id;
}
