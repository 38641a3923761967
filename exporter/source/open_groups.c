#include "exporter/source/open_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/hash.h"

/* A handle is a slot number plus one and the slot's generation, so that a handle kept beyond its
 * close finds nothing, never another group. */
enum { SLOT_BITS = 20, MAX_SLOTS = (1 << SLOT_BITS) - 1, GENERATIONS = 1 << (32 - SLOT_BITS) };

/* One open group. Allocated once per slot and kept, so that readings do not move. */
struct open_group {
    struct source *source;
    uint64_t backend;
    char *key; /* owned; NULL while the slot is free */
    enum scope_kind kind;
    enum group group;
    uint32_t index, generation;
    uint32_t refs;
    uint32_t next_free;
    uint64_t turn; /* of the last read */
    int err;       /* what that read gave */
    unsigned latest;
    struct reading readings[2];
    struct window_sum sum; /* of the window between them */
};

static uint64_t hash_of(const char *key, enum scope_kind kind, enum group group)
{
    return hash_text(key, (uint32_t)kind * GROUP_COUNT + (uint32_t)group);
}

void open_groups_init(struct open_groups *groups)
{
    *groups = (struct open_groups){.turn = 1};
}

static void group_clear(struct open_group *open)
{
    open->source->ops->close(open->source, open->backend);
    free(open->key);
    open->key = NULL;
    for (int i = 0; i < 2; i++) {
        free(open->readings[i].rows);
        memset(&open->readings[i], 0, sizeof open->readings[i]);
    }
}

void open_groups_release(struct open_groups *groups)
{
    for (uint32_t i = 0; i < groups->n; i++) {
        if (groups->slots[i]->key)
            group_clear(groups->slots[i]);
        free(groups->slots[i]);
    }
    hash_table_release(&groups->map);
    free(groups->slots);
    *groups = (struct open_groups){0};
}

static struct open_group *group_of(const struct open_groups *groups, group_handle handle)
{
    uint32_t slot = handle & MAX_SLOTS;
    if (slot == 0 || slot > groups->n)
        return NULL;
    struct open_group *found = groups->slots[slot - 1];
    return found->key && found->generation == handle >> SLOT_BITS ? found : NULL;
}

static group_handle handle_of(const struct open_group *open)
{
    return open->generation << SLOT_BITS | (open->index + 1);
}

/* Takes a free slot off the list, or makes one. */
static struct open_group *take_slot(struct open_groups *groups)
{
    if (groups->free_slots > 0) {
        struct open_group *taken = groups->slots[groups->free_slots - 1];
        groups->free_slots = taken->next_free;
        return taken;
    }
    if (groups->n == MAX_SLOTS)
        return NULL;
    if (array_reserve(&groups->slots, &groups->cap, groups->n + 1, sizeof *groups->slots))
        return NULL;
    struct open_group *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->index = groups->n;
    groups->slots[groups->n++] = made;
    return made;
}

static void give_slot_back(struct open_groups *groups, struct open_group *open)
{
    open->generation = (open->generation + 1) % GENERATIONS;
    open->next_free = groups->free_slots;
    groups->free_slots = open->index + 1;
}

/* Room for n rows; what is in it stays. */
static int reading_reserve(struct reading *reading, size_t n)
{
    if (reading->cap >= n)
        return 0;
    void *rows = realloc(reading->rows, n * reading->stride_bytes);
    if (!rows)
        return -ENOMEM;
    reading->rows = rows;
    reading->cap = n;
    return 0;
}

static int reserve_both(struct open_group *open, size_t n)
{
    int err = reading_reserve(&open->readings[0], n);
    return err ? err : reading_reserve(&open->readings[1], n);
}

static int no_memory(const struct scope *scope, struct verdict *why)
{
    verdict_set(why, REASON_NO_DEVICE, "out of memory while opening the counters of %s",
                scope->key);
    return -ENOMEM;
}

static int group_open(struct open_groups *groups, struct open_group *open,
                      const struct scope *scope, enum group group, struct verdict *why)
{
    char *key = strdup(scope->key);
    int err;
    if (!key)
        return no_memory(scope, why);
    err = open->source->ops->open(open->source, scope, group, &open->backend, why);
    if (err) {
        free(key);
        return err;
    }
    open->key = key;
    open->kind = scope->kind;
    open->group = group;
    open->refs = 1;
    open->turn = 0;
    open->latest = 0;
    size_t width = open->source->ops->width(open->source, open->backend);
    for (int i = 0; i < 2; i++)
        open->readings[i] = (struct reading){.stride_bytes = reading_stride(group)};
    err = reserve_both(open, width > 0 ? width : 1);
    if (!err)
        err = hash_table_reserve(&groups->map, groups->map.n + 1);
    if (err) {
        group_clear(open);
        return no_memory(scope, why);
    }
    hash_table_insert(&groups->map, hash_of(open->key, open->kind, open->group), open);
    return 0;
}

bool open_groups_share(struct open_groups *groups, const struct scope *scope, enum group group,
                       group_handle *handle)
{
    uint64_t hash = hash_of(scope->key, scope->kind, group);
    struct open_group *found;
    size_t at = 0;
    do
        found = hash_table_next(&groups->map, hash, &at);
    while (found && (found->kind != scope->kind || found->group != group ||
                     strcmp(found->key, scope->key) != 0));
    if (!found)
        return false;
    found->refs++;
    *handle = handle_of(found);
    return true;
}

int open_groups_open(struct open_groups *groups, struct source *source, const struct scope *scope,
                     enum group group, group_handle *handle, struct verdict *why)
{
    struct open_group *taken = take_slot(groups);
    if (!taken)
        return no_memory(scope, why);
    taken->source = source;
    int err = group_open(groups, taken, scope, group, why);
    if (err) {
        give_slot_back(groups, taken);
        return err;
    }
    *handle = handle_of(taken);
    return 0;
}

void open_groups_close(struct open_groups *groups, group_handle handle)
{
    struct open_group *found = group_of(groups, handle);
    if (!found || --found->refs > 0)
        return;
    hash_table_remove(&groups->map, hash_of(found->key, found->kind, found->group), found);
    group_clear(found);
    give_slot_back(groups, found);
}

void open_groups_begin(struct open_groups *groups)
{
    groups->turn++;
    for (uint32_t i = 0; i < groups->n; i++) {
        struct open_group *open = groups->slots[i];
        if (open->key) /* without memory, reading tries once more */
            (void)reserve_both(open, open->source->ops->width(open->source, open->backend));
    }
}

static int read_spare(struct open_group *open, struct reading *spare)
{
    struct source *source = open->source;
    for (int attempt = 0;; attempt++) {
        spare->n = 0;
        int err = source->ops->read(source, open->backend, spare);
        if (err != -ENOSPC || attempt == 4)
            return err;
        /* More CPUs than at the opening. Both buffers grow now, so that the next tick need not. */
        size_t width = source->ops->width(source, open->backend);
        err = reserve_both(open, width > spare->cap ? width : spare->cap * 2);
        if (err)
            return err;
    }
}

int open_groups_read(struct open_groups *groups, group_handle handle, struct group_window *out)
{
    struct open_group *found = group_of(groups, handle);
    if (!found)
        return -EBADF;
    if (found->turn != groups->turn) {
        found->turn = groups->turn;
        found->err = read_spare(found, &found->readings[!found->latest]);
        if (!found->err) {
            found->latest = !found->latest;
            window_sum_rows(&found->sum, found->group, &found->readings[!found->latest],
                            &found->readings[found->latest]);
        }
    }
    if (found->err)
        return found->err;
    out->group = found->group;
    out->before = &found->readings[!found->latest];
    out->after = &found->readings[found->latest];
    out->sum = &found->sum;
    return 0;
}
