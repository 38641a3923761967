/* New names of a known container. */
#include <errno.h>
#include <stdlib.h>

#include "exporter/containers/table/contest.h"
#include "exporter/containers/table/diff.h"
#include "exporter/containers/table/labels.h"
#include "exporter/containers/table/places.h"

static const char *id_of(const struct table_entry *entry, const struct container_spec *spec)
{
    return spec->id ? spec->id : entry->c.id;
}

/* Consumers may have series of it. On success the strings are the table's. */
static int rename_named(struct container_table *table, struct table_entry *entry,
                        const struct container *next, char *strings)
{
    bool relabel = !entry_same_labels(&entry->c, next);
    enum labels_answer answer = relabel ? table_ask_labels(table, entry, next) : LABELS_GRANTED;
    if (answer == LABELS_LATER)
        return -EEXIST;
    if (answer == LABELS_REFUSED) {
        int err = table_go_by_cgroup(table, entry, next);
        if (!err)
            free(strings);
        return err;
    }
    bool seen = !(entry->pending & 1U << CHANGE_NAMED);
    if (seen && relabel) {
        if (table_retire_labels(table, entry) != 0)
            return -ENOMEM;
    } else {
        free(entry->strings);
    }
    if (relabel) {
        entry_index_remove(&table->index[INDEX_REFUSED], entry);
        entry_index_remove(&table->index[INDEX_LABELS], entry);
    }
    entry_take_strings(entry, next, strings);
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
    int err = entry_set_strings(&next, spec, entry->c.path, id_of(entry, spec), &strings);
    if (err)
        return err;
    if (spec->resolved && !table_passes(table, &next)) {
        free(strings);
        table_exclude(table, entry, spec);
        return 0;
    }
    if (!entry->c.named) {
        free(entry->strings);
        entry_take_strings(entry, &next, strings);
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
    int err = entry_set_strings(&next, spec, entry->c.path, id_of(entry, spec), &strings);
    if (err)
        return err;
    free(entry->strings);
    entry_take_strings(entry, &next, strings);
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
