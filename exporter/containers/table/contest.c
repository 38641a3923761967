#include "exporter/containers/table/contest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/table/diff.h"
#include "exporter/containers/table/forget.h"
#include "exporter/containers/table/labels.h"

static bool lies_in(const struct table_entry *inner, const struct table_entry *outer)
{
    size_t len = strlen(outer->c.path);
    return len > 0 && strncmp(inner->c.path, outer->c.path, len) == 0 && inner->c.path[len] == '/';
}

/* Another live one that was refused the labels with this hash, and does not lie in the entry. */
static const struct table_entry *find_rival(const struct container_table *table,
                                            const struct table_entry *entry, uint64_t hash)
{
    const struct entry_index *index = &table->index[INDEX_REFUSED];
    const struct table_entry *rival = NULL;
    while ((rival = entry_index_find(index, hash, rival))) {
        if (rival != entry && !lies_in(rival, entry))
            return rival;
    }
    return NULL;
}

/* Its labels change to 'labels', with the strings they are in. */
static int relabel(struct container_table *table, struct table_entry *entry,
                   const struct container *labels, char *strings)
{
    bool seen = entry->c.named && !(entry->pending & 1U << CHANGE_NAMED);
    if (!seen)
        free(entry->strings);
    else if (table_retire_labels(table, entry) != 0)
        return -ENOMEM;
    entry_take_strings(entry, labels, strings);
    if (!entry->c.named)
        return 0;
    entry_index_remove(&table->index[INDEX_LABELS], entry);
    entry_index_insert(&table->index[INDEX_LABELS], entry,
                       entry_hash_labels(&table->key, &entry->c));
    if (seen)
        table_change(table, CHANGE_RENAMED, entry);
    table->labels_freed = true;
    return 0;
}

int table_go_by_cgroup(struct container_table *table, struct table_entry *entry,
                       const struct container *wanted)
{
    uint64_t hash = entry_hash_labels(&table->key, wanted);
    struct container labels = entry->c;
    char *strings;
    if (entry_set_cgroup_strings(&labels, &strings) != 0)
        return -ENOMEM;
    struct table_entry *holder = table_labels_holder(table, &labels);
    if (holder && holder->c.state == CONTAINER_LINGERING) {
        table_forget(table, holder);
        holder = NULL;
    }
    bool changes = !entry_same_labels(&entry->c, &labels);
    int err = 0;
    if ((holder && holder != entry) || (changes && table_labels_retired(table, &labels)))
        err = -EEXIST;
    else if (changes)
        err = relabel(table, entry, &labels, strings);
    if (err || !changes)
        free(strings);
    if (err)
        return err;
    entry_index_remove(&table->index[INDEX_REFUSED], entry);
    entry_index_insert(&table->index[INDEX_REFUSED], entry, hash);
    return 0;
}

static void tell(const struct container_table *table, const struct table_entry *by_cgroup,
                 const struct table_entry *other)
{
    log_warn(table->log, "containers",
             "%s has the same names and id as %s: the exporter shows it by its cgroup",
             by_cgroup->c.path, other->c.path);
}

/* The live one that has the labels keeps them only if the entry lies in it. */
static int depose(struct container_table *table, struct table_entry *holder,
                  const struct table_entry *entry)
{
    if (lies_in(entry, holder))
        return 0;
    const struct container wanted = holder->c;
    int err = table_go_by_cgroup(table, holder, &wanted);
    if (!err)
        tell(table, holder, entry);
    return err;
}

enum labels_answer table_ask_labels(struct container_table *table, struct table_entry *entry,
                                    const struct container *wanted)
{
    uint64_t hash = entry_hash_labels(&table->key, wanted);
    struct table_entry *holder = table_labels_holder(table, wanted);
    if (holder == entry)
        holder = NULL;
    if (holder && holder->c.state == CONTAINER_LINGERING) {
        table_forget(table, holder);
        holder = NULL;
    }
    if (holder && (holder->c.state != CONTAINER_LIVE || entry->c.state != CONTAINER_LIVE ||
                   depose(table, holder, entry) != 0))
        return LABELS_LATER;
    const struct table_entry *rival =
        holder && !lies_in(holder, entry) ? holder : find_rival(table, entry, hash);
    if (rival) {
        if (!entry->chain[INDEX_REFUSED].in)
            tell(table, entry, rival);
        return LABELS_REFUSED;
    }
    return table_labels_retired(table, wanted) ? LABELS_LATER : LABELS_GRANTED;
}
