#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/table/state.h"

bool table_passes(const struct container_table *table, const struct container *container)
{
    return container_filter_passes(&table->filter, container->namespace_, container->pod,
                                   container->name);
}

static struct table_entry *labels_holder(const struct container_table *table,
                                         const struct container *container)
{
    const struct entry_index *index = &table->index[INDEX_LABELS];
    uint64_t hash = entry_hash_labels(container);
    struct table_entry *holder = NULL;
    do
        holder = entry_index_find(index, hash, holder);
    while (holder && !entry_same_labels(&holder->c, container));
    return holder;
}

static bool labels_retired(const struct container_table *table, const struct container *container)
{
    for (const struct retired_labels *r = table->retired; r; r = r->next) {
        if (entry_same_labels(&r->labels, container))
            return true;
    }
    return false;
}

/* Whether the labels can be had; takes them from a container that only lingers. */
static bool claim_labels(struct container_table *table, const struct container *container)
{
    struct table_entry *holder = labels_holder(table, container);
    if (holder && holder->c.state == CONTAINER_LINGERING) {
        table_forget(table, holder);
        holder = NULL;
    }
    return !holder && !labels_retired(table, container);
}

static void leave_naming_lists(struct container_table *table, struct table_entry *entry)
{
    if (entry->is_unnamed)
        TAILQ_REMOVE(&table->unnamed, entry, naming);
    if (entry->is_blocked)
        TAILQ_REMOVE(&table->blocked, entry, naming);
    entry->is_unnamed = entry->is_blocked = false;
}

static void block(struct container_table *table, struct table_entry *entry)
{
    leave_naming_lists(table, entry);
    TAILQ_INSERT_TAIL(&table->blocked, entry, naming);
    entry->is_blocked = true;
    const struct table_entry *holder = labels_holder(table, &entry->c);
    if (entry->complained || !holder || holder->c.state != CONTAINER_LIVE)
        return;
    entry->complained = true;
    log_warn(table->log, "containers",
             "%s has the names and id of another live container: it gets no series", entry->c.path);
}

void table_name(struct container_table *table, struct table_entry *entry)
{
    if (entry->c.named)
        return;
    if (!table_passes(table, &entry->c)) {
        table_exclude(table, entry, NULL);
        return;
    }
    if (!claim_labels(table, &entry->c)) {
        block(table, entry);
        return;
    }
    leave_naming_lists(table, entry);
    entry->c.named = true;
    entry_index_insert(&table->index[INDEX_LABELS], entry, entry_hash_labels(&entry->c));
    table_change(table, CHANGE_NAMED, entry);
}

void table_await_name(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    if (entry->resolved || table_patience_is_over(table, entry, now_ns)) {
        table_name(table, entry);
        return;
    }
    struct table_entry *before = TAILQ_LAST(&table->unnamed, entry_list);
    while (before && before->c.found_mono_ns > entry->c.found_mono_ns)
        before = TAILQ_PREV(before, entry_list, naming);
    if (before)
        TAILQ_INSERT_AFTER(&table->unnamed, before, entry, naming);
    else
        TAILQ_INSERT_HEAD(&table->unnamed, entry, naming);
    entry->is_unnamed = true;
}

void table_unname(struct container_table *table, struct table_entry *entry)
{
    leave_naming_lists(table, entry);
    if (!entry->chain[INDEX_LABELS].in)
        return;
    entry_index_remove(&table->index[INDEX_LABELS], entry);
    table->labels_freed = true;
}

void table_settle_blocked(struct container_table *table)
{
    if (!table->labels_freed)
        return;
    table->labels_freed = false;
    struct table_entry *entry, *next;
    for (entry = TAILQ_FIRST(&table->blocked); entry; entry = next) {
        next = TAILQ_NEXT(entry, naming);
        const struct table_entry *holder = labels_holder(table, &entry->c);
        if ((!holder || holder->c.state == CONTAINER_LINGERING) &&
            !labels_retired(table, &entry->c))
            table_name(table, entry);
    }
}

/* ---- new names ---- */

static int retire_labels(struct container_table *table, struct table_entry *entry)
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
    if (relabel && !claim_labels(table, next))
        return -EEXIST;
    bool seen = !(entry->pending & 1U << CHANGE_NAMED);
    if (seen && relabel) {
        if (retire_labels(table, entry) != 0)
            return -ENOMEM;
    } else {
        free(entry->strings);
    }
    if (relabel)
        entry_index_remove(&table->index[INDEX_LABELS], entry);
    take_strings(entry, next, strings);
    if (relabel)
        entry_index_insert(&table->index[INDEX_LABELS], entry, entry_hash_labels(&entry->c));
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

/* Has no slot: nobody has seen it. */
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
