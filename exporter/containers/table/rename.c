/* New names of a known container. */
#include <errno.h>
#include <stdlib.h>

#include "exporter/containers/table/diff.h"
#include "exporter/containers/table/labels.h"
#include "exporter/containers/table/places.h"

static void take_strings(struct table_entry *entry, const struct container *from, char *strings)
{
    entry->c = *from;
    entry->strings = strings;
}

/* Consumers may have series of it. */
static int rename_named(struct container_table *table, struct table_entry *entry,
                        const struct container *next, char *strings)
{
    bool relabel = !entry_same_labels(&entry->c, next);
    if (relabel && !table_claim_labels(table, next))
        return -EEXIST;
    bool seen = !(entry->pending & 1U << CHANGE_NAMED);
    if (seen && relabel) {
        if (table_retire_labels(table, entry) != 0)
            return -ENOMEM;
    } else {
        free(entry->strings);
    }
    if (relabel)
        entry_index_remove(&table->index[INDEX_LABELS], entry);
    take_strings(entry, next, strings);
    if (relabel)
        entry_index_insert(&table->index[INDEX_LABELS], entry,
                           entry_hash_labels(&table->key, &entry->c));
    if (seen)
        table_change(table, CHANGE_RENAMED, entry);
    else
        table->labels_freed |= relabel;
    return 0;
}

static int rename_held(struct container_table *table, struct table_entry *entry,
                       const struct container_spec *spec)
{
    struct container next = entry->c;
    char *strings;
    int err = entry_set_strings(&next, spec, entry->c.path, entry->c.id, &strings);
    if (err)
        return err;
    if (spec->resolved && !table_passes(table, &next)) {
        free(strings);
        table_exclude(table, entry, spec);
        return 0;
    }
    if (!entry->c.named) {
        free(entry->strings);
        take_strings(entry, &next, strings);
        entry->resolved |= spec->resolved;
        if (entry->resolved)
            table_name(table, entry);
        return 0;
    }
    if (entry_same_strings(&entry->c, &next))
        free(strings);
    else
        err = rename_named(table, entry, &next, strings);
    if (err)
        free(strings);
    else
        entry->resolved |= spec->resolved;
    return err;
}

/* Has no slot: no consumer has seen it. */
static int rename_unheld(struct container_table *table, struct table_entry *entry,
                         const struct container_spec *spec, uint64_t now_ns)
{
    struct container next = entry->c;
    char *strings;
    int err = entry_set_strings(&next, spec, entry->c.path, entry->c.id, &strings);
    if (err)
        return err;
    free(entry->strings);
    take_strings(entry, &next, strings);
    entry->resolved |= spec->resolved;
    bool passes = !entry->resolved || table_passes(table, &entry->c);
    if (entry->place == ENTRY_WAITING && !passes)
        table_exclude(table, entry, NULL);
    else if (entry->place == ENTRY_EXCLUDED && passes)
        table_enqueue(table, entry, now_ns);
    return 0;
}

int container_table_rename(struct container_table *table, uint64_t handle,
                           const struct container_spec *spec, uint64_t now_ns)
{
    struct table_entry *entry = table_find(table, handle);
    if (!entry)
        return -ENOENT;
    int err = entry->place == ENTRY_HELD ? rename_held(table, entry, spec)
                                         : rename_unheld(table, entry, spec, now_ns);
    table_settle_blocked(table);
    return err;
}
