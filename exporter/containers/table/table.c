#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/table/state.h"

/* After a promotion failed for want of descriptors or memory. */
#define PROMOTE_RETRY_NS UINT64_C(1000000000)
/* After the cgroup of one that waited was found gone. */
#define PROMOTE_SKIP_NS UINT64_C(20000000)
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
    table->limits = *limits;
    table->limits.include = table->limits.exclude = NULL;
    table->log = log;
    for (int i = 0; i < ENTRY_INDEXES; i++)
        table->index[i].kind = (enum entry_index_kind)i;
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
    for (size_t i = 0; i < table->index[INDEX_HANDLE].n_buckets; i++) {
        struct table_entry *next;
        for (struct table_entry *entry = table->index[INDEX_HANDLE].buckets[i]; entry;
             entry = next) {
            next = entry->chain[INDEX_HANDLE].next;
            if (entry->place != ENTRY_HELD)
                entry_free(entry);
        }
    }
    for (int i = 0; i < ENTRY_INDEXES; i++)
        entry_index_release(&table->index[i]);
    table_release_diffs(table);
    table_drop_retired(table);
    container_filter_release(&table->filter);
    free(table);
}

void container_table_set_hooks(struct container_table *table, const struct container_hooks *hooks)
{
    table->hooks = hooks ? *hooks : (struct container_hooks){0};
}

struct table_entry *table_find(const struct container_table *table, uint64_t handle)
{
    const struct entry_index *index = &table->index[INDEX_HANDLE];
    return handle ? entry_index_find(index, entry_hash_handle(handle), NULL) : NULL;
}

uint64_t table_after(uint64_t start_ns, uint64_t length_ns)
{
    return start_ns > UINT64_MAX - length_ns ? UINT64_MAX : start_ns + length_ns;
}

bool table_patience_is_over(const struct container_table *table, const struct table_entry *entry,
                            uint64_t now_ns)
{
    return table_after(entry->c.found_mono_ns, table->limits.name_patience_ns) <= now_ns;
}

/* ---- places ---- */

/* Gives it a slot. 0 or -ENOMEM. */
static int table_hold(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    if (table_take_slot(table, entry) != 0)
        return -ENOMEM;
    entry->place = ENTRY_HELD;
    table->count[CONTAINERS_MONITORED]++;
    table_change(table, CHANGE_ADDED, entry);
    if (table->hooks.held)
        table->hooks.held(table->hooks.arg, entry->owner, &entry->c);
    table_await_name(table, entry, now_ns);
    return 0;
}

static void leave_waiting(struct container_table *table, struct table_entry *entry)
{
    TAILQ_REMOVE(&table->waiting, entry, queue);
    table->count[CONTAINERS_OVER_LIMIT]--;
}

/* A container that waited has no descriptor. 0, -EAGAIN when it must wait on. */
static int reopen(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    if (entry->c.cgroup_fd >= 0 || !table->hooks.open || !entry->owner)
        return 0;
    if (now_ns < table->promote_ns)
        return -EAGAIN;
    int fd = table->hooks.open(table->hooks.arg, entry->owner);
    if (fd < 0) {
        /* Gone, and its end is on the way; or a shortage, which the next one would meet too. */
        table->promote_ns = now_ns + (fd == -ENOENT ? PROMOTE_SKIP_NS : PROMOTE_RETRY_NS);
        return -EAGAIN;
    }
    entry->c.cgroup_fd = fd;
    return 0;
}

/* Those over the limit get the free places, the oldest first. */
static void promote(struct container_table *table, uint64_t now_ns)
{
    struct table_entry *entry, *next;
    for (entry = TAILQ_FIRST(&table->waiting); entry; entry = next) {
        next = TAILQ_NEXT(entry, queue);
        if (table->count[CONTAINERS_MONITORED] >= table->limits.max)
            return;
        bool final = entry->resolved || table_patience_is_over(table, entry, now_ns);
        if (final && !table_passes(table, &entry->c)) {
            table_exclude(table, entry, NULL);
            continue;
        }
        if (reopen(table, entry, now_ns) != 0)
            continue;
        leave_waiting(table, entry);
        if (table_hold(table, entry, now_ns) != 0) {
            TAILQ_INSERT_HEAD(&table->waiting, entry, queue);
            table->count[CONTAINERS_OVER_LIMIT]++;
            entry_close(entry);
            table->promote_ns = now_ns + PROMOTE_RETRY_NS;
            return;
        }
    }
}

void table_enqueue(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    if (entry->place == ENTRY_EXCLUDED)
        table->count[CONTAINERS_EXCLUDED]--;
    entry->place = ENTRY_WAITING;
    TAILQ_INSERT_TAIL(&table->waiting, entry, queue);
    table->count[CONTAINERS_OVER_LIMIT]++;
    promote(table, now_ns);
    if (entry->place == ENTRY_WAITING)
        entry_close(entry);
}

static void forget_handle(struct container_table *table, struct table_entry *entry)
{
    entry_index_remove(&table->index[INDEX_HANDLE], entry);
    entry_index_remove(&table->index[INDEX_PATH], entry);
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
    forget_handle(table, entry);
    bool unseen = entry->pending & 1U << CHANGE_ADDED;
    table_withdraw(table, entry);
    if (!unseen)
        table_change(table, CHANGE_FORGOTTEN, entry);
    entry->place = ENTRY_GONE;
    TAILQ_INSERT_TAIL(&table->gone, entry, queue);
}

/* What remains known of a container whose slot is given up. */
static struct table_entry *excluded_twin(const struct table_entry *entry,
                                         const struct container_spec *spec)
{
    const struct container *c = &entry->c;
    struct container_spec twin = {
        .namespace_ = c->namespace_,
        .pod = c->pod,
        .name = c->name,
        .image = c->image,
        .pod_uid = c->pod_uid,
        .runtime = c->runtime,
        .qos_class = c->qos_class,
    };
    if (spec)
        twin = *spec;
    twin.key = entry->own_key ? c->key : NULL;
    twin.cgroup_id = c->cgroup_id;
    twin.path = c->path;
    twin.id = c->id;
    twin.resolved = true;
    twin.owner = entry->owner;
    struct table_entry *out;
    return entry_new(&twin, c->found_mono_ns, &out) == 0 ? out : NULL;
}

static void index_handle(struct container_table *table, struct table_entry *entry, uint64_t handle)
{
    entry->handle = handle;
    entry_index_insert(&table->index[INDEX_HANDLE], entry, entry_hash_handle(handle));
    entry_index_insert(&table->index[INDEX_PATH], entry,
                       entry_hash_path(entry->own_key ? entry->c.key : NULL, entry->c.path));
}

void table_exclude(struct container_table *table, struct table_entry *entry,
                   const struct container_spec *spec)
{
    if (entry->place == ENTRY_WAITING) {
        leave_waiting(table, entry);
        entry->place = ENTRY_EXCLUDED;
        table->count[CONTAINERS_EXCLUDED]++;
        return;
    }
    /* Consumers keep the old one until they saw it forgotten. Without memory for the twin its
     * handle is unknown from here on, which nobody minds. */
    uint64_t handle = entry->handle;
    struct table_entry *twin = handle ? excluded_twin(entry, spec) : NULL;
    table_forget(table, entry);
    if (!twin)
        return;
    twin->place = ENTRY_EXCLUDED;
    table->count[CONTAINERS_EXCLUDED]++;
    index_handle(table, twin, handle);
}

/* ---- add, end, discard ---- */

static bool is_known(const struct container_table *table, const struct container_spec *spec)
{
    const struct entry_index *index = &table->index[INDEX_PATH];
    bool by_key = spec->key && *spec->key;
    const char *path = spec->path ? spec->path : "";
    uint64_t hash = entry_hash_path(spec->key, path);
    for (struct table_entry *e = entry_index_find(index, hash, NULL); e;
         e = entry_index_find(index, hash, e)) {
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
    if (entry_index_reserve(&table->index[INDEX_HANDLE], n) ||
        entry_index_reserve(&table->index[INDEX_PATH], n))
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
    index_handle(table, entry, ++table->last_handle);
    *handle = entry->handle;
    if (entry->resolved && !table_passes(table, &entry->c)) {
        entry->place = ENTRY_EXCLUDED;
        table->count[CONTAINERS_EXCLUDED]++;
        entry_close(entry);
    } else {
        table_enqueue(table, entry, now_ns);
    }
    table_settle_blocked(table);
    return 0;
}

/* Nobody outside has seen those without a slot. */
static void free_unheld(struct container_table *table, struct table_entry *entry)
{
    if (entry->place == ENTRY_WAITING)
        leave_waiting(table, entry);
    else
        table->count[CONTAINERS_EXCLUDED]--;
    forget_handle(table, entry);
    entry_free(entry);
}

void container_table_end(struct container_table *table, uint64_t handle, uint64_t now_ns)
{
    struct table_entry *entry = table_find(table, handle);
    if (!entry)
        return;
    if (entry->place != ENTRY_HELD) {
        free_unheld(table, entry);
        return;
    }
    forget_handle(table, entry);
    entry->c.state = CONTAINER_ENDED;
    entry->c.ended_mono_ns = now_ns;
    table->count[CONTAINERS_MONITORED]--;
    table->count[CONTAINERS_LINGERING]++;
    table_change(table, CHANGE_ENDED, entry);
    if (!entry->c.named && !entry->is_blocked)
        table_name(table, entry); /* nothing more will be known */
    table_settle_blocked(table);
}

void container_table_discard(struct container_table *table, uint64_t handle)
{
    struct table_entry *entry = table_find(table, handle);
    if (!entry)
        return;
    if (entry->place == ENTRY_HELD)
        table_forget(table, entry);
    else
        free_unheld(table, entry);
    table_settle_blocked(table);
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
    promote(table, now_ns);
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

void container_table_last_read(struct container_table *table, struct container *container)
{
    struct table_entry *entry = (struct table_entry *)container;
    if (container->state != CONTAINER_ENDED || entry->place != ENTRY_HELD ||
        entry->pending & 1U << CHANGE_ENDED)
        return;
    entry_close(entry);
    if (!container->named || table->limits.linger_ns == 0) {
        table_forget(table, entry);
        table_settle_blocked(table);
        return;
    }
    container->state = CONTAINER_LINGERING;
    struct table_entry *before = TAILQ_LAST(&table->lingering, entry_list);
    while (before && before->c.ended_mono_ns > container->ended_mono_ns)
        before = TAILQ_PREV(before, entry_list, queue);
    if (before)
        TAILQ_INSERT_AFTER(&table->lingering, before, entry, queue);
    else
        TAILQ_INSERT_HEAD(&table->lingering, entry, queue);
    table->labels_freed = true; /* a lingering one gives way to a live one */
    if (++table->n_linger_list > table->limits.linger_max)
        table_forget(table, TAILQ_FIRST(&table->lingering));
    table_settle_blocked(table);
}
