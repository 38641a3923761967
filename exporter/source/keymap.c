#include "exporter/source/keymap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"

static uint64_t hash_of(const char *key, uint32_t tag)
{
    uint64_t hash = hash_bytes(HASH_START, key, strlen(key));
    hash = hash_bytes(hash, &tag, sizeof tag);
    return hash ^ hash >> 32;
}

void keymap_release(struct keymap *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

/* The slot that holds the pair, or the free slot where it belongs. The map is never full. */
static size_t find(const struct keymap *map, uint64_t hash, const char *key, uint32_t tag)
{
    size_t i = hash & (map->cap - 1);
    for (; map->slots[i].key; i = (i + 1) & (map->cap - 1)) {
        const struct keymap_slot *slot = &map->slots[i];
        if (slot->hash == hash && slot->tag == tag && strcmp(slot->key, key) == 0)
            break;
    }
    return i;
}

void *keymap_get(const struct keymap *map, const char *key, uint32_t tag)
{
    if (map->n == 0)
        return NULL;
    return map->slots[find(map, hash_of(key, tag), key, tag)].value;
}

static int grow(struct keymap *map)
{
    struct keymap bigger = {.cap = map->cap ? map->cap * 2 : 16, .n = map->n};

    bigger.slots = calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->cap; i++) {
        const struct keymap_slot *slot = &map->slots[i];
        if (slot->key)
            bigger.slots[find(&bigger, slot->hash, slot->key, slot->tag)] = *slot;
    }
    free(map->slots);
    *map = bigger;
    return 0;
}

int keymap_put(struct keymap *map, const char *key, uint32_t tag, void *value)
{
    if ((map->n + 1) * 4 > map->cap * 3) {
        int err = grow(map);
        if (err)
            return err;
    }
    uint64_t hash = hash_of(key, tag);
    map->slots[find(map, hash, key, tag)] =
        (struct keymap_slot){.key = key, .value = value, .hash = hash, .tag = tag};
    map->n++;
    return 0;
}

void keymap_remove(struct keymap *map, const char *key, uint32_t tag)
{
    if (map->n == 0)
        return;
    size_t mask = map->cap - 1;
    size_t hole = find(map, hash_of(key, tag), key, tag);
    if (!map->slots[hole].key)
        return;
    map->n--;

    /* Moves back the pairs that were pushed past the hole, so that no search ends too early. */
    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    memset(&map->slots[hole], 0, sizeof map->slots[hole]);
}
