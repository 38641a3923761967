/* What each directory is: a container, a child of one, a candidate, or nothing. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/cgroups/long_path.h"
#include "exporter/containers/discovery/internal.h"

/* A pod's container without a log link is taken for its sandbox after this; before the table's
 * patience of 2 s would name it. */
#define SANDBOX_NS (1800 * DISCOVERY_MS)
/* Names are looked up often while a container is young. */
#define NAMES_YOUNG_NS (5 * DISCOVERY_S)
#define NAMES_FIRST_NS (10 * DISCOVERY_MS)
#define NAMES_SLOWEST 4 /* doublings of the rescan interval */
/* Candidates are looked at often while they are young. */
#define CANDIDATE_YOUNG_NS (1 * DISCOVERY_S)
#define CANDIDATE_CHECK_NS (10 * DISCOVERY_MS)

/* ---- shares ---- */

/* Of a container: what nested containers, or a service manager in it, need. */
static const struct node_share container_share = {
    .directories = 256, .path_bytes = 128 << 10, .places = 16, .refill_ns = 6 * DISCOVERY_S};
/* Of a user who may make cgroups without root: containers, sessions, applications. */
static const struct node_share user_share = {
    .directories = 4096, .path_bytes = 1 << 20, .places = 128, .refill_ns = 1 * DISCOVERY_S};

/* A container that lies in no other one, or what is below it. */
static bool is_containers(const struct cgroup_node *node)
{
    return node->share == &container_share ||
           (node->owner && node->owner->share == &container_share);
}

bool member_is_looked_into(const struct discovery *d, const struct cgroup_node *node)
{
    return d->config.map || d->config.nested || d->config.all_cgroups || !is_containers(node);
}

/* A container's own place is the machine's. */
static bool take_place(struct discovery *d, struct cgroup_node *node)
{
    if (node_take_place(node, d->now_ns))
        return true;
    d->refused[REFUSED_PLACE]++;
    return false;
}

/* ---- the map ---- */

/* The container that a directory without a kind of its own belongs to. */
static const struct cgroup_node *owner_of(const struct cgroup_node *node)
{
    while (node && node->kind != NODE_CONTAINER && node->kind != NODE_SANDBOX)
        node = node->parent;
    return node && node->kind == NODE_CONTAINER && node->gen ? node : NULL;
}

/* Every directory of a container: its own and those below that belong to no other one. */
static void map_container(struct discovery *d, const struct cgroup_node *top, bool set)
{
    if (!d->config.map)
        return;
    bool descend = true;
    for (const struct cgroup_node *node = top; node; node = node_next(top, node, descend)) {
        descend = node == top || (node->kind != NODE_CONTAINER && node->kind != NODE_SANDBOX);
        if (!descend)
            continue;
        if (set)
            cgroup_map_set(d->config.map, node->cgroup_id, top->slot, top->gen);
        else
            cgroup_map_remove(d->config.map, node->cgroup_id);
    }
}

static void map_child(struct discovery *d, const struct cgroup_node *node)
{
    const struct cgroup_node *owner = owner_of(node);
    if (owner && d->config.map)
        cgroup_map_set(d->config.map, node->cgroup_id, owner->slot, owner->gen);
}

/* ---- the table's hooks ---- */

static int hook_open(void *arg, void *owner)
{
    const struct discovery *d = arg;
    return watched_tree_open(&d->watched, owner);
}

static void hook_held(void *arg, void *owner, const struct container *container)
{
    struct cgroup_node *node = owner;
    node->slot = container->slot;
    node->gen = container->gen;
    if (node->kind == NODE_CONTAINER) /* else it has no processes yet */
        map_container(arg, node, true);
}

static void hook_dropped(void *arg, void *owner, const struct container *container)
{
    (void)container;
    struct cgroup_node *node = owner;
    if (node->kind == NODE_CONTAINER)
        map_container(arg, node, false);
    node->gen = 0;
}

const struct container_hooks member_hooks = {
    .open = hook_open, .held = hook_held, .dropped = hook_dropped};

/* ---- names ---- */

static struct container_spec make_spec(struct cgroup_node *node,
                                       const struct cgroup_path_info *info,
                                       const struct container_names *names)
{
    struct container_spec spec = {
        .cgroup_id = node->cgroup_id,
        .cgroup_fd = -1,
        .path = node->path,
        .id = info->is_claimed ? "" : info->id, /* then it is known by its cgroup */
        .pod_uid = info->pod_uid,
        .runtime = info->is_claimed ? "" : info->runtime,
        .qos_class = info->qos_class,
        .resolved = node->resolved,
        .fleeting = node->owner != NULL,
        .owner = node,
    };
    if (!names)
        return spec;
    spec.namespace_ = names->namespace_;
    spec.pod = names->pod;
    spec.name = names->name;
    spec.image = names->image;
    if (*names->pod_uid)
        spec.pod_uid = names->pod_uid;
    if (*names->runtime)
        spec.runtime = names->runtime;
    return spec;
}

/* True when something about the names is known. */
static bool look_up(struct discovery *d, struct cgroup_node *node,
                    const struct cgroup_path_info *info, struct container_names *names)
{
    int err = names_lookup(d->names, info, d->now_ns, names);
    if (err == -EINVAL && d->now_ns - node->found_ns > NAMES_YOUNG_NS &&
        discovery_may_log(d, &d->state_log_ns))
        log_warn(d->config.log, "containers",
                 "%s: cannot parse the runtime's state file (truncated, over 1 MiB, or not JSON): "
                 "names come from the cgroup",
                 node->path);
    if ((err == -EACCES || err == -EPERM) && discovery_may_log(d, &d->state_log_ns))
        log_warn(d->config.log, "containers",
                 "%s: this user may not read the runtime's state or the log links: names come from "
                 "the cgroup",
                 node->path);
    node->resolved =
        d->config.names == NAMES_NONE || info->is_claimed || (err == 0 && !names->pod_only);
    return err == 0;
}

static void schedule_lookup(struct discovery *d, struct cgroup_node *node)
{
    uint64_t age = d->now_ns - node->found_ns, wait;
    if (node->kind == NODE_CONTAINER && age < NAMES_YOUNG_NS) {
        wait = NAMES_FIRST_NS << (node->tries < 7 ? node->tries : 7);
        if (age < SANDBOX_NS && age + wait > SANDBOX_NS)
            wait = SANDBOX_NS - age;
        node->tries++;
    } else {
        if (node->tries < 16)
            node->tries = 16;
        wait = d->config.rescan_ns << (node->tries - 16);
        if (node->tries < 16 + NAMES_SLOWEST)
            node->tries++;
    }
    node_start_timer(&d->watched.tree, node, d->now_ns + wait);
}

/* Only its log link can tell a container from its sandbox, and there is none. */
static bool must_be_sandbox(const struct discovery *d, const struct cgroup_node *node,
                            const struct container_names *names)
{
    return names->sandbox ||
           (names->pod_only && !names->cut_links && d->now_ns - node->found_ns >= SANDBOX_NS);
}

static void retry_names(struct discovery *d, struct cgroup_node *node)
{
    struct cgroup_path_info info;
    struct container_names names;
    cgroup_path_parse(node->path, strlen(node->path), &info);
    bool known = look_up(d, node, &info, &names);
    if (known && must_be_sandbox(d, node, &names)) {
        container_table_discard(d->config.table, node->handle);
        node->handle = 0;
        node->kind = NODE_SANDBOX;
        node->tries = 16;
        if (names.sandbox)
            return;
    } else if (known) {
        struct container_spec spec = make_spec(node, &info, &names);
        int err = container_table_rename(d->config.table, node->handle, &spec, d->now_ns);
        if (err && err != -ENOENT)
            node->resolved = false;
    }
    if (!node->resolved)
        schedule_lookup(d, node);
}

/* ---- containers ---- */

/* fd: the open directory, or -1; ownership passes. */
static void add_to_table(struct discovery *d, struct cgroup_node *node, struct container_spec *spec,
                         int fd)
{
    spec->cgroup_fd = fd;
    node->kind = NODE_CONTAINER;
    int err = container_table_add(d->config.table, spec, d->now_ns, &node->handle);
    if (!err)
        return;
    node->kind = NODE_PLAIN;
    node_give_place(node);
    node->cgroup_id = 0; /* the next rescan takes it for a new one */
    if (discovery_may_log(d, &d->crowd_log_ns))
        log_warn(d->config.log, "containers", "%s is not counted: %s", node->path, strerror(-err));
}

/* A directory that is a container by its path. */
static void try_container(struct discovery *d, struct cgroup_node *node,
                          const struct cgroup_path_info *info)
{
    struct container_names names;
    bool known = look_up(d, node, info, &names);
    /* What was taken for a sandbox remains one until its own names say otherwise. */
    bool sandbox = node->kind == NODE_SANDBOX && !(known && !names.pod_only);
    if (sandbox || (known && names.sandbox)) {
        node->kind = NODE_SANDBOX;
    } else {
        int fd = watched_tree_open(&d->watched, node);
        if (fd == -ENOENT)
            return; /* gone already */
        struct container_spec spec = make_spec(node, info, known ? &names : NULL);
        add_to_table(d, node, &spec, fd < 0 ? -1 : fd);
    }
    if (!node->resolved)
        schedule_lookup(d, node);
}

/* ---- candidates ---- */

/* The first bytes of a candidate's file, with a NUL behind them. Returns how many, or -errno. */
static ssize_t read_start(const struct discovery *d, const struct cgroup_node *node,
                          const char *file, char *text, size_t size)
{
    char path[CGROUP_PATH_BYTES];
    int fd = -1;
    if (node->fd >= 0)
        fd = openat(node->fd, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    else if (watched_tree_path(&d->watched, node, file, path, sizeof path) == 0)
        fd = long_path_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (n < 0)
        n = fd >= 0 ? -errno : fd;
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return n;
}

/* Those of a threaded cgroup are listed as threads only. */
static bool has_processes(const struct discovery *d, const struct cgroup_node *node)
{
    char first[2];
    ssize_t n = read_start(d, node, "cgroup.procs", first, sizeof first);
    if (n == -EOPNOTSUPP)
        n = read_start(d, node, "cgroup.threads", first, sizeof first);
    return n > 0;
}

/* Whether a process was in it, as cgroup v2 tells: one that came before there was a watch, or was
 * born in it, may have ended before anybody looked. What is in it from below says nothing. */
static bool has_run(const struct discovery *d, const struct cgroup_node *node)
{
    static const char usage[] = "usage_usec ";
    char text[sizeof usage + 1];
    return TAILQ_EMPTY(&node->children) &&
           read_start(d, node, "cpu.stat", text, sizeof text) == (ssize_t)sizeof usage &&
           strncmp(text, usage, sizeof usage - 1) == 0 && text[sizeof usage - 1] != '0';
}

/* The descriptor of a candidate that was held open, or -1; it is the caller's. */
static int take_descriptor(struct discovery *d, struct cgroup_node *node)
{
    int fd = node->fd;
    if (fd >= 0)
        d->open_candidates--;
    node->fd = -1;
    return fd;
}

static void close_candidate(struct discovery *d, struct cgroup_node *node)
{
    int fd = take_descriptor(d, node);
    if (fd >= 0)
        close(fd);
}

static struct container_spec candidate_spec(struct cgroup_node *node)
{
    static const struct cgroup_path_info plain = {.runtime = "", .qos_class = ""};
    return make_spec(node, &plain, NULL);
}

/* What is made while we watch may be about to get its first process: it is counted at once, and
 * shown when it has one, so that nothing of what that does is missed. Only root's: a tenant's would
 * take places for nothing. */
static void expect_processes(struct discovery *d, struct cgroup_node *node)
{
    if (!d->started || node->owner)
        return;
    struct container_spec spec = candidate_spec(node);
    spec.cgroup_fd = watched_tree_open(&d->watched, node);
    if (spec.cgroup_fd < 0 ||
        container_table_add(d->config.table, &spec, d->now_ns, &node->handle) != 0)
        node->handle = 0;
}

static void expect_no_more(struct discovery *d, struct cgroup_node *node)
{
    if (node->kind != NODE_CANDIDATE || !node->handle)
        return;
    container_table_discard(d->config.table, node->handle);
    node->handle = 0;
}

/* It is one that was expected: from here on it is shown. */
static bool confirm_candidate(struct discovery *d, struct cgroup_node *node)
{
    if (!node->handle)
        return false;
    node->resolved = true;
    struct container_spec spec = candidate_spec(node);
    if (container_table_rename(d->config.table, node->handle, &spec, d->now_ns) != 0) {
        expect_no_more(d, node);
        return false;
    }
    node->kind = NODE_CONTAINER;
    if (node->gen)
        map_container(d, node, true);
    close_candidate(d, node);
    node_stop_timer(&d->watched.tree, node);
    watched_tree_watch(&d->watched, node);
    return true;
}

static void promote_candidate(struct discovery *d, struct cgroup_node *node)
{
    if (confirm_candidate(d, node))
        return;
    if (!take_place(d, node)) {
        close_candidate(d, node);
        return; /* the next rescan asks again */
    }
    int fd = take_descriptor(d, node);
    if (fd < 0)
        fd = watched_tree_open(&d->watched, node);
    if (fd == -ENOENT) {
        node_give_place(node);
        return;
    }
    node_stop_timer(&d->watched.tree, node);
    node->resolved = true;
    struct container_spec spec = candidate_spec(node);
    add_to_table(d, node, &spec, fd < 0 ? -1 : fd);
    watched_tree_watch(&d->watched, node); /* its control files are of no interest any more */
}

static void check_candidate(struct discovery *d, struct cgroup_node *node)
{
    if (has_processes(d, node)) {
        promote_candidate(d, node);
        return;
    }
    if (d->now_ns - node->found_ns < CANDIDATE_YOUNG_NS) {
        node_start_timer(&d->watched.tree, node, d->now_ns + CANDIDATE_CHECK_NS);
        return;
    }
    if (node->handle && has_run(d, node) && confirm_candidate(d, node))
        return;
    close_candidate(d, node); /* from here on its files' events and the rescans tell */
    expect_no_more(d, node);
}

/* ---- from discovery ---- */

/* Whether a container by its path is one of those that count by themselves. */
static void classify_container(struct discovery *d, struct cgroup_node *node,
                               const struct cgroup_path_info *info)
{
    if (!info->inside_container)
        node->share = &container_share;
    if (member_is_looked_into(d, node))
        watched_tree_watch(&d->watched, node);
    if (take_place(d, node)) {
        try_container(d, node, info);
        return;
    }
    node->kind = NODE_REFUSED;
    map_child(d, node);
}

void member_classify(struct discovery *d, struct cgroup_node *node)
{
    struct cgroup_path_info info;
    cgroup_path_parse(node->path, strlen(node->path), &info);
    node->found_ns = d->now_ns;
    if (info.is_container && (!info.inside_container || d->config.nested)) {
        classify_container(d, node, &info);
        return;
    }
    if (info.is_delegated && !info.inside_container)
        node->share = &user_share;
    map_child(d, node);
    if (d->config.all_cgroups && node->parent) {
        node->kind = NODE_CANDIDATE;
        if (d->open_candidates < d->config.open_candidates_max &&
            (node->fd = watched_tree_open(&d->watched, node)) >= 0)
            d->open_candidates++;
        else
            node->fd = -1;
    }
    watched_tree_watch(&d->watched, node);
    if (node->kind != NODE_CANDIDATE)
        return;
    check_candidate(d, node);
    if (node->kind == NODE_CANDIDATE)
        expect_processes(d, node);
}

void member_check(struct discovery *d, struct cgroup_node *node)
{
    struct cgroup_path_info info;
    switch (node->kind) {
    case NODE_CANDIDATE:
        check_candidate(d, node);
        break;
    case NODE_CONTAINER:
        if (!node->resolved)
            retry_names(d, node);
        break;
    case NODE_REFUSED:
        cgroup_path_parse(node->path, strlen(node->path), &info);
        if (take_place(d, node)) {
            node->kind = NODE_PLAIN;
            try_container(d, node, &info);
        }
        break;
    case NODE_SANDBOX:
        cgroup_path_parse(node->path, strlen(node->path), &info);
        if (!node->resolved)
            try_container(d, node, &info);
        break;
    case NODE_PLAIN:
        break;
    }
}

/* Its count began with the cgroup: it is shown although nothing is left in it. */
void member_entered(struct discovery *d, struct cgroup_node *node)
{
    if (!confirm_candidate(d, node))
        check_candidate(d, node);
}

void member_end(struct discovery *d, struct cgroup_node *node)
{
    if (node->kind == NODE_CONTAINER && !node->resolved)
        retry_names(d, node); /* the last chance */
    if (node->kind == NODE_CONTAINER)
        container_table_end(d->config.table, node->handle, d->now_ns);
    expect_no_more(d, node);
    close_candidate(d, node);
    node_give_place(node);
    if (d->config.map)
        late_ids_add(&d->late_ids, d->config.map, node->cgroup_id, d->now_ns);
}
