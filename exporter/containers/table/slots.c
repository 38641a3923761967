#include "exporter/containers/table/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

/* ---- labels ---- */

bool table_passes(const struct container_table *table, const struct container *container)
{
    return container_filter_passes(&table->filter, container->namespace_, container->pod,
                                   container->name);
}

struct table_entry *table_labels_holder(const struct container_table *table,
                                        const struct container *container)
{
    uint64_t hash = entry_hash_labels(&table->key, container);
    struct table_entry *holder;
    size_t at = 0;
    do
        holder = hash_table_next(&table->index[INDEX_LABELS], hash, &at);
    while (holder && !entry_same_labels(&holder->c, container));
    return holder;
}

bool table_labels_retired(const struct container_table *table, const struct container *container)
{
    for (const struct retired_labels *r = table->retired; r; r = r->next) {
        if (entry_same_labels(&r->labels, container))
            return true;
    }
    return false;
}

void table_leave_naming_lists(struct container_table *table, struct table_entry *entry)
{
    if (entry->is_unnamed)
        TAILQ_REMOVE(&table->unnamed, entry, naming);
    if (entry->is_blocked)
        TAILQ_REMOVE(&table->blocked, entry, naming);
    entry->is_unnamed = entry->is_blocked = false;
}

/* Out of those lists and the index of labels. */
static void unname(struct container_table *table, struct table_entry *entry)
{
    table_leave_naming_lists(table, entry);
    if (!entry->index[INDEX_LABELS].in)
        return;
    table_unindex(table, INDEX_LABELS, entry);
    table->labels_freed = true;
}

int table_retire_labels(struct container_table *table, struct table_entry *entry)
{
    struct retired_labels *retired = malloc(sizeof *retired);
    if (!retired)
        return -ENOMEM;
    retired->labels = entry->c;
    retired->strings = entry->strings;
    retired->next = table->retired;
    table->retired = retired;
    return 0;
}

void table_drop_retired(struct container_table *table)
{
    while (table->retired) {
        struct retired_labels *retired = table->retired;
        table->retired = retired->next;
        free(retired->strings);
        free(retired);
        table->labels_freed = true;
    }
}

/* ---- what consumers see ---- */

static int change_list_reserve(struct change_list *list, size_t n)
{
    return array_reserve(&list->at, &list->cap, n, sizeof *list->at);
}

/* There is room: table_take_slot saw to it when the entry got its slot. */
void table_change(struct container_table *table, enum change change, struct table_entry *entry)
{
    if (entry->pending & 1U << change)
        return;
    entry->pending |= (uint8_t)(1U << change);
    table->pending[change].at[table->pending[change].n++] = &entry->c;
}

/* Takes back what consumers have not seen. */
static void withdraw(struct container_table *table, struct table_entry *entry)
{
    for (int i = 0; i < CHANGES; i++) {
        struct change_list *list = &table->pending[i];
        if (!(entry->pending & 1U << i))
            continue;
        size_t at = 0;
        while (list->at[at] != &entry->c)
            at++;
        memmove(&list->at[at], &list->at[at + 1], (list->n - at - 1) * sizeof *list->at);
        list->n--;
    }
    entry->pending = 0;
}

/* Room for one more slot in use, everywhere: what follows then cannot fail half-way. */
static int table_reserve(struct container_table *table)
{
    size_t n = table->n_slots - table->n_free + 1;
    for (int i = 0; i < CHANGES; i++) {
        if (change_list_reserve(&table->pending[i], n) || change_list_reserve(&table->taken[i], n))
            return -ENOMEM;
    }
    if (hash_table_reserve(&table->index[INDEX_LABELS], n) ||
        hash_table_reserve(&table->index[INDEX_REFUSED], n))
        return -ENOMEM;
    if (table->n_free > 0 || table->n_slots < table->cap_slots)
        return 0;
    size_t cap = table->cap_slots ? table->cap_slots * 2 : 64;
    struct table_entry **slots = realloc(table->slots, cap * sizeof(struct table_entry *));
    if (!slots)
        return -ENOMEM;
    table->slots = slots;
    uint32_t *gens = realloc(table->gens, cap * sizeof *gens);
    if (!gens)
        return -ENOMEM;
    table->gens = gens;
    uint32_t *free_slots = realloc(table->free_slots, cap * sizeof *free_slots);
    if (!free_slots)
        return -ENOMEM;
    table->free_slots = free_slots;
    table->cap_slots = cap;
    return 0;
}

int table_take_slot(struct container_table *table, struct table_entry *entry)
{
    if (table_reserve(table) != 0)
        return -ENOMEM;
    struct container *c = &entry->c;
    if (table->n_free > 0) {
        c->slot = table->free_slots[--table->n_free];
    } else {
        c->slot = (uint32_t)table->n_slots++;
        table->gens[c->slot] = 0;
    }
    c->gen = ++table->gens[c->slot];
    if (c->gen == 0) /* the map of cgroup ids knows no generation 0 */
        c->gen = ++table->gens[c->slot];
    if (!entry->own_key)
        snprintf(c->key, sizeof c->key, "c%" PRIu32 ".%" PRIu32, c->slot, c->gen);
    table->slots[c->slot] = entry;
    return 0;
}

static void free_gone(struct container_table *table, struct entry_list *list)
{
    struct table_entry *entry;
    while ((entry = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, entry, queue);
        table->slots[entry->c.slot] = NULL;
        table->free_slots[table->n_free++] = entry->c.slot;
        entry_free(entry);
    }
}

void container_table_take_diff(struct container_table *table, struct container_diff *diff)
{
    free_gone(table, &table->delivered);
    TAILQ_CONCAT(&table->delivered, &table->gone, queue);
    for (int i = 0; i < CHANGES; i++) {
        struct change_list list = table->pending[i];
        table->pending[i] = table->taken[i];
        table->pending[i].n = 0;
        table->taken[i] = list;
        for (size_t k = 0; k < list.n; k++)
            ((struct table_entry *)list.at[k])->pending &= (uint8_t) ~(1U << i);
    }
    struct container_list *const out[CHANGES] = {
        [CHANGE_FORGOTTEN] = &diff->forgotten, [CHANGE_ADDED] = &diff->added,
        [CHANGE_NAMED] = &diff->named,         [CHANGE_RENAMED] = &diff->renamed,
        [CHANGE_ENDED] = &diff->ended,
    };
    for (int i = 0; i < CHANGES; i++)
        *out[i] = (struct container_list){table->taken[i].at, table->taken[i].n};
    table_drop_retired(table);
}

struct container *container_table_next(const struct container_table *table, size_t *cursor)
{
    while (*cursor < table->n_slots) {
        struct table_entry *entry = table->slots[(*cursor)++];
        if (entry && entry->admission == ENTRY_HELD)
            return &entry->c;
    }
    return NULL;
}

size_t container_table_slots(const struct container_table *table)
{
    return table->n_slots;
}

size_t container_table_count(const struct container_table *table, enum container_count what)
{
    return table->count[what];
}

void table_release_diffs(struct container_table *table)
{
    for (size_t i = 0; i < table->n_slots; i++)
        entry_free(table->slots[i]);
    for (int i = 0; i < CHANGES; i++) {
        free(table->pending[i].at);
        free(table->taken[i].at);
    }
    free(table->slots);
    free(table->gens);
    free(table->free_slots);
}

/* ---- not known any more ---- */

void table_forget_handle(struct container_table *table, struct table_entry *entry)
{
    table_unindex(table, INDEX_HANDLE, entry);
    table_unindex(table, INDEX_PATH, entry);
    table_unindex(table, INDEX_REFUSED, entry);
    entry->handle = 0;
    entry->owner = NULL;
}

void table_forget(struct container_table *table, struct table_entry *entry)
{
    unname(table, entry);
    switch (entry->c.state) {
    case CONTAINER_LIVE:
        table->count[CONTAINERS_MONITORED]--;
        if (table->hooks.dropped && entry->owner)
            table->hooks.dropped(table->hooks.arg, entry->owner, &entry->c);
        break;
    case CONTAINER_LINGERING:
        TAILQ_REMOVE(&table->lingering, entry, queue);
        table->n_linger_list--;
        table->count[CONTAINERS_LINGERING]--;
        break;
    case CONTAINER_ENDED:
        table->count[CONTAINERS_LINGERING]--;
        break;
    }
    table_forget_handle(table, entry);
    bool unseen = entry->pending & 1U << CHANGE_ADDED;
    withdraw(table, entry);
    if (!unseen)
        table_change(table, CHANGE_FORGOTTEN, entry);
    entry->admission = ENTRY_GONE;
    TAILQ_INSERT_TAIL(&table->gone, entry, queue);
}
