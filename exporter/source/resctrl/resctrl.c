#include "exporter/source/resctrl/resctrl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/source/resctrl/group.h"
#include "exporter/source/resctrl/tree.h"

/* A group that is open, for all who opened it. */
struct shared_group {
    struct shared_group *next;
    char *path; /* owned; of its mon_data */
    size_t users;
    struct mon_group group;
    uint64_t turn; /* in which it was read last */
    int err;       /* and what came of it */
};

/* What one who opened it was handed out. */
struct handle_row {
    int cpu;
    uint32_t present;
    uint32_t has, lacks; /* in this turn: some group has a file of it; some does not know it */
    uint64_t enabled_ns, count[MON_VALUES];
};

struct resctrl_handle {
    struct resctrl_handle *next, **link;
    bool machine;
    bool partial;                 /* of the machine's classes some cannot be read */
    struct shared_group **groups; /* one, or those of the machine's classes */
    size_t n_groups, groups_cap;
    struct handle_row *rows;
    size_t n_rows, rows_cap;
};

struct resctrl_source {
    struct source source; /* first */
    struct resctrl_config config;
    struct mon_tree tree;
    struct mon_domains domains;
    struct shared_group *groups;
    size_t n_groups;
    struct resctrl_handle *first;
    struct descriptor_pool own_pool; /* where none was given */
    struct descriptor_turn next;
    bool asked; /* somebody wants to know; until then nothing is looked at */
    bool due;
    uint64_t now_ns, turn;
};

_Static_assert((int)MON_VALUES <= (int)GROUP_MAX_ROLES, "a reading has them all");

static struct resctrl_source *self_of(struct source *source)
{
    return (struct resctrl_source *)source;
}

static struct resctrl_handle *handle_of(uint64_t handle)
{
    return (struct resctrl_handle *)(uintptr_t)handle;
}

/* ---- groups ---- */

static void close_group(struct resctrl_source *self, struct shared_group *shared)
{
    if (shared->group.fd < 0)
        return;
    mon_group_close(&shared->group);
    self->config.pool->lent--;
}

static int open_group(struct resctrl_source *self, const char *path, struct shared_group **out)
{
    for (struct shared_group *at = self->groups; at; at = at->next)
        if (!at->group.gone && at->group.fd >= 0 && strcmp(at->path, path) == 0) {
            at->users++;
            *out = at;
            return 0;
        }
    if (self->n_groups == RESCTRL_GROUPS || !descriptor_pool_lends(self->config.pool, 1))
        return -EMFILE;
    struct shared_group *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return -ENOMEM;
    }
    int fd = mon_tree_open(&self->tree, path);
    int err = fd < 0 ? fd : mon_group_init(&made->group, fd, &self->domains);
    if (err) {
        free(made->path);
        free(made);
        return err;
    }
    self->config.pool->lent++;
    self->n_groups++;
    made->users = 1;
    made->next = self->groups;
    self->groups = made;
    *out = made;
    return 0;
}

static void leave_group(struct resctrl_source *self, struct shared_group *shared)
{
    if (--shared->users > 0)
        return;
    struct shared_group **link = &self->groups;
    while (*link != shared)
        link = &(*link)->next;
    *link = shared->next;
    close_group(self, shared);
    mon_group_release(&shared->group);
    self->n_groups--;
    free(shared->path);
    free(shared);
}

static void call_in(void *borrower, size_t n)
{
    struct resctrl_source *self = borrower;
    size_t before = self->config.pool->lent;
    for (struct shared_group *at = self->groups; at && before - self->config.pool->lent < n;
         at = at->next)
        close_group(self, at);
    size_t given = before - self->config.pool->lent;
    if (given < n && self->next.call_in)
        self->next.call_in(self->next.borrower, n - given);
}

/* Once a turn, for all who have it. */
static int read_group(struct resctrl_source *self, struct shared_group *shared)
{
    if (shared->turn != self->turn) {
        shared->turn = self->turn;
        shared->err = mon_group_read(&shared->group, self->now_ns);
        if (shared->err == -ESRCH)
            close_group(self, shared);
    }
    return shared->err == -EBADF ? -EMFILE : shared->err; /* its descriptor was called in */
}

/* ---- what there is ---- */

static void look(struct resctrl_source *self)
{
    self->asked = true;
    mon_tree_scan(&self->tree);
}

static void explain_mount(const struct resctrl_source *self, struct verdict *why)
{
    const char *mount = self->config.fs->path[FSROOT_RESCTRL];
    if (self->tree.err == -EACCES || self->tree.err == -EPERM)
        verdict_set(why, REASON_NO_PERMISSION, "%s cannot be read: %s", mount,
                    strerror(-self->tree.err));
    else if (self->tree.err == -ENOENT || self->tree.err == -ENOTDIR)
        verdict_set(
            why, REASON_NO_DEVICE,
            "%s is not the kernel's resctrl, or its hardware does not monitor: mount it (-t "
            "resctrl) as who makes the groups needs it; in a container, --path.resctrl says "
            "where it is",
            mount);
    else
        verdict_set(why, REASON_NO_DEVICE, "%s cannot be read: %s", mount,
                    strerror(-self->tree.err));
}

static void explain_none(const struct resctrl_source *self, struct verdict *why)
{
    verdict_set(why, REASON_NO_GROUPS,
                "no monitoring group of a pod or container is below %s: let nri-plugins' "
                "nri-resctrl-mon make one for each pod, or the runtime (runc 1.4, crun: "
                "linux.intelRdt.enableMonitoring) for each container",
                self->config.fs->path[FSROOT_RESCTRL]);
}

/* "monitoring groups of 3 pods and 5 containers; of classes BE, LS (koordinator), ..." */
static void tell_whose(const struct resctrl_source *self, struct verdict *why)
{
    const struct mon_tree *tree = &self->tree;
    char text[sizeof why->words];
    size_t used = 0;
    for (unsigned i = 1; i < tree->n_classes && used < sizeof text - 80; i++) {
        const char *owner = mon_class_owner(tree->class[i]);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%.40s%s%s%s", i > 1 ? ", " : "",
                             tree->class[i], *owner ? " (" : "", owner, *owner ? ")" : "");
    }
    verdict_set(why, REASON_OK, "monitoring groups of %zu pods and %zu containers%s%.*s",
                mon_tree_count(tree, MON_POD), mon_tree_count(tree, MON_CONTAINER),
                used ? "; classes, which are no container's: " : "", (int)used, text);
}

static bool resctrl_check(struct source *source, enum scope_kind kind, enum group group,
                          struct verdict *why)
{
    struct resctrl_source *self = self_of(source);
    bool machine = kind == SCOPE_MACHINE && group == GROUP_BANDWIDTH;
    if (!machine &&
        (kind != SCOPE_CGROUP || (group != GROUP_BANDWIDTH && group != GROUP_POD_BANDWIDTH))) {
        verdict_set(why, REASON_NO_DEVICE, "only what containers, and all together, move");
        return false;
    }
    if (!self->asked)
        look(self);
    verdict_clear(why);
    if (self->tree.err)
        explain_mount(self, why);
    else if (!machine && self->tree.n == 0)
        explain_none(self, why);
    else if (!machine)
        tell_whose(self, why);
    return why->reason == REASON_OK;
}

/* ---- opening ---- */

static int path_of(const struct resctrl_source *self, const struct scope *scope, enum group group,
                   char *out, size_t size)
{
    const char *name = group == GROUP_BANDWIDTH ? scope->container_id : scope->pod_uid;
    const enum mon_kind wanted = group == GROUP_BANDWIDTH ? MON_CONTAINER : MON_POD;
    enum mon_kind kind;
    char id[MON_ID_BYTES];
    if (!name || !mon_name_parse(name, strlen(name), &kind, id) || kind != wanted)
        return -ENOENT;
    const struct mon_found *found = mon_tree_find(&self->tree, kind, id);
    return found ? mon_tree_path(&self->tree, found, out, size) : -ENOENT;
}

/* Of who has it already, the handle's groups are one more. */
static int join(struct resctrl_source *self, struct resctrl_handle *handle, const char *path)
{
    struct shared_group *shared;
    if (array_reserve(&handle->groups, &handle->groups_cap, handle->n_groups + 1,
                      sizeof *handle->groups) != 0)
        return -ENOMEM;
    int err = open_group(self, path, &shared);
    if (err)
        return err;
    const struct mon_group *group = &shared->group;
    if (array_reserve(&handle->rows, &handle->rows_cap, handle->n_rows + group->n_rows,
                      sizeof *handle->rows) != 0) {
        leave_group(self, shared);
        return -ENOMEM;
    }
    for (size_t i = 0; i < group->n_rows; i++) {
        size_t at = 0;
        while (at < handle->n_rows && handle->rows[at].cpu != group->rows[i].cpu)
            at++;
        if (at == handle->n_rows)
            handle->rows[handle->n_rows++] = (struct handle_row){.cpu = group->rows[i].cpu};
    }
    handle->groups[handle->n_groups++] = shared;
    return 0;
}

static bool has_path(const struct resctrl_handle *handle, const char *path)
{
    for (size_t i = 0; i < handle->n_groups; i++)
        if (!handle->groups[i]->group.gone && strcmp(handle->groups[i]->path, path) == 0)
            return true;
    return false;
}

/* The root group, which must be there, and the classes that are there now. One that has gone again
 * is none; without any other the sum would be too low. */
static int join_classes(struct resctrl_source *self, struct resctrl_handle *handle)
{
    handle->partial = false;
    for (unsigned class = 0; class < self->tree.n_classes; class ++) {
        char path[300];
        int err = mon_tree_class_path(&self->tree, class, path, sizeof path);
        if (!err && !has_path(handle, path))
            err = join(self, handle, path);
        handle->partial |= err && err != -ENOENT;
        if (err && (class == 0 || err == -ENOMEM))
            return err;
    }
    return self->tree.n_classes ? 0 : -ENOENT;
}

/* Also those whose descriptor was called in, to be opened again. */
static void leave_closed(struct resctrl_source *self, struct resctrl_handle *handle)
{
    for (size_t i = handle->n_groups; i-- > 0;)
        if (handle->groups[i]->group.gone || handle->groups[i]->group.fd < 0) {
            leave_group(self, handle->groups[i]);
            handle->groups[i] = handle->groups[--handle->n_groups];
        }
}

static void handle_free(struct resctrl_source *self, struct resctrl_handle *handle)
{
    while (handle->n_groups > 0)
        leave_group(self, handle->groups[--handle->n_groups]);
    free(handle->groups);
    free(handle->rows);
    free(handle);
}

static int explain(const struct resctrl_source *self, const struct scope *scope, int err,
                   struct verdict *why)
{
    if (err == -EMFILE || err == -ENFILE)
        verdict_set(why, REASON_FD_LIMIT,
                    "no file descriptors left for monitoring groups: counters come first; raise "
                    "LimitNOFILE= or ulimit -n, or lower --containers.max");
    else if (err == -ENOMEM)
        verdict_set(why, REASON_NO_DEVICE, "out of memory while opening %s", scope->key);
    else if (err == -EACCES || err == -EPERM)
        verdict_set(why, REASON_NO_PERMISSION, "a monitoring group below %s cannot be read",
                    self->config.fs->path[FSROOT_RESCTRL]);
    else
        verdict_set(why, REASON_NO_GROUPS, "%s has no monitoring group", scope->key);
    return err;
}

static int resctrl_open(struct source *source, const struct scope *scope, enum group group,
                        uint64_t *out, struct verdict *why)
{
    struct resctrl_source *self = self_of(source);
    char path[600];
    int err = 0;
    verdict_clear(why);
    if (!self->asked)
        look(self);
    bool machine = scope->kind == SCOPE_MACHINE;
    if (!machine)
        err = path_of(self, scope, group, path, sizeof path);
    if (err)
        return explain(self, scope, err, why);
    struct resctrl_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return explain(self, scope, -ENOMEM, why);
    mon_domains_load(&self->domains, self->config.fs);
    handle->machine = machine;
    err = machine ? join_classes(self, handle) : join(self, handle, path);
    if (err) {
        handle_free(self, handle);
        return explain(self, scope, err, why);
    }
    handle->link = &self->first;
    handle->next = self->first;
    if (handle->next)
        handle->next->link = &handle->next;
    self->first = handle;
    *out = (uint64_t)(uintptr_t)handle;
    return 0;
}

static size_t resctrl_width(struct source *source, uint64_t handle)
{
    (void)source;
    return handle_of(handle)->n_rows;
}

static void resctrl_close(struct source *source, uint64_t opened)
{
    struct resctrl_handle *handle = handle_of(opened);
    *handle->link = handle->next;
    if (handle->next)
        handle->next->link = handle->link;
    handle_free(self_of(source), handle);
}

/* ---- reading ---- */

static struct handle_row *row_of(struct resctrl_handle *handle, int cpu)
{
    size_t i = 0;
    while (handle->rows[i].cpu != cpu)
        i++;
    return &handle->rows[i];
}

static void add(struct resctrl_handle *handle, const struct mon_row *row)
{
    struct handle_row *to = row_of(handle, row->cpu);
    for (int v = 0; v < MON_VALUES; v++)
        if (row->known >> v & 1)
            to->count[v] += row->value[v];
    to->has |= row->has;
    to->lacks |= row->has & ~row->known;
}

/* Whatever else a row knows, its clock is that of the bytes. */
static bool is_timed(const struct handle_row *row)
{
    return row->present & (1u << MON_TOTAL_BYTES | 1u << MON_LOCAL_BYTES);
}

static int sum_up(struct resctrl_source *self, struct resctrl_handle *handle)
{
    uint64_t window_ns = 0;
    int result = -ESRCH;
    bool partial = handle->partial;
    for (size_t i = 0; i < handle->n_rows; i++) {
        handle->rows[i].count[MON_OCCUPANCY_BYTES] = 0;
        handle->rows[i].has = handle->rows[i].lacks = 0;
    }
    for (size_t g = 0; g < handle->n_groups; g++) {
        const struct mon_group *group = &handle->groups[g]->group;
        int err = read_group(self, handle->groups[g]);
        if (err && g == 0 && !handle->machine)
            return err;
        partial |= err && err != -ESRCH;
        result = err ? result : 0;
        if (err || group->window_ns == 0) /* gone, or too new */
            continue;
        window_ns = group->window_ns;
        for (size_t i = 0; i < group->n_rows; i++)
            add(handle, &group->rows[i]);
    }
    for (size_t i = 0; i < handle->n_rows; i++) {
        struct handle_row *row = &handle->rows[i];
        row->present = partial ? 0 : row->has & ~row->lacks;
        row->enabled_ns += is_timed(row) ? window_ns : 0;
    }
    return result || window_ns ? result : -ENODATA;
}

static void give(const struct resctrl_handle *handle, struct reading *out)
{
    out->n = handle->n_rows;
    for (size_t i = 0; i < handle->n_rows; i++) {
        const struct handle_row *from = &handle->rows[i];
        struct reading_row *to = reading_row(out, i);
        *to = (struct reading_row){.cpu = from->cpu,
                                   .present = from->present,
                                   .enabled_ns = from->enabled_ns,
                                   .running_ns = from->enabled_ns};
        memcpy(to->count, from->count, sizeof from->count);
    }
}

static int resctrl_read(struct source *source, uint64_t opened, struct reading *out)
{
    struct resctrl_source *self = self_of(source);
    struct resctrl_handle *handle = handle_of(opened);
    if (!self->due)
        return -ENODATA;
    if (out->cap < handle->n_rows)
        return -ENOSPC;
    int err = sum_up(self, handle);
    if (!err)
        give(handle, out);
    return err;
}

/* By the clock, so that who asks in the same tick gets the same window. */
static int resctrl_begin(struct source *source, const struct tick *tick)
{
    struct resctrl_source *self = self_of(source);
    const uint64_t period_ns = RESCTRL_PERIOD_SECONDS * UINT64_C(1000000000);
    self->due = tick->mono_ns / period_ns != self->now_ns / period_ns || self->turn == 0;
    if (!self->due)
        return 0;
    self->now_ns = tick->mono_ns;
    self->turn++;
    if (!self->asked)
        return 0;
    mon_tree_scan(&self->tree);
    for (struct resctrl_handle *handle = self->first; handle; handle = handle->next)
        if (handle->machine) {
            leave_closed(self, handle);
            (void)join_classes(self, handle);
        }
    return 0;
}

static size_t resctrl_open_counters(struct source *source)
{
    size_t n = 0;
    for (const struct shared_group *at = self_of(source)->groups; at; at = at->next)
        n += at->group.fd >= 0;
    return n;
}

static void resctrl_free(struct source *source)
{
    struct resctrl_source *self = self_of(source);
    while (self->first)
        resctrl_close(source, (uint64_t)(uintptr_t)self->first);
    descriptor_pool_leave(self->config.pool, &self->next, self);
    mon_tree_release(&self->tree);
    free(self);
}

static const struct source_ops resctrl_ops = {
    .name = "resctrl",
    .check = resctrl_check,
    .open = resctrl_open,
    .width = resctrl_width,
    .begin = resctrl_begin,
    .read = resctrl_read,
    .close = resctrl_close,
    .open_counters = resctrl_open_counters,
    .free = resctrl_free,
};

int resctrl_source_new(const struct resctrl_config *config, struct source **out)
{
    struct resctrl_source *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->source.ops = &resctrl_ops;
    self->config = *config;
    mon_tree_init(&self->tree, config->fs);
    if (!self->config.pool)
        self->config.pool = &self->own_pool;
    descriptor_pool_borrow(self->config.pool, &self->next, call_in, self);
    *out = &self->source;
    return 0;
}
