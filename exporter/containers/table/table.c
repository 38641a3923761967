/* The interface. What becomes of a container is decided in admission.c. */
#include "exporter/containers/table/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/table/internal.h"

#define LOG_INTERVAL_NS UINT64_C(600000000000)

int container_table_new(const struct container_limits *limits, const struct log *log,
                        struct container_table **out, char *error, size_t error_size)
{
    struct container_table *table = calloc(1, sizeof *table);
    if (!table) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    int err =
        container_filter_init(&table->filter, limits->include, limits->exclude, error, error_size);
    if (err) {
        free(table);
        return err;
    }
    siphash_key_init(&table->key);
    table->limits = *limits;
    table->limits.include = table->limits.exclude = NULL;
    table->log = log;
    TAILQ_INIT(&table->waiting);
    TAILQ_INIT(&table->lingering);
    TAILQ_INIT(&table->unnamed);
    TAILQ_INIT(&table->blocked);
    TAILQ_INIT(&table->gone);
    TAILQ_INIT(&table->delivered);
    *out = table;
    return 0;
}

void container_table_free(struct container_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->index[INDEX_HANDLE].cap; i++) {
        struct table_entry *entry = table->index[INDEX_HANDLE].slots[i].value;
        if (entry && entry->admission != ENTRY_HELD)
            entry_free(entry);
    }
    for (int i = 0; i < ENTRY_INDEXES; i++)
        hash_table_release(&table->index[i]);
    table_release_diffs(table);
    table_drop_retired(table);
    container_filter_release(&table->filter);
    free(table);
}

void container_table_set_hooks(struct container_table *table, const struct container_hooks *hooks)
{
    table->hooks = hooks ? *hooks : (struct container_hooks){0};
}

/* ---- add, end, discard ---- */

static bool is_known(const struct container_table *table, const struct container_spec *spec)
{
    bool by_key = spec->key && *spec->key;
    const char *path = spec->path ? spec->path : "";
    uint64_t hash = entry_hash_path(&table->key, spec->key, path);
    const struct table_entry *e;
    size_t at = 0;
    while ((e = hash_table_next(&table->index[INDEX_PATH], hash, &at))) {
        if (e->own_key == by_key &&
            strcmp(by_key ? e->c.key : e->c.path, by_key ? spec->key : path) == 0)
            return true;
    }
    return false;
}

static int make_entry(struct container_table *table, const struct container_spec *spec,
                      uint64_t now_ns, struct table_entry **out)
{
    if (spec->key && strlen(spec->key) >= sizeof((struct container *)0)->key)
        return -ENAMETOOLONG;
    if (is_known(table, spec))
        return -EEXIST;
    size_t n = table->index[INDEX_HANDLE].n + 1;
    if (hash_table_reserve(&table->index[INDEX_HANDLE], n) ||
        hash_table_reserve(&table->index[INDEX_PATH], n))
        return -ENOMEM;
    return entry_new(spec, now_ns, out);
}

int container_table_add(struct container_table *table, const struct container_spec *spec,
                        uint64_t now_ns, uint64_t *handle)
{
    struct table_entry *entry = NULL;
    int err = make_entry(table, spec, now_ns, &entry);
    if (err) {
        if (spec->cgroup_fd >= 0)
            close(spec->cgroup_fd);
        return err;
    }
    entry->c.cgroup_fd = spec->cgroup_fd;
    table_enter(table, entry, now_ns);
    *handle = table->last_handle;
    table_settle_blocked(table);
    return 0;
}

void container_table_end(struct container_table *table, uint64_t handle, uint64_t now_ns)
{
    struct table_entry *entry = table_find(table, handle);
    if (!entry)
        return;
    if (entry->admission != ENTRY_HELD) {
        table_discard(table, entry);
        return;
    }
    table_end(table, entry, now_ns);
    table_settle_blocked(table);
}

void container_table_discard(struct container_table *table, uint64_t handle)
{
    struct table_entry *entry = table_find(table, handle);
    if (!entry)
        return;
    table_discard(table, entry);
    table_settle_blocked(table);
}

/* ---- new names ---- */

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
        table_unindex(table, INDEX_REFUSED, entry);
        table_unindex(table, INDEX_LABELS, entry);
    }
    entry_take_strings(entry, next, strings);
    if (relabel)
        table_index(table, INDEX_LABELS, entry, entry_hash_labels(&table->key, &entry->c));
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
    if (entry->admission == ENTRY_WAITING && !passes)
        table_exclude(table, entry, NULL);
    else if (entry->admission == ENTRY_EXCLUDED && passes)
        table_enqueue(table, entry, now_ns);
    return 0;
}

int container_table_rename(struct container_table *table, uint64_t handle,
                           const struct container_spec *spec, uint64_t now_ns)
{
    struct table_entry *entry = table_find(table, handle);
    if (!entry)
        return -ENOENT;
    int err = entry->admission == ENTRY_HELD ? rename_held(table, entry, spec)
                                             : rename_unheld(table, entry, spec, now_ns);
    table_settle_blocked(table);
    return err;
}

/* ---- time ---- */

static void log_unmonitored(struct container_table *table, uint64_t now_ns)
{
    size_t waiting = table->count[CONTAINERS_OVER_LIMIT];
    size_t excluded = table->count[CONTAINERS_EXCLUDED];
    bool more = waiting > table->logged_waiting || excluded > table->logged_excluded;
    if (more && now_ns < table->log_ns)
        return;
    table->logged_waiting = waiting;
    table->logged_excluded = excluded;
    if (!more)
        return;
    table->log_ns = now_ns + LOG_INTERVAL_NS;
    log_info(table->log, "containers",
             "not monitored: %zu excluded by --containers.include/exclude, %zu over "
             "--containers.max=%zu",
             excluded, waiting, table->limits.max);
}

void container_table_advance(struct container_table *table, uint64_t now_ns)
{
    struct table_entry *entry;
    while ((entry = TAILQ_FIRST(&table->unnamed)) && table_patience_is_over(table, entry, now_ns))
        table_name(table, entry);
    while ((entry = TAILQ_FIRST(&table->lingering)) &&
           table_after(entry->c.ended_mono_ns, table->limits.linger_ns) <= now_ns)
        table_forget(table, entry);
    table_settle_blocked(table);
    table_promote(table, now_ns);
    log_unmonitored(table, now_ns);
}

uint64_t container_table_deadline(const struct container_table *table)
{
    if (table->labels_freed && !TAILQ_EMPTY(&table->blocked))
        return 0;
    uint64_t due = UINT64_MAX;
    const struct table_entry *entry = TAILQ_FIRST(&table->unnamed);
    if (entry)
        due = table_after(entry->c.found_mono_ns, table->limits.name_patience_ns);
    entry = TAILQ_FIRST(&table->lingering);
    if (entry && table_after(entry->c.ended_mono_ns, table->limits.linger_ns) < due)
        due = table_after(entry->c.ended_mono_ns, table->limits.linger_ns);
    if (!TAILQ_EMPTY(&table->waiting) && table->count[CONTAINERS_MONITORED] < table->limits.max &&
        table->promote_ns < due)
        due = table->promote_ns;
    return due;
}

void container_table_read(struct container_table *table, struct container *container)
{
    struct table_entry *entry = (struct table_entry *)container;
    if (container->state == CONTAINER_LIVE)
        entry->fleeting = false;
    if (container->state != CONTAINER_ENDED || entry->admission != ENTRY_HELD ||
        entry->pending & 1U << CHANGE_ENDED)
        return;
    entry_close(entry);
    if (!container->named || entry->fleeting || table->limits.linger_ns == 0)
        table_forget(table, entry);
    else
        table_linger(table, entry);
    table_settle_blocked(table);
}
