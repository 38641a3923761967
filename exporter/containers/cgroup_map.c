/*
 * An open-addressed table. A cell's id is written once in the life of its array and never changes,
 * so a reader that found its id may trust the value beside it, which is one atomic word. Removing
 * an id clears only the value. When an array is full of such cells a new one is made from the
 * living ones, and the old one is freed once no reader can be in it:
 *
 * A reader counts itself in the current epoch's counter before it loads the array. An array that
 * was replaced can be freed after each of the two counters was seen at 0 after the replacement: a
 * reader that counted itself before was seen to leave, one that did so later has the new array.
 * Flipping the epoch lets a busy counter drain. The writer only looks, it never waits.
 */
#include "exporter/containers/cgroup_map.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "exporter/base/hash.h"

enum { CELLS_MIN = 256, EPOCHS = 2 };

struct cell {
    _Atomic uint64_t id;    /* 0: never used */
    _Atomic uint64_t value; /* slot in the upper half, gen in the lower; 0: none */
};

struct array {
    struct array *next; /* among the replaced ones */
    bool drained[EPOCHS];
    size_t mask;
    size_t used; /* cells with an id */
    struct cell cells[];
};

struct cgroup_map {
    _Atomic(struct array *) array;
    _Atomic uint32_t epoch;
    _Atomic uint32_t readers[EPOCHS];
    /* The writer's */
    size_t live;
    struct array *replaced;
};

static struct array *array_new(size_t cells)
{
    struct array *array = calloc(1, sizeof *array + cells * sizeof(struct cell));
    if (array)
        array->mask = cells - 1;
    return array;
}

int cgroup_map_new(struct cgroup_map **out)
{
    struct cgroup_map *map = calloc(1, sizeof *map);
    struct array *array = array_new(CELLS_MIN);
    if (!map || !array) {
        free(map);
        free(array);
        return -ENOMEM;
    }
    atomic_init(&map->array, array);
    *out = map;
    return 0;
}

void cgroup_map_free(struct cgroup_map *map)
{
    if (!map)
        return;
    free(atomic_load(&map->array));
    while (map->replaced) {
        struct array *array = map->replaced;
        map->replaced = array->next;
        free(array);
    }
    free(map);
}

static uint64_t mix(uint64_t id)
{
    id = hash_u64(id ^ id >> 31);
    return id ^ id >> 32;
}

/* The cell with this id, or the one where it may be put. There is always a free one. */
static struct cell *find_cell(struct array *array, uint64_t id)
{
    for (size_t at = mix(id);; at++) {
        struct cell *cell = &array->cells[at & array->mask];
        uint64_t has = atomic_load_explicit(&cell->id, memory_order_acquire);
        if (has == id || has == 0)
            return cell;
    }
}

/* Frees replaced arrays that no reader can be in any more. */
static void reclaim(struct cgroup_map *map)
{
    if (!map->replaced)
        return;
    bool idle[EPOCHS];
    for (int e = 0; e < EPOCHS; e++)
        idle[e] = atomic_load(&map->readers[e]) == 0;
    struct array **at = &map->replaced;
    while (*at) {
        struct array *array = *at;
        bool drained = true;
        for (int e = 0; e < EPOCHS; e++)
            drained &= array->drained[e] |= idle[e];
        if (drained) {
            *at = array->next;
            free(array);
        } else {
            at = &array->next;
        }
    }
    if (map->replaced)
        atomic_fetch_xor(&map->epoch, 1);
}

/* A new array with room for one more id, without the removed ones. */
static int replace(struct cgroup_map *map, struct array *old)
{
    size_t cells = CELLS_MIN;
    while (cells < 4 * (map->live + 1))
        cells *= 2;
    struct array *new = array_new(cells);
    if (!new)
        return -ENOMEM;
    for (size_t i = 0; i <= old->mask; i++) {
        uint64_t value = atomic_load_explicit(&old->cells[i].value, memory_order_relaxed);
        if (!value)
            continue;
        uint64_t id = atomic_load_explicit(&old->cells[i].id, memory_order_relaxed);
        struct cell *cell = find_cell(new, id);
        atomic_init(&cell->value, value);
        atomic_init(&cell->id, id);
        new->used++;
    }
    atomic_store(&map->array, new);
    old->next = map->replaced;
    map->replaced = old;
    return 0;
}

int cgroup_map_set(struct cgroup_map *map, uint64_t cgroup_id, uint32_t slot, uint32_t gen)
{
    if (cgroup_id == 0 || gen == 0)
        return -EINVAL;
    reclaim(map);
    struct array *array = atomic_load_explicit(&map->array, memory_order_relaxed);
    struct cell *cell = find_cell(array, cgroup_id);
    if (atomic_load_explicit(&cell->id, memory_order_relaxed) == 0) {
        if (2 * (array->used + 1) > array->mask) {
            int err = replace(map, array);
            if (err)
                return err;
            array = atomic_load_explicit(&map->array, memory_order_relaxed);
            cell = find_cell(array, cgroup_id);
        }
        array->used++;
    }
    if (atomic_load_explicit(&cell->value, memory_order_relaxed) == 0)
        map->live++;
    atomic_store_explicit(&cell->value, (uint64_t)slot << 32 | gen, memory_order_release);
    atomic_store_explicit(&cell->id, cgroup_id, memory_order_release);
    return 0;
}

void cgroup_map_remove(struct cgroup_map *map, uint64_t cgroup_id)
{
    if (cgroup_id == 0)
        return;
    reclaim(map);
    struct cell *cell =
        find_cell(atomic_load_explicit(&map->array, memory_order_relaxed), cgroup_id);
    if (atomic_load_explicit(&cell->value, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&cell->value, 0, memory_order_release);
    map->live--;
}

size_t cgroup_map_size(const struct cgroup_map *map)
{
    return map->live;
}

bool cgroup_map_find(struct cgroup_map *map, uint64_t cgroup_id, uint32_t *slot, uint32_t *gen)
{
    if (cgroup_id == 0)
        return false;
    _Atomic uint32_t *readers = &map->readers[atomic_load(&map->epoch) & 1];
    atomic_fetch_add(readers, 1);
    struct cell *cell = find_cell(atomic_load(&map->array), cgroup_id);
    uint64_t value = 0;
    if (atomic_load_explicit(&cell->id, memory_order_acquire) == cgroup_id)
        value = atomic_load_explicit(&cell->value, memory_order_acquire);
    atomic_fetch_sub(readers, 1);
    if (!value)
        return false;
    *slot = (uint32_t)(value >> 32);
    *gen = (uint32_t)value;
    return true;
}
