#include "exporter/source/activity/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/source/activity/file.h"
#include "exporter/source/perf/cpus.h"

/* ---- rows of counts ---- */

/*
 * Totals per CPU since an opening, from the kernel's since boot.
 */

/* All zero is empty. A row keeps its place for good. */
struct activity_rows {
    size_t n, cap;
    struct activity_row *at; /* owned */
};

struct activity_row {
    int32_t cpu;
    bool seen; /* 'base' is there */
    uint64_t base, total;
};

static void activity_rows_release(struct activity_rows *rows)
{
    free(rows->at);
    *rows = (struct activity_rows){0};
}

/* CPUs come in order, so that the row is nearly always the one at 'from'. */
static struct activity_row *find(const struct activity_rows *rows, int cpu, size_t from)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct activity_row *row = &rows->at[(from + i) % rows->n];
        if (row->cpu == cpu)
            return row;
    }
    return NULL;
}

/* Nothing, where the CPU has a row. 0 or -ENOMEM. -1 is the sum. */
static int activity_rows_add(struct activity_rows *rows, int cpu)
{
    if (find(rows, cpu, 0))
        return 0;
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? 2 * rows->cap : 2;
        struct activity_row *larger = realloc(rows->at, cap * sizeof *larger);
        if (!larger)
            return -ENOMEM;
        rows->at = larger;
        rows->cap = cap;
    }
    rows->at[rows->n++] = (struct activity_row){.cpu = cpu};
    return 0;
}

/* What the kernel says now. The first that it says of a CPU is where its total starts; totals never
 * fall. CPUs without a row are left out: they were not online since the opening. */
static void activity_rows_put(struct activity_rows *rows, const struct cpu_time *times, size_t n)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        struct activity_row *row = find(rows, times[i].cpu, next);
        if (!row)
            continue;
        next = (size_t)(row - rows->at) + 1;
        if (!row->seen)
            row->base = times[i].ns;
        row->seen = true;
        if (times[i].ns > row->base && times[i].ns - row->base > row->total)
            row->total = times[i].ns - row->base;
    }
}

/* As the read op of a source; out must have room. */
static void activity_rows_give(const struct activity_rows *rows, struct reading *out)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct activity_row *from = &rows->at[i];
        struct reading_row *row = reading_row(out, i);
        row->cpu = from->cpu;
        row->present = from->seen;
        row->enabled_ns = row->running_ns = row->count[0] = from->total;
    }
    out->n = rows->n;
}

struct activity_handle {
    struct activity_handle *next, **link;
    enum activity_way way;
    bool called_in;            /* its descriptors were given back */
    int fd;                    /* of a file */
    uint64_t clocks;           /* of ACTIVITY_CLOCK: the inner source's handle */
    size_t lent;               /* descriptors */
    struct activity_rows rows; /* of a file */
};

struct activity_source {
    struct source source; /* first */
    struct activity_config config;
    struct activity_buffer buffer;
    struct perf_cpus cpus;
    struct activity_handle *first;
    struct descriptor_pool own_pool; /* where none was given */
    enum { PMU_UNKNOWN, PMU_NONE, PMU_THERE } pmu;
};

static struct activity_source *self_of(struct source *source)
{
    return (struct activity_source *)source;
}

static struct activity_handle *handle_of(uint64_t handle)
{
    return (struct activity_handle *)(uintptr_t)handle;
}

/* ---- which way ---- */

/* With one, a collector has the times from its counters, and these clocks would only cost. */
static bool has_pmu(struct activity_source *self)
{
    struct source *counters = self->config.counters;
    struct verdict why;
    if (self->pmu == PMU_UNKNOWN)
        self->pmu = counters && counters->ops->check(counters, SCOPE_CGROUP, GROUP_CORE, &why)
                        ? PMU_THERE
                        : PMU_NONE;
    return self->pmu == PMU_THERE;
}

static bool is_tried(struct activity_source *self, enum scope_kind kind, enum activity_way way)
{
    const uint32_t of_machine = 1u << ACTIVITY_PERCPU | 1u << ACTIVITY_PROC;
    uint32_t ways = self->config.ways ? self->config.ways : UINT32_MAX;
    if (!(ways >> way & 1) || (kind == SCOPE_MACHINE && !(of_machine >> way & 1)) ||
        (kind != SCOPE_MACHINE && way == ACTIVITY_PROC))
        return false;
    struct verdict why;
    struct source *clocks = self->config.clocks;
    return way != ACTIVITY_CLOCK ||
           (clocks &&
            (self->config.ways || (self->cpus.n < ACTIVITY_CLOCK_CPUS && !has_pmu(self))) &&
            clocks->ops->check(clocks, SCOPE_CGROUP, GROUP_ACTIVITY, &why));
}

static void say(enum scope_kind kind, enum activity_way way, struct verdict *why)
{
    verdict_set(why, REASON_OK, "CPU time of %s from %s",
                kind == SCOPE_MACHINE ? "the machine" : "containers", activity_way_words(way));
}

static void say_nothing_works(enum scope_kind kind, struct verdict *why)
{
    if (kind == SCOPE_MACHINE)
        verdict_set(why, REASON_NO_DEVICE,
                    "the machine's CPU time cannot be read: neither cpuacct.usage_percpu of a v1 "
                    "cgroup hierarchy nor /proc/stat is there");
    else
        verdict_set(
            why, REASON_NO_DEVICE,
            "the CPU time of containers cannot be read: their cgroups have neither cpu.stat "
            "with usage_usec (v2) nor cpuacct.usage (v1), and perf does not count it here; "
            "mount one of these hierarchies where --path.cgroupfs says");
}

/* ---- descriptors ---- */

static size_t need_of(const struct activity_source *self, enum activity_way way)
{
    return way == ACTIVITY_CLOCK ? self->cpus.n + 1 : 1;
}

static void close_files(struct activity_source *self, struct activity_handle *handle)
{
    struct source *clocks = self->config.clocks;
    if (handle->lent == 0)
        return;
    if (handle->way == ACTIVITY_CLOCK)
        clocks->ops->close(clocks, handle->clocks);
    else
        close(handle->fd);
    self->config.pool->lent -= handle->lent;
    handle->lent = 0;
}

/* The newest first: the oldest have been read for longest. The machine's is one of them. */
static void call_in(void *borrower, size_t n)
{
    struct activity_source *self = borrower;
    size_t before = self->config.pool->lent;
    for (struct activity_handle *handle = self->first; handle; handle = handle->next) {
        if (before - self->config.pool->lent >= n)
            return;
        handle->called_in |= handle->lent > 0;
        close_files(self, handle);
    }
}

static int add_online(const struct activity_source *self, struct activity_handle *handle)
{
    int err = 0;
    for (size_t i = 0; i < self->cpus.n && !err; i++)
        err = activity_rows_add(&handle->rows, self->cpus.at[i]);
    return err;
}

/* ---- ops ---- */

static int open_way(struct activity_source *self, const struct scope *scope, enum activity_way way,
                    struct activity_handle *handle, struct verdict *why)
{
    struct source *clocks = self->config.clocks;
    size_t n = 0, need = need_of(self, way);
    int err = 0;
    if (!descriptor_pool_lends(self->config.pool, need))
        return -EMFILE;
    handle->way = way;
    if (way == ACTIVITY_CLOCK) {
        err = clocks->ops->open(clocks, scope, GROUP_ACTIVITY, &handle->clocks, why);
    } else {
        handle->fd = activity_file_open(&self->config, scope, way, &self->buffer, &n);
        err = handle->fd < 0 ? handle->fd : 0;
    }
    if (err)
        return err;
    self->config.pool->lent += need;
    handle->lent = need;
    if (way == ACTIVITY_STAT || way == ACTIVITY_USAGE)
        err = activity_rows_add(&handle->rows, -1);
    else if (way != ACTIVITY_CLOCK)
        err = add_online(self, handle);
    if (!err)
        activity_rows_put(&handle->rows, self->buffer.times, n);
    return err;
}

/* No other way helps. */
static bool is_final(int err)
{
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static bool is_gone(const struct scope *scope)
{
    return scope->kind == SCOPE_CGROUP && faccessat(scope->cgroup_fd, "cgroup.procs", F_OK, 0) != 0;
}

static void delist(struct activity_handle *handle)
{
    *handle->link = handle->next;
    if (handle->next)
        handle->next->link = handle->link;
}

static void activity_close(struct source *source, uint64_t handle)
{
    struct activity_handle *closed = handle_of(handle);
    close_files(self_of(source), closed);
    delist(closed);
    activity_rows_release(&closed->rows);
    free(closed);
}

static void enlist(struct activity_source *self, struct activity_handle *handle)
{
    handle->next = self->first;
    handle->link = &self->first;
    if (handle->next)
        handle->next->link = &handle->next;
    self->first = handle;
}

/* Why nothing was opened. Returns the error to hand out. */
static int explain(const struct scope *scope, int err, struct verdict *why)
{
    if (err == -ENOMEM) {
        verdict_set(why, REASON_NO_DEVICE, "out of memory while opening %s", scope->key);
    } else if (err == -EMFILE || err == -ENFILE) {
        verdict_set(why, REASON_FD_LIMIT,
                    "no file descriptors left for the CPU time of containers: counters come first; "
                    "raise LimitNOFILE= or ulimit -n, or lower --containers.max");
    } else if (is_gone(scope)) {
        verdict_set(why, REASON_NO_DEVICE, "cgroup %s is gone", scope->key);
        return -ESRCH;
    } else {
        say_nothing_works(scope->kind, why);
    }
    return err;
}

static int activity_open(struct source *source, const struct scope *scope, enum group group,
                         uint64_t *out, struct verdict *why)
{
    struct activity_source *self = self_of(source);
    struct activity_handle *handle = calloc(1, sizeof *handle);
    int err = handle ? -ENOENT : -ENOMEM;
    (void)group;
    verdict_clear(why);
    if (handle)
        enlist(self, handle);
    for (int way = 0; way < ACTIVITY_WAYS && err && !is_final(err); way++)
        if (is_tried(self, scope->kind, (enum activity_way)way))
            err = open_way(self, scope, (enum activity_way)way, handle, why);
    if (!err) {
        say(scope->kind, handle->way, why);
        *out = (uint64_t)(uintptr_t)handle;
        return 0;
    }
    if (handle)
        activity_close(source, (uint64_t)(uintptr_t)handle);
    return explain(scope, err, why);
}

/* Containers differ little: what the root of a hierarchy has, they have. */
static bool activity_check(struct source *source, enum scope_kind kind, enum group group,
                           struct verdict *why)
{
    struct activity_source *self = self_of(source);
    const struct activity_config *config = &self->config;
    const struct scope machine = {.kind = SCOPE_MACHINE, .cgroup_fd = -1};
    if (group != GROUP_ACTIVITY || (kind != SCOPE_CGROUP && kind != SCOPE_MACHINE)) {
        verdict_set(why, REASON_NO_DEVICE, "only the CPU time of containers and of the machine");
        return false;
    }
    for (int i = 0; i < ACTIVITY_WAYS; i++) {
        enum activity_way way = (enum activity_way)i;
        const char *mount = way == ACTIVITY_STAT ? config->unified : config->cpuacct;
        size_t n;
        bool there = way == ACTIVITY_CLOCK || (mount && *mount);
        if (!is_tried(self, kind, way))
            continue;
        if (kind == SCOPE_MACHINE) {
            int fd = activity_file_open(config, &machine, way, &self->buffer, &n);
            there = fd >= 0;
            if (there)
                close(fd);
        }
        if (!there)
            continue;
        say(kind, way, why);
        return true;
    }
    say_nothing_works(kind, why);
    return false;
}

static size_t activity_width(struct source *source, uint64_t handle)
{
    struct activity_source *self = self_of(source);
    struct source *clocks = self->config.clocks;
    if (handle_of(handle)->way == ACTIVITY_CLOCK && !handle_of(handle)->called_in)
        return clocks->ops->width(clocks, handle_of(handle)->clocks);
    return handle_of(handle)->rows.n;
}

/* The one clock: what the event counted is not asked for, and would differ in its last digits. */
static int read_clock(struct activity_source *self, const struct activity_handle *handle,
                      struct reading *out)
{
    struct source *clocks = self->config.clocks;
    int err = clocks->ops->read(clocks, handle->clocks, out);
    for (size_t i = 0; i < out->n && !err; i++) {
        struct reading_row *row = reading_row(out, i);
        row->count[0] = row->running_ns = row->enabled_ns;
    }
    return err;
}

static int activity_read(struct source *source, uint64_t opened, struct reading *out)
{
    struct activity_source *self = self_of(source);
    struct activity_handle *handle = handle_of(opened);
    size_t n;
    if (handle->called_in)
        return -EMFILE;
    if (handle->way == ACTIVITY_CLOCK)
        return read_clock(self, handle, out);
    if (out->cap < handle->rows.n)
        return -ENOSPC;
    int err = activity_file_read(handle->fd, handle->way, &self->buffer, &n);
    if (err)
        return err;
    activity_rows_put(&handle->rows, self->buffer.times, n);
    activity_rows_give(&handle->rows, out);
    return 0;
}

static int activity_begin(struct source *source, const struct tick *tick)
{
    struct activity_source *self = self_of(source);
    struct source *clocks = self->config.clocks;
    bool changed;
    int err = perf_cpus_refresh(&self->cpus, &changed);
    for (struct activity_handle *handle = self->first; handle && changed; handle = handle->next)
        if (!err && (handle->way == ACTIVITY_PERCPU || handle->way == ACTIVITY_PROC))
            err = add_online(self, handle);
    int inner = clocks && clocks->ops->begin ? clocks->ops->begin(clocks, tick) : 0;
    return err ? err : inner;
}

static size_t activity_open_counters(struct source *source)
{
    return self_of(source)->config.pool->lent;
}

static void activity_free(struct source *source)
{
    struct activity_source *self = self_of(source);
    while (self->first)
        activity_close(source, (uint64_t)(uintptr_t)self->first);
    if (self->config.pool) {
        self->config.pool->call_in = NULL;
        self->config.pool->borrower = NULL;
    }
    if (self->config.clocks)
        self->config.clocks->ops->free(self->config.clocks);
    activity_buffer_release(&self->buffer);
    perf_cpus_release(&self->cpus);
    free(self);
}

static const struct source_ops activity_ops = {
    .name = "activity",
    .check = activity_check,
    .open = activity_open,
    .width = activity_width,
    .begin = activity_begin,
    .read = activity_read,
    .close = activity_close,
    .open_counters = activity_open_counters,
    .free = activity_free,
};

int activity_source_new(const struct activity_config *config, struct source **out)
{
    struct activity_source *self = calloc(1, sizeof *self);
    if (!self) {
        if (config->clocks)
            config->clocks->ops->free(config->clocks);
        return -ENOMEM;
    }
    self->source.ops = &activity_ops;
    self->config = *config;
    self->cpus.fd = -1;
    if (!self->config.pool)
        self->config.pool = &self->own_pool;
    self->config.pool->call_in = call_in;
    self->config.pool->borrower = self;
    int err = activity_buffer_init(&self->buffer, config->fs);
    if (!err)
        err = perf_cpus_init(&self->cpus, config->fs);
    if (err) {
        activity_free(&self->source);
        return err;
    }
    *out = &self->source;
    return 0;
}
