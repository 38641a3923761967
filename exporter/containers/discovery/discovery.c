/* Which directories there are: events, walks, and the rescan that makes up for lost events. */
#include "exporter/containers/discovery/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/discovery/internal.h"

#define RESCAN_NS (30 * DISCOVERY_S)
/* While some directory cannot be watched. */
#define RESCAN_BLIND_NS (1 * DISCOVERY_S)

/* A container may make cgroups of its own without end. */
#define DIRECTORIES_MAX 100000
#define PATH_BYTES_MAX (64 << 20)

enum {
    WORK_MAX = 256,  /* directories looked at in one call */
    TIMERS_MAX = 64, /* timers handled in one call */
};

static void remove_node(struct discovery *d, struct cgroup_node *node)
{
    member_end(d, node);
    if (node->scan_wanted)
        TAILQ_REMOVE(&d->scans, node, scan);
    watched_tree_remove(&d->watched, node);
}

/* Children first. */
static void remove_subtree(struct discovery *d, struct cgroup_node *top)
{
    for (;;) {
        struct cgroup_node *leaf = node_first_leaf(top);
        bool last = leaf == top;
        remove_node(d, leaf);
        if (last)
            return;
    }
}

/* ---- one directory ---- */

static void want_scan(struct discovery *d, struct cgroup_node *node)
{
    if (node->scan_wanted)
        return;
    node->scan_wanted = true;
    TAILQ_INSERT_TAIL(&d->scans, node, scan);
}

/* Not gone, and not another one of the same path. */
static bool is_there(const struct discovery *d, const struct cgroup_node *node)
{
    return node->cgroup_id != 0 && watched_tree_inode(&d->watched, node->path) == node->cgroup_id;
}

/* Whether there is room for one more, but for a part of all that there is: 1 / reserve. */
static bool has_room_for_all(const struct discovery *d, const char *path, size_t reserve)
{
    size_t directories = d->config.directories_max, bytes = d->config.path_bytes_max;
    return d->watched.tree.n < directories - directories / reserve &&
           d->watched.tree.path_bytes + strlen(path) < bytes - bytes / reserve;
}

/* Whether what is made in that directory is looked at, as far as its owner's share goes. */
static bool has_room(struct discovery *d, const char *path)
{
    struct cgroup_node *parent = node_find_parent(&d->watched.tree, path);
    if (!parent)
        return true; /* the root; or without a parent, which adding finds out */
    if (!member_is_looked_into(d, parent))
        return false;
    const struct cgroup_node *owner = node_owner(parent);
    if (!owner || (owner->directories < owner->share->directories &&
                   owner->path_bytes + strlen(path) < owner->share->path_bytes &&
                   has_room_for_all(d, path, 10)))
        return true;
    d->refused[REFUSED_DIRECTORY]++;
    return false;
}

/*
 * There seems to be a directory at this path (with this inode, if that is known). The node that
 * stands for it, or NULL: it is gone again, its parent is not known (yet: the parent's own scan
 * will find it), or there is no room.
 */
static struct cgroup_node *observe(struct discovery *d, const char *path, uint64_t inode,
                                   bool *is_new)
{
    *is_new = false;
    struct cgroup_node *node = node_find(&d->watched.tree, path, strlen(path));
    if (node && inode != 0 && inode == node->cgroup_id)
        return node;
    inode = watched_tree_inode(&d->watched, path);
    if (node && inode != 0 && inode == node->cgroup_id)
        return node;
    if (node)
        remove_subtree(d, node); /* removed, and made anew under the same name */
    if (inode == 0)
        return NULL;
    if (!has_room(d, path))
        return NULL;
    if (!has_room_for_all(d, path, SIZE_MAX)) {
        if (discovery_may_log(d, &d->crowd_log_ns))
            log_warn(d->config.log, "containers",
                     "%zu cgroups with %zu bytes of paths: the exporter ignores the rest",
                     d->watched.tree.n, d->watched.tree.path_bytes);
        return NULL;
    }
    node = node_add(&d->watched.tree, path);
    if (!node)
        return NULL;
    node->cgroup_id = inode;
    node->seen = d->generation;
    *is_new = true;
    member_classify(d, node);
    return node;
}

/* ---- walks ---- */

/* One step of a walk; false when it is over. */
static bool step(struct discovery *d, struct cgroup_walk **walk)
{
    struct cgroup_walk_entry entry;
    if (cgroup_walk_next(*walk, &entry) <= 0) {
        cgroup_walk_free(*walk);
        *walk = NULL;
        return false;
    }
    bool is_new;
    struct cgroup_node *node = observe(d, entry.path, entry.inode, &is_new);
    if (node && *walk == d->whole)
        node_meet(&d->watched.tree, node, d->generation);
    if (!node || !member_is_looked_into(d, node))
        cgroup_walk_skip(*walk);
    return true;
}

/* Looks after what no event reports: directories without a watch, and processes in a candidate. */
static void finish_rescan(struct discovery *d)
{
    bool retry = d->watched.watches_missing;
    d->watched.watches_missing = false;
    struct cgroup_node *node;
    TAILQ_FOREACH(node, &d->watched.tree.all, all) {
        if (node->kind == NODE_REFUSED && node->heap_at == 0)
            node_start_timer(&d->watched.tree, node, d->now_ns);
        if (!member_is_looked_into(d, node))
            continue;
        if (node->wd < 0 && (retry || node->owner) && !d->watched.watches_missing) {
            watched_tree_watch(&d->watched, node);
            if (node->wd >= 0)
                want_scan(d, node);
        }
        d->watched.watches_missing |= node->wd < 0 && !node->owner;
        if (node->kind == NODE_CANDIDATE && node->heap_at == 0)
            node_start_timer(&d->watched.tree, node, d->now_ns);
    }
    d->rescan_due_ns =
        d->now_ns + (d->watched.watches_missing ? RESCAN_BLIND_NS : d->config.rescan_ns);
}

/* One of those that the rescan did not meet, which come first in the list: gone, or made behind
 * its back. False when there are no more. */
static bool sweep(struct discovery *d)
{
    struct cgroup_node *node = TAILQ_FIRST(&d->watched.tree.all);
    if (!node || node->seen == d->generation)
        return false;
    if (is_there(d, node))
        node_meet(&d->watched.tree, node, d->generation);
    else
        remove_subtree(d, node);
    return true;
}

static void start_rescan(struct discovery *d, enum walk_effort effort)
{
    cgroup_walk_free(d->whole);
    d->whole = NULL;
    d->sweeping = false;
    d->generation++;
    d->rescan_due_ns = UINT64_MAX;
    if (cgroup_walk_new(&d->hierarchy, "/", effort, &d->whole) != 0)
        d->rescan_due_ns = d->now_ns + RESCAN_BLIND_NS;
}

/* Whether work() has something to do. */
static bool is_busy(const struct discovery *d)
{
    return d->part || d->whole || d->sweeping || !TAILQ_EMPTY(&d->scans);
}

/* One bounded step: new subtrees first, then the rescan. False when there is nothing to do. */
static bool work_once(struct discovery *d)
{
    struct cgroup_node *node = TAILQ_FIRST(&d->scans);
    if (!d->part && node) {
        TAILQ_REMOVE(&d->scans, node, scan);
        node->scan_wanted = false;
        if (cgroup_walk_new(&d->hierarchy, node->path, WALK_CHEAPLY, &d->part) != 0)
            d->rescan_due_ns = d->now_ns; /* it finds the same */
    }
    if (d->part) {
        step(d, &d->part);
    } else if (d->whole) {
        d->sweeping = !step(d, &d->whole);
    } else if (d->sweeping) {
        d->sweeping = sweep(d);
        if (!d->sweeping)
            finish_rescan(d);
    } else {
        return false;
    }
    return true;
}

/* Looks at a bounded number of directories. */
static void work(struct discovery *d)
{
    for (int i = 0; i < WORK_MAX; i++) {
        if (!work_once(d))
            break;
    }
    /* No event reports what comes and goes below a directory without a watch. */
    if (d->watched.watches_missing && d->rescan_due_ns > d->now_ns + RESCAN_BLIND_NS)
        d->rescan_due_ns = d->now_ns + RESCAN_BLIND_NS;
}

/* ---- events ---- */

static int child_path(const struct cgroup_node *node, const char *name, char *out, size_t size)
{
    int n = snprintf(out, size, "%s/%s", node->parent ? node->path : "", name);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static void appeared(struct discovery *d, const struct cgroup_node *parent, const char *name)
{
    char path[CGROUP_PATH_BYTES];
    bool is_new;
    if (child_path(parent, name, path, sizeof path) != 0)
        return;
    struct cgroup_node *node = observe(d, path, 0, &is_new);
    /* What was made in it before the watch was there. */
    if (node && is_new && member_is_looked_into(d, node))
        want_scan(d, node);
}

static void vanished(struct discovery *d, const struct cgroup_node *parent, const char *name)
{
    char path[CGROUP_PATH_BYTES];
    if (child_path(parent, name, path, sizeof path) != 0)
        return;
    struct cgroup_node *node = node_find(&d->watched.tree, path, strlen(path));
    /* The event may be older than the directory that stands there now. */
    if (node && !is_there(d, node))
        remove_subtree(d, node);
}

static void modified(struct discovery *d, struct cgroup_node *node, const char *name)
{
    static const char *const members[] = {"cgroup.procs", "tasks", "cgroup.threads"};
    if (node->kind == NODE_CANDIDATE && strcmp(name, "cgroup.events") == 0)
        member_check(d, node);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (node->kind == NODE_CANDIDATE && strcmp(name, members[i]) == 0)
            member_entered(d, node);
}

static void handle_event(void *arg, const struct watch_event *event)
{
    struct discovery *d = arg;
    if (event->what == WATCH_OVERFLOWED) {
        if (discovery_may_log(d, &d->overflow_log_ns))
            log_info(d->config.log, "containers",
                     "cgroups came and went too fast to follow: scanning all of them");
        start_rescan(d, WALK_CHEAPLY);
        return;
    }
    struct cgroup_node *node = node_find_wd(&d->watched.tree, event->wd);
    if (!node)
        return;
    switch (event->what) {
    case WATCH_APPEARED:
        appeared(d, node, event->name);
        break;
    case WATCH_VANISHED:
        vanished(d, node, event->name);
        break;
    case WATCH_MODIFIED:
        modified(d, node, event->name);
        break;
    case WATCH_FORGOTTEN:
        watched_tree_forgotten(&d->watched, node);
        break;
    case WATCH_OVERFLOWED:
        break;
    }
}

/* ---- the interface ---- */

/* How many watches the kernel allows this user; 0: not known. */
static size_t watches_limit(const struct fsroot *fs)
{
    uint64_t limit;
    return fsroot_read_u64(fs, FSROOT_PROC, "sys/fs/inotify/max_user_watches", &limit) == 0 ? limit
                                                                                            : 0;
}

static int start(struct discovery *d, char *error, size_t error_size)
{
    int err = cgroup_hierarchy_find(d->config.fs, &d->hierarchy, error, error_size);
    if (err)
        return err;
    struct container_hooks hooks = member_hooks;
    hooks.arg = d;
    container_table_set_hooks(d->config.table, &hooks);
    watched_tree_start(&d->watched, d->config.fs, d->hierarchy.path, watches_limit(d->config.fs));
    start_rescan(d, WALK_FIRST);
    while (is_busy(d))
        work(d);
    if (!d->watched.tree.root) {
        snprintf(error, error_size, "%s: cannot be read", d->hierarchy.path);
        return -ENOENT;
    }
    d->started = true;
    return 0;
}

int discovery_new(const struct discovery_config *config, uint64_t now_ns, struct discovery **out,
                  char *error, size_t error_size)
{
    struct discovery *d = calloc(1, sizeof *d);
    if (!d || names_new(config->fs, config->names, &d->names) != 0 ||
        watched_tree_init(&d->watched, config->log) != 0) {
        if (d)
            names_free(d->names);
        free(d);
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    d->config = *config;
    if (d->config.rescan_ns == 0)
        d->config.rescan_ns = RESCAN_NS;
    if (d->config.directories_max == 0)
        d->config.directories_max = DIRECTORIES_MAX;
    if (d->config.path_bytes_max == 0)
        d->config.path_bytes_max = PATH_BYTES_MAX;
    d->now_ns = now_ns;
    TAILQ_INIT(&d->scans);
    int err = start(d, error, error_size);
    if (err) {
        discovery_free(d);
        return err;
    }
    log_info(config->log, "containers", "cgroup v%d at %s: %zu cgroups, %zu containers monitored",
             d->hierarchy.version, d->hierarchy.path, d->watched.tree.n,
             container_table_count(config->table, CONTAINERS_MONITORED));
    *out = d;
    return 0;
}

void discovery_free(struct discovery *discovery)
{
    if (!discovery)
        return;
    container_table_set_hooks(discovery->config.table, NULL);
    cgroup_walk_free(discovery->part);
    cgroup_walk_free(discovery->whole);
    watched_tree_release(&discovery->watched);
    late_ids_release(&discovery->late_ids);
    names_free(discovery->names);
    free(discovery);
}

const struct cgroup_hierarchy *discovery_hierarchy(const struct discovery *discovery)
{
    return &discovery->hierarchy;
}

uint64_t discovery_refused(const struct discovery *discovery, enum cgroup_refusal why)
{
    return why == REFUSED_WATCH ? discovery->watched.refused : discovery->refused[why];
}

int discovery_fd(const struct discovery *discovery)
{
    return discovery->watched.watch.fd;
}

/* A tick's time may be a little before that of the last event: time stands still then. */
static void set_time(struct discovery *d, uint64_t now_ns)
{
    if (now_ns > d->now_ns)
        d->now_ns = now_ns;
}

void discovery_handle(struct discovery *discovery, uint64_t now_ns)
{
    set_time(discovery, now_ns);
    watch_read(&discovery->watched.watch, handle_event, discovery);
    work(discovery);
}

void discovery_advance(struct discovery *discovery, uint64_t now_ns)
{
    struct discovery *d = discovery;
    set_time(d, now_ns);
    struct cgroup_node *node;
    for (int i = 0;
         i < TIMERS_MAX && (node = node_first_timer(&d->watched.tree)) && node->due_ns <= d->now_ns;
         i++) {
        node_stop_timer(&d->watched.tree, node);
        member_check(d, node);
    }
    if (d->config.map)
        late_ids_forget(&d->late_ids, d->config.map, d->now_ns);
    if (d->rescan_due_ns <= d->now_ns && !d->whole && !d->sweeping)
        start_rescan(d, WALK_CHEAPLY);
    work(d);
}

uint64_t discovery_deadline(const struct discovery *discovery)
{
    const struct discovery *d = discovery;
    if (is_busy(d))
        return 0;
    const struct cgroup_node *node = node_first_timer(&d->watched.tree);
    return node && node->due_ns < d->rescan_due_ns ? node->due_ns : d->rescan_due_ns;
}
