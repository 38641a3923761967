#include "exporter/containers/cgroup_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "exporter/base/hash.h"
#include "exporter/base/hash_table.h"

struct entry {
    uint64_t id;
    uint32_t slot, gen;
};

struct cgroup_map {
    pthread_mutex_t lock; /* of what follows; held for one search, or one change */
    struct hash_table entries;
};

int cgroup_map_new(struct cgroup_map **out)
{
    struct cgroup_map *map = calloc(1, sizeof *map);
    if (!map || pthread_mutex_init(&map->lock, NULL)) {
        free(map);
        return -ENOMEM;
    }
    *out = map;
    return 0;
}

void cgroup_map_free(struct cgroup_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->entries.cap; i++)
        free(map->entries.slots[i].value);
    hash_table_release(&map->entries);
    pthread_mutex_destroy(&map->lock);
    free(map);
}

static uint64_t mix(uint64_t id)
{
    id = hash_u64(id ^ id >> 31);
    return id ^ id >> 32;
}

static struct entry *find(const struct cgroup_map *map, uint64_t id)
{
    struct entry *entry;
    size_t at = 0;
    do
        entry = hash_table_next(&map->entries, mix(id), &at);
    while (entry && entry->id != id);
    return entry;
}

/* NULL: out of memory. */
static struct entry *find_or_add(struct cgroup_map *map, uint64_t id)
{
    struct entry *entry = find(map, id);
    if (entry || hash_table_reserve(&map->entries, map->entries.n + 1) ||
        !(entry = malloc(sizeof *entry)))
        return entry;
    entry->id = id;
    hash_table_insert(&map->entries, mix(id), entry);
    return entry;
}

int cgroup_map_set(struct cgroup_map *map, uint64_t cgroup_id, uint32_t slot, uint32_t gen)
{
    if (cgroup_id == 0 || gen == 0)
        return -EINVAL;
    pthread_mutex_lock(&map->lock);
    struct entry *entry = find_or_add(map, cgroup_id);
    if (entry)
        *entry = (struct entry){cgroup_id, slot, gen};
    pthread_mutex_unlock(&map->lock);
    return entry ? 0 : -ENOMEM;
}

void cgroup_map_remove(struct cgroup_map *map, uint64_t cgroup_id)
{
    pthread_mutex_lock(&map->lock);
    struct entry *entry = find(map, cgroup_id);
    if (entry)
        hash_table_remove(&map->entries, mix(cgroup_id), entry);
    pthread_mutex_unlock(&map->lock);
    free(entry);
}

size_t cgroup_map_size(const struct cgroup_map *map)
{
    return map->entries.n;
}

bool cgroup_map_find(struct cgroup_map *map, uint64_t cgroup_id, uint32_t *slot, uint32_t *gen)
{
    pthread_mutex_lock(&map->lock);
    const struct entry *entry = find(map, cgroup_id);
    if (entry) {
        *slot = entry->slot;
        *gen = entry->gen;
    }
    pthread_mutex_unlock(&map->lock);
    return entry != NULL;
}
