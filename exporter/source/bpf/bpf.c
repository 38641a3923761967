#include "exporter/source/bpf/bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/bpf/counter.h"
#include "exporter/source/bpf/rows.h"
#include "exporter/source/perf/explain.h"

/* A container's group. */
struct bpf_handle {
    LIST_ENTRY(bpf_handle) all;
    struct bpf_counter *counter; /* borrowed */
    enum bpf_user user;
    int cgroup_fd; /* borrowed, as in its scope */
    uint32_t slot;
    bool has_slot;         /* else what it had is below */
    struct bpf_cell *kept; /* owned; of each row */
    uint32_t roles;        /* counted, in its rows */
    struct bpf_rows rows;
    /* Of delays. */
    uint64_t opened_ns, base_ns; /* what was counted then */
    uint64_t kept_ns;
};

struct bpf_source {
    struct source source; /* first */
    struct perf_context context;
    struct perf_cpus cpus;
    struct perf_ladder ladder;
    struct bpf_counter *counters[GROUP_COUNT]; /* owned; NULL: not loaded */
    struct verdict refused[GROUP_COUNT];       /* why it was not, at the start */
    struct bpf_counter *delays; /* the one of them that counts delays, too; or NULL */
    LIST_HEAD(, bpf_handle) handles;
    uint64_t *owners;       /* owned; of its slots; 0: none is known */
    struct bpf_pair *pairs; /* owned; room for those of all CPUs */
    size_t n_pairs;         /* of the tick */
    bool ticks;             /* have begun */
    struct bpf_needs needs;
    struct bpf_lost lost; /* as of the last tick */
};

static struct bpf_source *self_of(struct source *source)
{
    return (struct bpf_source *)source;
}

/* The source set hands out no handle that was closed: a handle is the pointer. */
static struct bpf_handle *handle_of(uint64_t handle)
{
    return (struct bpf_handle *)(uintptr_t)handle;
}

bool bpf_serves(enum group group)
{
    switch (group) {
    case GROUP_CORE:
    case GROUP_STALLS:
    case GROUP_TRAFFIC:
    case GROUP_FILLS:
    case GROUP_SOURCES:
    case GROUP_IN_FLIGHT:
    case GROUP_MISSES:
    case GROUP_CPI:
    case GROUP_DELAYS:
        return true;
    default:
        return false;
    }
}

/* ---- counting ---- */

/* What there is only one of: the program that counts a group first counts delays beside it. */
static int begin_delays(struct bpf_source *self, struct bpf_counter *counter)
{
    self->needs.delays = false;
    if (self->delays || !bpf_set_counts_delays(counter->set))
        return 0;
    self->owners = calloc(counter->slots.n, sizeof *self->owners);
    self->pairs = calloc(counter->n_events, BPF_PAIRS * sizeof *self->pairs);
    if (!self->owners || !self->pairs)
        return -ENOMEM;
    self->delays = counter;
    return 0;
}

/* With ticks, the privileges to load are gone. What was refused before stays so, for that cause. */
static int load(struct bpf_source *self, enum group group, struct verdict *why)
{
    struct verdict *refused = &self->refused[group];
    if (!self->ticks) {
        int err = bpf_counter_new(&self->context, &self->ladder, &self->cpus, group, &self->needs,
                                  &self->counters[group], why);
        if (!err)
            err = begin_delays(self, self->counters[group]);
        *refused = *why;
        return err;
    }
    *why = *refused;
    if (why->reason == REASON_OK)
        verdict_set(why, REASON_NO_PERMISSION,
                    "group %s: a BPF program can be loaded at the start only: restart the exporter",
                    group_descs[group].name);
    return -EPERM;
}

static int check_delays(const struct bpf_source *self, struct verdict *why)
{
    if (self->delays)
        return 0;
    if (!self->needs.task.waits_at)
        verdict_set(why, REASON_NO_DEVICE,
                    "how long containers wait for CPUs is not counted: this kernel's tasks do not "
                    "say it (CONFIG_SCHED_INFO), or it does not say where (CONFIG_DEBUG_INFO_BTF), "
                    "or lets no program read it (lockdown)");
    else
        verdict_set(why, REASON_NO_DEVICE,
                    "how long containers wait for CPUs is counted beside their events only, and "
                    "none of these is counted");
    return -ENODEV;
}

static int check(struct bpf_source *self, enum scope_kind kind, enum group group,
                 struct verdict *why)
{
    verdict_clear(why);
    if (kind == SCOPE_CGROUP && group == GROUP_DELAYS)
        return check_delays(self, why);
    if (kind != SCOPE_CGROUP || !bpf_serves(group)) {
        verdict_set(why, REASON_NO_DEVICE, "BPF counts no group %s here", group_descs[group].name);
        return -ENODEV;
    }
    int err = perf_ladder_check(&self->ladder, kind, group, why);
    if (err || self->counters[group])
        return err;
    return load(self, group, why);
}

static bool bpf_check(struct source *source, enum scope_kind kind, enum group group,
                      struct verdict *why)
{
    return check(self_of(source), kind, group, why) == 0;
}

static void explain_cgroup(const struct scope *scope, int err, struct verdict *why)
{
    if (err == -EINVAL)
        verdict_set(why, REASON_NO_DEVICE,
                    "cgroup %s is not of v2, where alone BPF counts: use --source=perf",
                    scope->key);
    else if (err == -ENOTSUP)
        verdict_set(why, REASON_NO_DEVICE,
                    "cgroup %s lies deeper than %d levels: use "
                    "--source=perf",
                    scope->key, BPF_LEVELS_MAX);
    else
        verdict_set(why, REASON_NO_DEVICE, "cgroup %s: %s", scope->key, strerror(-err));
}

static uint64_t waited_ns(const struct bpf_handle *handle)
{
    return handle->has_slot ? bpf_set_waited(handle->counter->set, handle->slot) : handle->kept_ns;
}

static void find_changed(struct bpf_handle *handle)
{
    if (handle->has_slot)
        bpf_set_take_changed(handle->counter->set, handle->slot, handle->rows.changed);
    bpf_rows_find(&handle->rows);
}

static void leave_slot(struct bpf_source *self, struct bpf_handle *handle)
{
    if (handle->user == BPF_DELAYS)
        self->owners[handle->slot] = 0;
    bpf_counter_remove(handle->counter, handle->slot, handle->user);
    handle->has_slot = false;
}

/* Without memory, or in the midst of a writing, it has its slot until it is closed. */
static void keep(struct bpf_source *self, struct bpf_handle *handle)
{
    struct bpf_rows *rows = &handle->rows;
    int err = 0;
    if (handle->user == BPF_COUNTS)
        find_changed(handle);
    struct bpf_cell *kept = calloc(rows->n + 1, sizeof *kept);
    if (!kept)
        return;
    for (size_t cpu = 0; cpu < rows->possible && !err; cpu++)
        if (rows->row_of[cpu])
            err = bpf_set_read(handle->counter->set, handle->slot, (int)cpu,
                               &kept[rows->row_of[cpu] - 1]);
    if (err) {
        free(kept);
        return;
    }
    handle->kept = kept;
    handle->kept_ns = waited_ns(handle);
    leave_slot(self, handle);
}

/* Of one that was dropped while it lived the descriptor may be another's by now: whatever that
 * says, its group is to be closed. */
static bool has_ended(const struct bpf_handle *handle)
{
    return faccessat(handle->cgroup_fd, "cgroup.procs", F_OK, 0) != 0 && errno == ENOENT;
}

/* The counts of those that have ended, and are still to be read, leave the table. */
static void make_room(struct bpf_source *self, const struct bpf_counter *counter)
{
    for (struct bpf_handle *at = LIST_FIRST(&self->handles); at; at = LIST_NEXT(at, all))
        if (at->counter == counter && at->has_slot && has_ended(at))
            keep(self, at);
}

static int take_slot(struct bpf_source *self, struct bpf_handle *handle, const struct scope *scope,
                     struct verdict *why)
{
    struct bpf_cgroup cgroup;
    int err = bpf_cgroup_of(scope->cgroup_fd, &cgroup);
    if (err) {
        explain_cgroup(scope, err, why);
        return err;
    }
    err = bpf_counter_add(handle->counter, &cgroup, handle->user, &handle->slot);
    if (err == -ENOSPC) {
        make_room(self, handle->counter);
        err = bpf_counter_add(handle->counter, &cgroup, handle->user, &handle->slot);
    }
    if (err)
        verdict_set(why, REASON_NO_DEVICE, "no room for cgroup %s in the program's table: %s",
                    scope->key, strerror(-err));
    handle->has_slot = err == 0;
    return err;
}

static void free_handle(struct bpf_handle *handle)
{
    bpf_rows_release(&handle->rows);
    free(handle->kept);
    free(handle);
}

static int bpf_open(struct source *source, const struct scope *scope, enum group group,
                    uint64_t *handle, struct verdict *why)
{
    struct bpf_source *self = self_of(source);
    int err = check(self, scope->kind, group, why);
    struct bpf_counter *counter = group == GROUP_DELAYS ? self->delays : self->counters[group];
    if (!err)
        err = bpf_counter_start(counter, why);
    perf_fd_account(&self->context);
    if (err)
        return err;
    struct bpf_handle *opened = calloc(1, sizeof *opened);
    if (!opened || bpf_rows_init(&opened->rows, counter->n_events) != 0) {
        free(opened);
        verdict_set(why, REASON_NO_DEVICE, "out of memory");
        return -ENOMEM;
    }
    opened->counter = counter;
    opened->user = group == GROUP_DELAYS ? BPF_DELAYS : BPF_COUNTS;
    opened->cgroup_fd = scope->cgroup_fd;
    err = take_slot(self, opened, scope, why);
    if (err) {
        free_handle(opened);
        return err;
    }
    /* It may have been another handle's of this container. */
    for (size_t cpu = 0; cpu < counter->n_events; cpu++)
        if (bpf_set_has_run(counter->set, opened->slot, (int)cpu))
            opened->rows.changed[cpu / 64] |= UINT64_C(1) << cpu % 64;
    if (opened->user == BPF_DELAYS) {
        self->owners[opened->slot] = scope->owner;
        opened->opened_ns = clock_mono_ns();
        opened->base_ns = waited_ns(opened);
    }
    LIST_INSERT_HEAD(&self->handles, opened, all);
    *handle = (uint64_t)(uintptr_t)opened;
    return 0;
}

/* A CPU on which it runs for the first time after the flush has its row a tick later. */
static size_t bpf_width(struct source *source, uint64_t handle)
{
    (void)source;
    struct bpf_handle *at = handle_of(handle);
    if (at->user == BPF_DELAYS)
        return 1;
    find_changed(at);
    return bpf_rows_room(&at->rows);
}

static int read_delays(const struct bpf_handle *at, struct reading *out)
{
    if (out->cap < 1)
        return -ENOSPC;
    struct reading_row *row = reading_row(out, 0);
    uint64_t passed_ns = clock_mono_ns() - at->opened_ns;
    *row = (struct reading_row){
        .cpu = -1, .present = 1, .enabled_ns = passed_ns, .running_ns = passed_ns};
    row->count[0] = waited_ns(at) - at->base_ns;
    out->n = 1;
    return 0;
}

static int read_row(const void *context, int cpu, struct reading_row *out)
{
    const struct bpf_handle *at = context;
    struct bpf_cell cell;
    int err = 0;
    if (at->has_slot)
        err = bpf_set_read(at->counter->set, at->slot, cpu, &cell);
    else
        cell = at->kept[at->rows.row_of[cpu] - 1];
    if (err)
        return err;
    *out = (struct reading_row){.cpu = cpu,
                                .present = at->roles,
                                .enabled_ns = cell.enabled_ns,
                                .running_ns = cell.running_ns};
    memcpy(out->count, cell.count, perf_n_roles(at->counter->group) * sizeof *out->count);
    return 0;
}

static int bpf_read(struct source *source, uint64_t handle, struct reading *out)
{
    (void)source;
    struct bpf_handle *at = handle_of(handle);
    if (at->user == BPF_DELAYS)
        return read_delays(at, out);
    if (at->roles != at->counter->roles) {
        at->roles = at->counter->roles;
        bpf_rows_renew(&at->rows);
    }
    return bpf_rows_read(&at->rows, read_row, at, out);
}

static void bpf_close(struct source *source, uint64_t handle)
{
    struct bpf_handle *at = handle_of(handle);
    if (at->has_slot)
        leave_slot(self_of(source), at);
    LIST_REMOVE(at, all);
    free_handle(at);
}

/* ---- the tick ---- */

static void report(struct bpf_source *self, const char *doing, size_t failures, int err)
{
    struct verdict why;
    if (!failures)
        return;
    perf_explain(err, doing, PERF_PARANOID_UNKNOWN, &why);
    log_warn(self->context.log, "bpf", "%zu CPUs do not count: %s", failures, why.words);
}

static void change_rung(struct bpf_source *self, struct bpf_counter *counter)
{
    int err = 0;
    size_t failures = bpf_counter_reopen(counter, self->ladder.groups[counter->group].roles, &err);
    report(self, "opening counters again with other events", failures, err);
}

static void sync_cpus(struct bpf_source *self, struct bpf_counter *counter)
{
    int err = 0;
    size_t failures = bpf_counter_sync(counter, &err);
    report(self, "opening counters on a CPU that came online", failures, err);
}

static void begin_group(struct bpf_source *self, struct bpf_counter *counter, bool changed,
                        const struct tick *tick)
{
    if (changed || counter->retry)
        sync_cpus(self, counter);
    bool failed = counter->retry;
    bpf_counter_flush(counter);
    bpf_counter_account(counter);
    if (counter->retry && !failed) /* a CPU was away since the tick before: at once */
        sync_cpus(self, counter);
    if (perf_ladder_tick(&self->ladder, counter->group) ||
        perf_ladder_climb(&self->ladder, counter->group, tick->mono_ns))
        change_rung(self, counter);
}

/* Tasks are moved as programs start: that is counted, and no news. */
static void report_lost(struct bpf_source *self)
{
    struct bpf_lost now = {0};
    for (int i = 0; i < GROUP_COUNT; i++) {
        if (!self->counters[i])
            continue;
        struct bpf_lost lost = bpf_set_lost(self->counters[i]->set);
        now.unread += lost.unread;
        now.moved += lost.moved;
    }
    if (now.unread > self->lost.unread)
        log_warn(self->context.log, "bpf",
                 "%llu times since the tick before, events could not be read: what was counted "
                 "meanwhile is nobody's",
                 (unsigned long long)(now.unread - self->lost.unread));
    self->lost = now;
}

/* As the flush left them, before their slots are others'. */
static void take_pairs(struct bpf_source *self)
{
    self->n_pairs = 0;
    for (size_t cpu = 0; self->delays && cpu < self->delays->n_events; cpu++)
        if (self->delays->events[cpu].flushed)
            self->n_pairs +=
                bpf_set_take_pairs(self->delays->set, (int)cpu, self->pairs + self->n_pairs);
}

static uint64_t owner_of(const struct bpf_source *self, uint32_t slot_and_1)
{
    return slot_and_1 && slot_and_1 <= self->delays->slots.n ? self->owners[slot_and_1 - 1] : 0;
}

static size_t bpf_takings(struct source *source, struct cpu_taking *out, size_t cap)
{
    struct bpf_source *self = self_of(source);
    size_t n = 0;
    for (size_t i = 0; i < self->n_pairs && n < cap; i++) {
        const struct bpf_pair *pair = &self->pairs[i];
        uint64_t from = owner_of(self, pair->from);
        if (from)
            out[n++] =
                (struct cpu_taking){.from = from, .by = owner_of(self, pair->by), .ns = pair->ns};
    }
    self->n_pairs = 0;
    return n;
}

static int bpf_begin(struct source *source, const struct tick *tick)
{
    struct bpf_source *self = self_of(source);
    bool changed = false;
    self->ticks = true;
    int err = perf_cpus_refresh(&self->cpus, &changed);
    for (int i = 0; i < GROUP_COUNT; i++)
        if (self->counters[i])
            begin_group(self, self->counters[i], changed, tick);
    take_pairs(self);
    report_lost(self);
    perf_fd_account(&self->context);
    return err;
}

static size_t bpf_open_counters(struct source *source)
{
    return self_of(source)->context.open_counters;
}

static uint64_t bpf_unread(struct source *source)
{
    const struct bpf_source *self = self_of(source);
    return self->lost.unread + self->lost.moved;
}

static void bpf_free(struct source *source)
{
    struct bpf_source *self = self_of(source);
    for (int i = 0; i < GROUP_COUNT; i++)
        bpf_counter_free(self->counters[i]);
    perf_fd_account(&self->context);
    free(self->owners);
    free(self->pairs);
    perf_ladder_release(&self->ladder);
    perf_cpus_release(&self->cpus);
    free(self);
}

static const struct source_ops bpf_ops = {
    .name = "bpf",
    .check = bpf_check,
    .open = bpf_open,
    .width = bpf_width,
    .begin = bpf_begin,
    .read = bpf_read,
    .close = bpf_close,
    .takings = bpf_takings,
    .open_counters = bpf_open_counters,
    .unread = bpf_unread,
    .free = bpf_free,
};

size_t bpf_source_groups(const struct source *source)
{
    const struct bpf_source *self = (const struct bpf_source *)source;
    size_t n = 0;
    for (int i = 0; i < GROUP_COUNT; i++)
        n += self->counters[i] != NULL;
    return n;
}

static size_t most_roles(void)
{
    size_t most = 0;
    for (int i = 0; i < GROUP_COUNT; i++)
        if (bpf_serves((enum group)i) && perf_n_roles((enum group)i) > most)
            most = perf_n_roles((enum group)i);
    return most;
}

static int try_program(struct bpf_source *self, struct verdict *why)
{
    bool knows_tasks;
    bpf_task_find(self->context.fs, &self->needs.task);
    self->needs.delays = true;
    int err = bpf_counter_try(&self->cpus, most_roles(), &self->needs, &knows_tasks, why);
    if (!err && !knows_tasks) {
        self->needs.task = (struct bpf_task){0};
        log_info(self->context.log, "bpf",
                 "it is not known where the kernel's tasks have their cgroup, or a program may not "
                 "read it: switches between tasks of one cgroup are paid for as well");
    }
    return err;
}

int bpf_source_new(const struct bpf_config *config, struct source **out, struct verdict *why)
{
    struct bpf_source *self = calloc(1, sizeof *self);
    if (!self) {
        verdict_set(why, REASON_NO_DEVICE, "out of memory");
        return -ENOMEM;
    }
    self->source.ops = &bpf_ops;
    self->context = (struct perf_context){
        .fs = config->perf.fs,
        .log = config->perf.log,
        .kernel = config->perf.kernel,
        .table = config->perf.table,
        .file = config->perf.file,
        .no_pmem = config->perf.no_pmem,
        .fd_limit = config->perf.fd_limit,
        .pool = config->perf.pool,
        .said = config->perf.said,
        .for_all = true,
    };
    self->needs.slots = config->containers + BPF_SPARE;
    perf_ladder_init(&self->ladder, &self->context, &self->cpus);
    int err = perf_cpus_init(&self->cpus, config->perf.fs);
    if (err)
        verdict_set(why, REASON_NO_DEVICE, "cannot list CPUs: %s", strerror(-err));
    else
        err = try_program(self, why);
    if (err) {
        bpf_free(&self->source);
        return err;
    }
    *out = &self->source;
    return 0;
}
