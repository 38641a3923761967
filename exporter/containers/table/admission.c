#include "exporter/containers/table/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* After a promotion failed for want of descriptors or memory. */
#define PROMOTE_RETRY_NS UINT64_C(1000000000)
/* After the cgroup of one that waited was found gone. */
#define PROMOTE_SKIP_NS UINT64_C(20000000)

/* ---- who gets the labels ---- */

static bool lies_in(const struct table_entry *inner, const struct table_entry *outer)
{
    size_t len = strlen(outer->c.path);
    return len > 0 && strncmp(inner->c.path, outer->c.path, len) == 0 && inner->c.path[len] == '/';
}

/* Another live one that was refused the labels with this hash, and does not lie in the entry. */
static const struct table_entry *find_rival(const struct container_table *table,
                                            const struct table_entry *entry, uint64_t hash)
{
    const struct table_entry *rival;
    size_t at = 0;
    while ((rival = hash_table_next(&table->index[INDEX_REFUSED], hash, &at))) {
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
    table_unindex(table, INDEX_LABELS, entry);
    table_index(table, INDEX_LABELS, entry, entry_hash_labels(&table->key, &entry->c));
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
    table_unindex(table, INDEX_REFUSED, entry);
    table_index(table, INDEX_REFUSED, entry, hash);
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
        if (!entry->index[INDEX_REFUSED].in)
            tell(table, entry, rival);
        return LABELS_REFUSED;
    }
    return table_labels_retired(table, wanted) ? LABELS_LATER : LABELS_GRANTED;
}

/* ---- known by its handle ---- */

static void index_handle(struct container_table *table, struct table_entry *entry, uint64_t handle)
{
    entry->handle = handle;
    table_index(table, INDEX_HANDLE, entry, entry_hash_handle(handle));
    table_index(table, INDEX_PATH, entry,
                entry_hash_path(&table->key, entry->own_key ? entry->c.key : NULL, entry->c.path));
}

/* ---- out ---- */

static void leave_waiting(struct container_table *table, struct table_entry *entry)
{
    TAILQ_REMOVE(&table->waiting, entry, queue);
    table->count[CONTAINERS_OVER_LIMIT]--;
}

/* What remains known of a container whose slot is given up. */
static struct table_entry *excluded_copy(const struct table_entry *entry,
                                         const struct container_spec *spec)
{
    const struct container *c = &entry->c;
    struct container_spec copy = {
        .namespace_ = c->namespace_,
        .pod = c->pod,
        .name = c->name,
        .image = c->image,
        .pod_uid = c->pod_uid,
        .runtime = c->runtime,
        .qos_class = c->qos_class,
    };
    if (spec)
        copy = *spec;
    copy.key = entry->own_key ? c->key : NULL;
    copy.cgroup_id = c->cgroup_id;
    copy.path = c->path;
    copy.id = c->id;
    copy.resolved = true;
    copy.owner = entry->owner;
    struct table_entry *out;
    return entry_new(&copy, c->found_mono_ns, &out) == 0 ? out : NULL;
}

void table_exclude(struct container_table *table, struct table_entry *entry,
                   const struct container_spec *spec)
{
    if (entry->admission == ENTRY_WAITING) {
        leave_waiting(table, entry);
        entry->admission = ENTRY_EXCLUDED;
        table->count[CONTAINERS_EXCLUDED]++;
        return;
    }
    /* Consumers keep the old one until they saw it forgotten. Without memory for the copy its
     * handle is unknown from here on, which does no harm. */
    uint64_t handle = entry->handle;
    struct table_entry *copy = handle ? excluded_copy(entry, spec) : NULL;
    table_forget(table, entry);
    if (!copy)
        return;
    copy->admission = ENTRY_EXCLUDED;
    table->count[CONTAINERS_EXCLUDED]++;
    index_handle(table, copy, handle);
}

/* ---- named ---- */

static void block(struct container_table *table, struct table_entry *entry)
{
    if (entry->is_blocked)
        return;
    table_leave_naming_lists(table, entry);
    TAILQ_INSERT_TAIL(&table->blocked, entry, naming);
    entry->is_blocked = true;
}

void table_name(struct container_table *table, struct table_entry *entry)
{
    if (entry->c.named)
        return;
    if (!table_passes(table, &entry->c)) {
        table_exclude(table, entry, NULL);
        return;
    }
    enum labels_answer answer = table_ask_labels(table, entry, &entry->c);
    if (answer == LABELS_LATER ||
        (answer == LABELS_REFUSED && table_go_by_cgroup(table, entry, &entry->c) != 0)) {
        block(table, entry);
        return;
    }
    table_leave_naming_lists(table, entry);
    entry->c.named = true;
    table_index(table, INDEX_LABELS, entry, entry_hash_labels(&table->key, &entry->c));
    table_change(table, CHANGE_NAMED, entry);
}

/* Puts a held one among those that wait for their names, or names it. */
static void await_name(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
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

void table_settle_blocked(struct container_table *table)
{
    if (!table->labels_freed)
        return;
    table->labels_freed = false;
    struct table_entry *entry, *next;
    for (entry = TAILQ_FIRST(&table->blocked); entry; entry = next) {
        next = TAILQ_NEXT(entry, naming);
        const struct table_entry *holder = table_labels_holder(table, &entry->c);
        if ((!holder || holder->c.state != CONTAINER_ENDED) &&
            !table_labels_retired(table, &entry->c))
            table_name(table, entry);
    }
}

/* ---- held ---- */

/* Gives it a slot. 0 or -ENOMEM. */
static int hold(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    if (table_take_slot(table, entry) != 0)
        return -ENOMEM;
    entry->admission = ENTRY_HELD;
    table->count[CONTAINERS_MONITORED]++;
    table_change(table, CHANGE_ADDED, entry);
    if (table->hooks.held)
        table->hooks.held(table->hooks.arg, entry->owner, &entry->c);
    await_name(table, entry, now_ns);
    return 0;
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

void table_promote(struct container_table *table, uint64_t now_ns)
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
        if (hold(table, entry, now_ns) != 0) {
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
    if (entry->admission == ENTRY_EXCLUDED)
        table->count[CONTAINERS_EXCLUDED]--;
    entry->admission = ENTRY_WAITING;
    TAILQ_INSERT_TAIL(&table->waiting, entry, queue);
    table->count[CONTAINERS_OVER_LIMIT]++;
    table_promote(table, now_ns);
    if (entry->admission == ENTRY_WAITING)
        entry_close(entry);
}

void table_enter(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    index_handle(table, entry, ++table->last_handle);
    if (entry->resolved && !table_passes(table, &entry->c)) {
        entry->admission = ENTRY_EXCLUDED;
        table->count[CONTAINERS_EXCLUDED]++;
        entry_close(entry);
    } else {
        table_enqueue(table, entry, now_ns);
    }
}

/* ---- ended ---- */

void table_end(struct container_table *table, struct table_entry *entry, uint64_t now_ns)
{
    table_forget_handle(table, entry);
    entry->c.state = CONTAINER_ENDED;
    entry->c.ended_mono_ns = now_ns;
    table->count[CONTAINERS_MONITORED]--;
    table->count[CONTAINERS_LINGERING]++;
    table_change(table, CHANGE_ENDED, entry);
    if (!entry->c.named && !entry->is_blocked)
        table_name(table, entry); /* nothing more will be known */
}

void table_linger(struct container_table *table, struct table_entry *entry)
{
    entry->c.state = CONTAINER_LINGERING;
    struct table_entry *before = TAILQ_LAST(&table->lingering, entry_list);
    while (before && before->c.ended_mono_ns > entry->c.ended_mono_ns)
        before = TAILQ_PREV(before, entry_list, queue);
    if (before)
        TAILQ_INSERT_AFTER(&table->lingering, before, entry, queue);
    else
        TAILQ_INSERT_HEAD(&table->lingering, entry, queue);
    table->labels_freed = true; /* a lingering one gives way to a live one */
    if (++table->n_linger_list > table->limits.linger_max)
        table_forget(table, TAILQ_FIRST(&table->lingering));
}

/* Consumers have not seen those without a slot. */
static void free_unheld(struct container_table *table, struct table_entry *entry)
{
    if (entry->admission == ENTRY_WAITING)
        leave_waiting(table, entry);
    else
        table->count[CONTAINERS_EXCLUDED]--;
    table_forget_handle(table, entry);
    entry_free(entry);
}

void table_discard(struct container_table *table, struct table_entry *entry)
{
    if (entry->admission == ENTRY_HELD)
        table_forget(table, entry);
    else
        free_unheld(table, entry);
}
