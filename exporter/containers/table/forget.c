#include "exporter/containers/table/forget.h"

#include "exporter/containers/table/diff.h"
#include "exporter/containers/table/labels.h"

void table_forget_handle(struct container_table *table, struct table_entry *entry)
{
    entry_index_remove(&table->index[INDEX_HANDLE], entry);
    entry_index_remove(&table->index[INDEX_PATH], entry);
    entry_index_remove(&table->index[INDEX_REFUSED], entry);
    entry->handle = 0;
    entry->owner = NULL;
}

void table_forget(struct container_table *table, struct table_entry *entry)
{
    table_unname(table, entry);
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
    table_withdraw(table, entry);
    if (!unseen)
        table_change(table, CHANGE_FORGOTTEN, entry);
    entry->place = ENTRY_GONE;
    TAILQ_INSERT_TAIL(&table->gone, entry, queue);
}
