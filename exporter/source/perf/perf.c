#include "exporter/source/perf/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/perf/explain.h"
#include "exporter/source/perf/handle.h"
#include "exporter/source/perf/unit.h"

struct perf_slot {
    struct perf_handle *handle; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

struct perf_source {
    struct source source; /* first */
    struct perf_context context;
    struct perf_cpus cpus;
    struct perf_ladder ladder;
    struct perf_handles handles;
    size_t n_slots;
    struct perf_slot *slots;
    uint32_t first_free; /* index + 1; 0: none */
};

static struct perf_source *self_of(struct source *source)
{
    return (struct perf_source *)source;
}

/* A handle is generation << 32 | index + 1: never 0, and never again that of a closed one. */
static struct perf_slot *find(struct perf_source *self, uint64_t handle)
{
    uint32_t index = (uint32_t)handle - 1;
    if (index >= self->n_slots || self->slots[index].generation != (uint32_t)(handle >> 32) ||
        !self->slots[index].handle)
        return NULL;
    return &self->slots[index];
}

static int reserve_slot(struct perf_source *self)
{
    if (self->first_free)
        return 0;
    size_t n = self->n_slots ? self->n_slots * 2 : 16;
    if (n >= UINT32_MAX)
        return -ENOMEM;
    struct perf_slot *slots = realloc(self->slots, n * sizeof *slots);
    if (!slots)
        return -ENOMEM;
    for (size_t i = n; i-- > self->n_slots;) {
        slots[i] = (struct perf_slot){.next_free = self->first_free};
        self->first_free = (uint32_t)i + 1;
    }
    self->slots = slots;
    self->n_slots = n;
    return 0;
}

static bool perf_check(struct source *source, enum scope_kind kind, enum group group,
                       struct verdict *why)
{
    struct perf_source *self = self_of(source);
    why->reason = REASON_OK;
    why->words[0] = '\0';
    if (kind == SCOPE_UNIT)
        return perf_unit_check(&self->context, &self->cpus, group, why) == 0;
    return perf_ladder_check(&self->ladder, kind, group, why) == 0;
}

static int perf_open(struct source *source, const struct scope *scope, enum group group,
                     uint64_t *handle, struct verdict *why)
{
    struct perf_source *self = self_of(source);
    struct perf_handle *opened;
    int err =
        scope->kind == SCOPE_UNIT ? 0 : perf_ladder_check(&self->ladder, scope->kind, group, why);
    if (!err)
        err = reserve_slot(self);
    if (err == -ENOMEM)
        verdict_set(why, REASON_FD_LIMIT, "out of memory");
    if (!err)
        err = perf_handle_new(&self->handles, scope, group, &opened, why);
    if (err)
        return err;
    uint32_t index = self->first_free - 1;
    struct perf_slot *slot = &self->slots[index];
    self->first_free = slot->next_free;
    slot->generation++;
    slot->handle = opened;
    *handle = (uint64_t)slot->generation << 32 | (index + 1);
    return 0;
}

static size_t perf_width(struct source *source, uint64_t handle)
{
    struct perf_slot *slot = find(self_of(source), handle);
    return slot ? slot->handle->n : 0;
}

static int perf_read(struct source *source, uint64_t handle, struct reading *out)
{
    struct perf_slot *slot = find(self_of(source), handle);
    return slot ? perf_handle_read(&self_of(source)->handles, slot->handle, out) : -EBADF;
}

static void perf_close(struct source *source, uint64_t handle)
{
    struct perf_source *self = self_of(source);
    struct perf_slot *slot = find(self, handle);
    if (!slot)
        return;
    perf_handle_free(&self->handles, slot->handle);
    slot->handle = NULL;
    slot->next_free = self->first_free;
    self->first_free = (uint32_t)(slot - self->slots) + 1;
}

/* One line for all containers, not one for each. */
static void report(struct perf_source *self, const char *doing, size_t failures, int error)
{
    struct verdict why;
    if (!failures)
        return;
    perf_explain(error, doing, PERF_PARANOID_UNKNOWN, &why);
    log_warn(self->context.log, "perf", "%zu groups are not counted everywhere: %s", failures,
             why.words);
}

static void sync_cpus(struct perf_source *self)
{
    size_t failures = 0;
    int error = 0;
    self->handles.recheck = false;
    for (size_t i = 0; i < self->n_slots; i++) {
        if (!self->slots[i].handle)
            continue;
        int err = perf_handle_sync(&self->handles, self->slots[i].handle);
        if (err) {
            failures++;
            error = err;
        }
    }
    report(self, "opening counters on a CPU that came online", failures, error);
}

static void step_down(struct perf_source *self, enum group group)
{
    size_t failures = 0;
    int error = 0;
    for (size_t i = 0; i < self->n_slots; i++) {
        struct perf_handle *handle = self->slots[i].handle;
        if (!handle || handle->group != group || handle->kind == SCOPE_UNIT)
            continue;
        int err = perf_handle_step_down(&self->handles, handle, self->ladder.groups[group].roles);
        if (err) {
            failures++;
            error = err;
        }
    }
    report(self, "opening counters again with fewer events", failures, error);
}

static int perf_begin(struct source *source, const struct tick *tick)
{
    struct perf_source *self = self_of(source);
    bool changed;
    (void)tick;
    int err = perf_cpus_refresh(&self->cpus, &changed);
    if (!err && (changed || self->handles.recheck))
        sync_cpus(self);
    for (int group = 0; group < GROUP_COUNT; group++)
        if (perf_ladder_tick(&self->ladder, (enum group)group))
            step_down(self, (enum group)group);
    return err;
}

static size_t perf_open_counters(struct source *source)
{
    return self_of(source)->context.open_counters;
}

static void perf_free(struct source *source)
{
    struct perf_source *self = self_of(source);
    for (size_t i = 0; i < self->n_slots; i++)
        perf_handle_free(&self->handles, self->slots[i].handle);
    perf_ladder_release(&self->ladder);
    perf_cpus_release(&self->cpus);
    free(self->slots);
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
        .file = config->file,
        .fd_limit = config->fd_limit,
    };
    perf_ladder_init(&self->ladder, &self->context, &self->cpus);
    self->handles = (struct perf_handles){
        .context = &self->context, .ladder = &self->ladder, .cpus = &self->cpus};
    int err = perf_cpus_init(&self->cpus, config->fs);
    if (err) {
        free(self);
        return err;
    }
    *out = &self->source;
    return 0;
}

uint32_t perf_source_roles(const struct source *source, enum group group)
{
    return ((const struct perf_source *)source)->ladder.groups[group].roles;
}
