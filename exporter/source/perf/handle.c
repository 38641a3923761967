#include "exporter/source/perf/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/source/perf/explain.h"
#include "exporter/source/perf/unit.h"

enum {
    ROW_TIMES = 2, /* enabled and running stand before the counts */
    /* nr, enabled, running, then the counts: what read(2) gives for a group. */
    RAW_TIMES = 3,
    RAW_WORDS = RAW_TIMES + GROUP_MAX_ROLES,
    REFUSED = 1, /* no error: the kernel could not fit a pinned group */
};

static int *row_fds(const struct perf_handle *handle, size_t i)
{
    return handle->fds + i * perf_n_slots(handle->group);
}

static size_t row_words(const struct perf_handle *handle)
{
    return ROW_TIMES + perf_n_roles(handle->group);
}

static uint64_t *row_last(const struct perf_handle *handle, size_t i)
{
    return handle->last + i * row_words(handle);
}

static int grow(void *array, size_t n, size_t size)
{
    void **at = array;
    void *larger = realloc(*at, n * size);
    if (!larger)
        return -ENOMEM;
    *at = larger;
    return 0;
}

static int reserve_rows(struct perf_handle *handle, size_t cap)
{
    size_t slots = perf_n_slots(handle->group), words = row_words(handle);
    if (cap <= handle->cap)
        return 0;
    if (grow(&handle->rows, cap, sizeof *handle->rows) ||
        grow(&handle->fds, cap, slots * sizeof *handle->fds) ||
        grow(&handle->last, cap, words * sizeof *handle->last) ||
        (handle->base && grow(&handle->base, cap, words * sizeof *handle->base)))
        return -ENOMEM;
    handle->cap = cap;
    return 0;
}

static int add_row(struct perf_handle *handle, int cpu, int on)
{
    size_t i = handle->n, words = row_words(handle);
    int err = reserve_rows(handle, i + 1);
    if (err)
        return err;
    handle->rows[i] = (struct perf_row){.cpu = cpu, .on = on};
    for (size_t slot = 0; slot < perf_n_slots(handle->group); slot++)
        row_fds(handle, i)[slot] = -1;
    memset(row_last(handle, i), 0, words * sizeof *handle->last);
    if (handle->base)
        memset(handle->base + i * words, 0, words * sizeof *handle->base);
    handle->n++;
    return 0;
}

static int open_row(struct perf_handles *handles, struct perf_handle *handle, size_t i,
                    const struct encoded_event *const *events, size_t *failed)
{
    struct perf_target target = {
        .pid = handle->pid,
        .cpu = handle->rows[i].on,
        .flags = handle->kind == SCOPE_CGROUP ? PERF_FLAG_PID_CGROUP : 0,
        .user_only = perf_user_only(handle->kind, handle->group),
        /* Else it would wait behind the group of the container that the thread is in, for ever:
         * the kernel lets a CPU's groups in before a task's. It is our own thread and runs a
         * thousandth of the time: those who wait for it meanwhile lose nothing. */
        .pinned = handle->kind == SCOPE_THREAD,
    };
    int err = perf_events_open(handles->context, handle->group, handle->mask, events, &target,
                               row_fds(handle, i), failed);
    if (!err)
        handle->rows[i].open = true;
    return err;
}

/* New events start at 0: the totals handed out so far become the base that they are added to. */
static int keep_totals(struct perf_handle *handle, size_t i)
{
    size_t words = row_words(handle);
    if (!handle->base) {
        handle->base = calloc(handle->cap, words * sizeof *handle->base);
        if (!handle->base)
            return -ENOMEM;
    }
    memcpy(handle->base + i * words, row_last(handle, i), words * sizeof *handle->base);
    return 0;
}

static void close_row(struct perf_handles *handles, struct perf_handle *handle, size_t i)
{
    perf_events_close(handles->context, handle->group, row_fds(handle, i));
    handle->rows[i].open = false;
    handle->rows[i].detached = false;
}

static int reopen_row(struct perf_handles *handles, struct perf_handle *handle, size_t i)
{
    const struct encoded_event *events[GROUP_MAX_ROLES];
    size_t failed;
    perf_events_of_core(handles->ladder, handle->group, events);
    int err = keep_totals(handle, i);
    if (!err)
        err = open_row(handles, handle, i, events, &failed);
    if (err == -ENODEV)
        handles->recheck = true; /* it has just gone offline */
    /* The group of a container that ended is not opened again, which is no failure. */
    if (err == -ENODEV || (handle->kind == SCOPE_CGROUP && !perf_cgroup_alive(handle->pid)))
        return 0;
    return err;
}

/*
 * A CPU that goes offline has its groups taken apart: every event keeps its count, but the leader
 * no longer reports the members.
 */
static int read_members(struct perf_handles *handles, const struct perf_handle *handle, size_t i,
                        uint64_t *raw)
{
    const struct perf_kernel *kernel = handles->context->kernel;
    size_t k = 0;
    for (size_t slot = 0; slot < perf_n_slots(handle->group); slot++) {
        uint64_t one[RAW_TIMES + 1];
        if (!perf_in(handle->mask, slot))
            continue;
        ssize_t got = kernel->read(kernel->context, row_fds(handle, i)[slot], one, sizeof one);
        if (got != (ssize_t)sizeof one || one[0] != 1)
            return got < 0 ? (int)got : -EIO;
        if (k == 0)
            memcpy(raw, one, RAW_TIMES * sizeof *one);
        raw[RAW_TIMES + k++] = one[RAW_TIMES];
    }
    return 0;
}

/* 0, REFUSED, or -errno. */
static int read_raw(struct perf_handles *handles, struct perf_handle *handle, size_t i,
                    uint64_t *raw)
{
    const struct perf_kernel *kernel = handles->context->kernel;
    size_t n = (size_t)__builtin_popcount(handle->mask);
    int leader = row_fds(handle, i)[__builtin_ctz(handle->mask)];
    ssize_t got = kernel->read(kernel->context, leader, raw, RAW_WORDS * sizeof *raw);
    if (got < 0)
        return (int)got;
    if (got == (ssize_t)((RAW_TIMES + n) * sizeof *raw) && raw[0] == n)
        return 0;
    if (got == 0 && handle->kind == SCOPE_THREAD) {
        handle->refused = handles->recheck = true;
        return REFUSED;
    }
    handle->rows[i].detached = true;
    handles->recheck = true;
    return read_members(handles, handle, i, raw);
}

static uint32_t roles_of(const struct perf_handle *handle)
{
    return handle->mask & ((UINT32_C(1) << perf_n_roles(handle->group)) - 1);
}

/* The counts of a row's roles from what the kernel gave for its slots; base may be NULL. */
static void add_up(const struct perf_handle *handle, const uint64_t *raw, const uint64_t *base,
                   uint64_t *counts)
{
    size_t roles = perf_n_roles(handle->group);
    for (size_t slot = 0; slot < perf_n_slots(handle->group); slot++) {
        if (!perf_in(handle->mask, slot))
            continue;
        if (slot < roles)
            counts[slot] = *raw++ + (base ? base[slot] : 0);
        else
            counts[handle->summand_of[slot - roles]] += *raw++;
    }
}

static int read_row(struct perf_handles *handles, struct perf_handle *handle, size_t i)
{
    uint64_t raw[RAW_WORDS];
    uint64_t *last = row_last(handle, i);
    int err = read_raw(handles, handle, i, raw);
    if (err == REFUSED) {
        /* For how long the kernel does not say: what counts is that it was not running. */
        last[0]++;
        handle->rows[i].present = roles_of(handle);
        return 0;
    }
    if (err)
        return err;
    const uint64_t *base = handle->base ? handle->base + i * row_words(handle) : NULL;
    uint64_t enabled = raw[1] + (base ? base[0] : 0), running = raw[2] + (base ? base[1] : 0);

    /* That a thread's pinned group runs says nothing about those of containers. */
    if (handle->kind != SCOPE_THREAD)
        perf_ladder_account(&handles->ladder->groups[handle->group], enabled - last[0],
                            running - last[1]);
    last[0] = enabled;
    last[1] = running;
    add_up(handle, raw + RAW_TIMES, base ? base + ROW_TIMES : NULL, last + ROW_TIMES);
    handle->rows[i].present = roles_of(handle);
    return 0;
}

int perf_handle_read(struct perf_handles *handles, struct perf_handle *handle, struct reading *out)
{
    size_t roles = perf_n_roles(handle->group), read = 0;
    int err = 0;

    if (out->cap < handle->n)
        return -ENOSPC;
    for (size_t i = 0; i < handle->n; i++) {
        struct reading_row *row = reading_row(out, i);
        const uint64_t *last = row_last(handle, i);
        if (handle->rows[i].open) {
            int row_err = read_row(handles, handle, i);
            if (row_err)
                err = row_err;
            else
                read++;
        }
        row->cpu = handle->rows[i].cpu;
        row->present = handle->rows[i].present;
        row->enabled_ns = last[0];
        row->running_ns = last[1];
        memcpy(row->count, last + ROW_TIMES, roles * sizeof *row->count);
    }
    out->n = handle->n;
    return read > 0 ? 0 : err;
}

int perf_handle_sync(struct perf_handles *handles, struct perf_handle *handle)
{
    int err = 0, row_err;
    if (handle->refused) {
        handle->refused = false;
        uint32_t lower = perf_ladder_below(handles->ladder, handle->group, handle->mask);
        return perf_handle_reopen(handles, handle, lower ? lower : handle->mask, false);
    }
    if (handle->kind != SCOPE_CGROUP && handle->kind != SCOPE_CPU)
        return 0; /* threads move; the kernel moves units by itself */

    for (size_t i = 0; i < handle->n; i++) {
        struct perf_row *row = &handle->rows[i];
        bool online = perf_cpus_has(handles->cpus, row->on);
        if (row->open && !online)
            (void)read_row(handles, handle, i); /* what it counted before it went offline */
        if (row->open && (!online || row->detached))
            close_row(handles, handle, i);
        if (!row->open && online && (row_err = reopen_row(handles, handle, i)))
            err = row_err;
    }
    for (size_t c = 0; c < handles->cpus->n && handle->kind == SCOPE_CGROUP; c++) {
        int cpu = handles->cpus->at[c];
        size_t i = 0;
        while (i < handle->n && handle->rows[i].on != cpu)
            i++;
        if (i < handle->n)
            continue;
        row_err = add_row(handle, cpu, cpu);
        if (!row_err)
            row_err = reopen_row(handles, handle, i);
        if (row_err)
            err = row_err;
    }
    return err;
}

int perf_handle_reopen(struct perf_handles *handles, struct perf_handle *handle, uint32_t mask,
                       bool read)
{
    int err = 0;
    for (size_t i = 0; i < handle->n && read; i++)
        if (handle->rows[i].open)
            (void)read_row(handles, handle, i);
    handle->mask = mask;
    handle->refused = false;
    for (size_t i = 0; i < handle->n; i++) {
        if (!handle->rows[i].open)
            continue;
        close_row(handles, handle, i);
        int row_err = reopen_row(handles, handle, i);
        if (row_err)
            err = row_err;
    }
    return err;
}

/* Adds the rows that a scope has now. */
static int add_rows(struct perf_handles *handles, struct perf_handle *handle, int cpu)
{
    if (handle->kind == SCOPE_THREAD)
        return add_row(handle, -1, -1);
    if (handle->kind == SCOPE_UNIT)
        return add_row(handle, -1, cpu);
    if (handle->kind == SCOPE_CPU)
        return add_row(handle, cpu, cpu);
    int err = reserve_rows(handle, handles->cpus->n);
    for (size_t i = 0; i < handles->cpus->n && !err; i++)
        err = add_row(handle, handles->cpus->at[i], handles->cpus->at[i]);
    return err;
}

/* Opens all rows, or none. A CPU that has just gone offline has none for the moment. */
static int open_rows(struct perf_handles *handles, struct perf_handle *handle,
                     const struct encoded_event *const *events, size_t *failed)
{
    size_t opened = 0;
    int err = handle->n ? 0 : -ENODEV;
    for (size_t i = 0; i < handle->n; i++) {
        err = open_row(handles, handle, i, events, failed);
        if (err == -ENODEV && handle->kind == SCOPE_CGROUP)
            handles->recheck = true;
        else if (err)
            return err;
        else
            opened++;
    }
    return opened ? 0 : err;
}

static int take_scope(struct perf_handle *handle, const struct scope *scope)
{
    handle->pid = -1;
    if (scope->kind == SCOPE_THREAD)
        handle->pid = scope->tid;
    if (scope->kind != SCOPE_CGROUP)
        return 0;
    /* Kept for CPUs that come later; the events hold the cgroup anyway. */
    handle->pid = fcntl(scope->cgroup_fd, F_DUPFD_CLOEXEC, 0);
    return handle->pid < 0 ? -errno : 0;
}

void perf_handles_init(struct perf_handles *handles, struct perf_context *context,
                       struct perf_ladder *ladder, const struct perf_cpus *cpus)
{
    *handles = (struct perf_handles){.context = context, .ladder = ladder, .cpus = cpus};
    handles->end = &handles->first;
}

static void enlist(struct perf_handles *handles, struct perf_handle *handle)
{
    handle->link = handles->end;
    *handles->end = handle;
    handles->end = &handle->next;
}

static void delist(struct perf_handles *handles, struct perf_handle *handle)
{
    *handle->link = handle->next;
    if (handle->next)
        handle->next->link = handle->link;
    else
        handles->end = handle->link;
}

/* A handle with all its rows open, or none: then *failed is the slot whose event did not open. */
static int handle_open(struct perf_handles *handles, const struct scope *scope, enum group group,
                       uint32_t mask, int cpu, const struct encoded_event *const *events,
                       struct perf_handle **out, size_t *failed)
{
    struct perf_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return -ENOMEM;
    *handle = (struct perf_handle){.kind = scope->kind, .group = group, .mask = mask};
    enlist(handles, handle);
    int err = take_scope(handle, scope);
    handles->context->cgroup_handles += scope->kind == SCOPE_CGROUP;
    if (!err)
        err = add_rows(handles, handle, cpu);
    if (!err)
        err = open_rows(handles, handle, events, failed);
    if (err)
        perf_handle_free(handles, handle);
    else
        *out = handle;
    return err;
}

int perf_handle_new(struct perf_handles *handles, const struct scope *scope, enum group group,
                    struct perf_handle **out, struct verdict *why)
{
    struct perf_context *context = handles->context;
    struct perf_unit_events unit = {.mask = 0};
    const struct encoded_event *events[GROUP_MAX_ROLES];
    uint32_t mask = handles->ladder->groups[group].roles;
    size_t failed = 0;
    int cpu = scope->cpu, err = 0;

    if (scope->kind == SCOPE_UNIT) {
        err = perf_unit_events_init(&unit, context, handles->cpus, scope->unit, group,
                                    scope->channel, why);
        perf_unit_events_of(&unit, events);
        mask = unit.mask;
        cpu = unit.cpu;
    } else {
        perf_events_of_core(handles->ladder, group, events);
    }
    if (!err)
        err = perf_fd_budget(context, group, (size_t)__builtin_popcount(mask),
                             scope->kind == SCOPE_CGROUP ? handles->cpus->n : 1, why);
    if (!err) {
        err = handle_open(handles, scope, group, mask, cpu, events, out, &failed);
        if (err) {
            err = perf_open_error(scope, err);
            if (failed >= perf_n_roles(group))
                failed = unit.summand_of[failed - perf_n_roles(group)];
            perf_explain_open(context, scope, group, events, failed, err, why);
        } else {
            memcpy((*out)->summand_of, unit.summand_of, sizeof unit.summand_of);
        }
    }
    perf_unit_events_release(&unit);
    return err;
}

void perf_handle_free(struct perf_handles *handles, struct perf_handle *handle)
{
    if (!handle)
        return;
    delist(handles, handle);
    for (size_t i = 0; i < handle->n; i++)
        if (handle->rows[i].open)
            close_row(handles, handle, i);
    if (handle->kind == SCOPE_CGROUP) {
        handles->context->cgroup_handles--;
        if (handle->pid >= 0)
            close(handle->pid);
    }
    free(handle->rows);
    free(handle->fds);
    free(handle->last);
    free(handle->base);
    free(handle);
}
