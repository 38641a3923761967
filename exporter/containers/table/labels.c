#include "exporter/containers/table/labels.h"

#include <errno.h>
#include <stdlib.h>

bool table_passes(const struct container_table *table, const struct container *container)
{
    return container_filter_passes(&table->filter, container->namespace_, container->pod,
                                   container->name);
}

struct table_entry *table_labels_holder(const struct container_table *table,
                                        const struct container *container)
{
    const struct entry_index *index = &table->index[INDEX_LABELS];
    uint64_t hash = entry_hash_labels(&table->key, container);
    struct table_entry *holder = NULL;
    do
        holder = entry_index_find(index, hash, holder);
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

void table_unname(struct container_table *table, struct table_entry *entry)
{
    table_leave_naming_lists(table, entry);
    if (!entry->chain[INDEX_LABELS].in)
        return;
    entry_index_remove(&table->index[INDEX_LABELS], entry);
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
