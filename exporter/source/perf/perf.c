#include "exporter/source/perf/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/perf/explain.h"
#include "exporter/source/perf/handle.h"
#include "exporter/source/perf/unit.h"

struct perf_source {
    struct source source; /* first */
    struct perf_context context;
    struct perf_cpus cpus;
    struct perf_ladder ladder;
    struct perf_handles handles;
    uint64_t threads_climb_ns; /* monotonic; 0: not set */
};

static struct perf_source *self_of(struct source *source)
{
    return (struct perf_source *)source;
}

/* The source set hands out no handle that was closed: a handle is the pointer. */
static struct perf_handle *handle_of(uint64_t handle)
{
    return (struct perf_handle *)(uintptr_t)handle;
}

/* A clock on every CPU would count idle time as well. */
static int refuse_machine(struct verdict *why)
{
    verdict_set(why, REASON_NO_DEVICE, "perf counts nothing for the machine as a whole");
    return -ENODEV;
}

static bool perf_check(struct source *source, enum scope_kind kind, enum group group,
                       struct verdict *why)
{
    struct perf_source *self = self_of(source);
    verdict_clear(why);
    if (kind == SCOPE_MACHINE)
        return refuse_machine(why) == 0;
    if (kind == SCOPE_UNIT)
        return perf_unit_check(&self->context, &self->cpus, group, why) == 0;
    return perf_ladder_check(&self->ladder, kind, group, why) == 0;
}

static int perf_open(struct source *source, const struct scope *scope, enum group group,
                     uint64_t *handle, struct verdict *why)
{
    struct perf_source *self = self_of(source);
    struct perf_handle *opened;
    if (scope->kind == SCOPE_MACHINE)
        return refuse_machine(why);
    int err =
        scope->kind == SCOPE_UNIT ? 0 : perf_ladder_check(&self->ladder, scope->kind, group, why);
    if (!err)
        err = perf_handle_new(&self->handles, scope, group, &opened, why);
    if (!err)
        *handle = (uint64_t)(uintptr_t)opened;
    perf_fd_account(&self->context);
    return err;
}

static size_t perf_width(struct source *source, uint64_t handle)
{
    (void)source;
    return handle_of(handle)->n;
}

static int perf_read(struct source *source, uint64_t handle, struct reading *out)
{
    return perf_handle_read(&self_of(source)->handles, handle_of(handle), out);
}

static void perf_close(struct source *source, uint64_t handle)
{
    perf_handle_free(&self_of(source)->handles, handle_of(handle));
    perf_fd_account(&self_of(source)->context);
}

/* One line for all containers together. */
static void report(struct perf_source *self, const char *doing, size_t failures, int error)
{
    struct verdict why;
    if (!failures)
        return;
    perf_explain(error, doing, PERF_PARANOID_UNKNOWN, &why);
    log_warn(self->context.log, "perf", "%zu groups do not count everywhere: %s", failures,
             why.words);
}

static void sync_cpus(struct perf_source *self)
{
    size_t failures = 0;
    int error = 0;
    self->handles.recheck = false;
    for (struct perf_handle *handle = self->handles.first; handle; handle = handle->next) {
        int err = perf_handle_sync(&self->handles, handle);
        if (err) {
            failures++;
            error = err;
        }
    }
    report(self, "opening counters on a CPU that came online", failures, error);
}

/* All open groups, on the way down or up, count what the rung in force has. */
static void change_rung(struct perf_source *self, enum group group, bool up)
{
    size_t failures = 0;
    int error = 0;
    uint32_t roles = self->ladder.groups[group].roles;
    for (struct perf_handle *handle = self->handles.first; handle; handle = handle->next) {
        if (handle->group != group || handle->kind == SCOPE_UNIT)
            continue;
        int err = perf_handle_reopen(&self->handles, handle, roles, up);
        if (err) {
            failures++;
            error = err;
        }
    }
    report(self, "opening counters again with other events", failures, error);
}

/* A thread's pinned group steps down by itself, and now and then tries all roles again. */
static void climb_threads(struct perf_source *self, uint64_t mono_ns)
{
    if (self->threads_climb_ns == 0)
        self->threads_climb_ns = mono_ns + PERF_CLIMB_NS;
    if (mono_ns < self->threads_climb_ns)
        return;
    self->threads_climb_ns = mono_ns + PERF_CLIMB_NS;
    for (struct perf_handle *handle = self->handles.first; handle; handle = handle->next) {
        uint32_t roles = self->ladder.groups[handle->group].roles;
        if (handle->kind == SCOPE_THREAD && handle->mask != roles)
            (void)perf_handle_reopen(&self->handles, handle, roles, true);
    }
}

static int perf_begin(struct source *source, const struct tick *tick)
{
    struct perf_source *self = self_of(source);
    bool changed;
    int err = perf_cpus_refresh(&self->cpus, &changed);
    if (!err && (changed || self->handles.recheck))
        sync_cpus(self);
    for (int i = 0; i < GROUP_COUNT; i++) {
        enum group group = (enum group)i;
        if (perf_ladder_tick(&self->ladder, group))
            change_rung(self, group, false);
        else if (perf_ladder_climb(&self->ladder, group, tick->mono_ns))
            change_rung(self, group, true);
    }
    climb_threads(self, tick->mono_ns);
    perf_fd_account(&self->context);
    return err;
}

static size_t perf_open_counters(struct source *source)
{
    return self_of(source)->context.open_counters;
}

static void perf_free(struct source *source)
{
    struct perf_source *self = self_of(source);
    while (self->handles.first)
        perf_handle_free(&self->handles, self->handles.first);
    perf_fd_account(&self->context);
    perf_ladder_release(&self->ladder);
    perf_cpus_release(&self->cpus);
    free(self);
}

static const struct source_ops perf_ops = {
    .name = "perf",
    .check = perf_check,
    .open = perf_open,
    .width = perf_width,
    .begin = perf_begin,
    .read = perf_read,
    .close = perf_close,
    .open_counters = perf_open_counters,
    .free = perf_free,
};

int perf_source_new(const struct perf_config *config, struct source **out)
{
    struct perf_source *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->source.ops = &perf_ops;
    self->context = (struct perf_context){
        .fs = config->fs,
        .log = config->log,
        .kernel = config->kernel,
        .table = config->table,
        .no_pmem = config->no_pmem,
        .file = config->file,
        .fd_limit = config->fd_limit,
        .pool = config->pool,
        .said = config->said,
    };
    perf_ladder_init(&self->ladder, &self->context, &self->cpus);
    perf_handles_init(&self->handles, &self->context, &self->ladder, &self->cpus);
    int err = perf_cpus_init(&self->cpus, config->fs);
    if (err) {
        free(self);
        return err;
    }
    *out = &self->source;
    return 0;
}

size_t perf_source_each(const struct source *source, size_t *all)
{
    const struct perf_source *self = (const struct perf_source *)source;
    bool seen[GROUP_COUNT] = {false};
    size_t each = 0;
    *all = 0;
    for (const struct perf_handle *at = self->handles.first; at; at = at->next) {
        if (at->kind != SCOPE_CGROUP)
            continue;
        size_t events = (size_t)__builtin_popcount(self->ladder.groups[at->group].roles);
        size_t takes = events * self->cpus.n + 1; /* its directory */
        *all += takes;
        each += seen[at->group] ? 0 : takes;
        seen[at->group] = true;
    }
    return each;
}

uint32_t perf_source_roles(const struct source *source, enum group group)
{
    return ((const struct perf_source *)source)->ladder.groups[group].roles;
}
