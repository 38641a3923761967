#include "exporter/source/bpf/counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/perf/explain.h"

/* ---- the events of a CPU ---- */

/* *failed is a role, or GROUP_MAX_ROLES. */
static int open_events(struct bpf_counter *counter, int cpu, size_t *failed)
{
    const struct encoded_event *encoded[GROUP_MAX_ROLES];
    struct bpf_events *events = &counter->events[cpu];
    const struct perf_target target = {.pid = -1, .cpu = cpu};

    perf_events_of_core(counter->ladder, counter->group, encoded);
    int err = perf_events_open(counter->context, counter->group, counter->roles, encoded, &target,
                               events->fds, failed);
    if (err)
        return err;
    *failed = GROUP_MAX_ROLES;
    err = bpf_set_begin(counter->set, cpu, events->fds);
    if (err) {
        perf_events_close(counter->context, counter->group, events->fds);
        return err;
    }
    events->open = true;
    events->enabled_ns = events->running_ns = 0;
    events->flushed = false;
    (void)bpf_set_flush(counter->set, cpu); /* the first reading, with which counting begins */
    return 0;
}

static void shut(struct bpf_counter *counter, int cpu)
{
    if (!counter->events[cpu].open)
        return;
    bpf_set_end(counter->set, cpu);
    perf_events_close(counter->context, counter->group, counter->events[cpu].fds);
    counter->events[cpu].open = false;
}

/* ---- all CPUs ---- */

static struct bpf_sizes sizes_of(const struct perf_cpus *cpus, size_t n_roles,
                                 const struct bpf_needs *needs)
{
    return (struct bpf_sizes){.roles = n_roles,
                              .slots = needs->slots,
                              .cpus = (size_t)cpus->possible,
                              .task = needs->task,
                              .delays = needs->delays};
}

int bpf_counter_try(const struct perf_cpus *cpus, size_t n_roles, const struct bpf_needs *needs,
                    bool *knows_tasks, struct verdict *why)
{
    const struct bpf_sizes sizes = sizes_of(cpus, n_roles, needs);
    struct bpf_set *set = NULL;
    *knows_tasks = false;
    if (cpus->n == 0) {
        verdict_set(why, REASON_NO_DEVICE, "no CPU is online, as sysfs has it");
        return -ENODEV;
    }
    int err = bpf_set_new(&sizes, &set, why);
    *knows_tasks = !err && bpf_set_knows_tasks(set);
    if (!err)
        err = bpf_set_flush(set, cpus->at[0]);
    if (err && set)
        verdict_set(
            why, REASON_NO_DEVICE,
            "the kernel does not run a BPF program on one CPU (%s): it takes Linux 5.14, on "
            "arm64 5.18",
            strerrorname_np(-err));
    bpf_set_free(set);
    return err;
}

int bpf_counter_new(struct perf_context *context, struct perf_ladder *ladder,
                    const struct perf_cpus *cpus, enum group group, const struct bpf_needs *needs,
                    struct bpf_counter **out, struct verdict *why)
{
    const struct bpf_sizes sizes = sizes_of(cpus, perf_n_roles(group), needs);
    struct bpf_counter *counter = calloc(1, sizeof *counter);
    int err = -ENOMEM;
    if (!counter)
        goto fail;
    *counter = (struct bpf_counter){.context = context,
                                    .ladder = ladder,
                                    .cpus = cpus,
                                    .group = group,
                                    .n_events = (size_t)cpus->possible};
    counter->events = calloc(counter->n_events, sizeof *counter->events);
    if (!counter->events || bpf_slots_init(&counter->slots, sizes.slots) != 0)
        goto fail;
    for (size_t cpu = 0; cpu < counter->n_events; cpu++)
        memset(counter->events[cpu].fds, -1, sizeof counter->events[cpu].fds);
    err = bpf_set_new(&sizes, &counter->set, why);
    if (err) {
        bpf_counter_free(counter);
        return err;
    }
    if (sizes.task.css_set_at && !bpf_set_knows_tasks(counter->set))
        log_info(context->log, "bpf",
                 "the kernel does not let programs read its tasks any more: switches between tasks "
                 "of one cgroup are paid for as well");
    context->shared += bpf_set_descriptors(counter->set);
    *out = counter;
    return 0;
fail:
    verdict_set(why, REASON_NO_DEVICE, "cannot count by BPF: %s", strerror(-err));
    bpf_counter_free(counter);
    return err;
}

static void stop(struct bpf_counter *counter)
{
    for (size_t cpu = 0; cpu < counter->n_events && counter->events; cpu++)
        shut(counter, (int)cpu);
}

void bpf_counter_free(struct bpf_counter *counter)
{
    if (!counter)
        return;
    stop(counter);
    if (counter->set)
        counter->context->shared -= bpf_set_descriptors(counter->set);
    bpf_set_free(counter->set);
    bpf_slots_release(&counter->slots);
    free(counter->events);
    free(counter);
}

static bool may_be(const struct bpf_counter *counter, int cpu)
{
    return cpu >= 0 && (size_t)cpu < counter->n_events;
}

/* One that came online, and was not among those that the kernel said there can be. */
static void warn_beyond(struct bpf_counter *counter)
{
    const struct perf_cpus *cpus = counter->cpus;
    int last = cpus->n ? cpus->at[cpus->n - 1] : 0;
    if (may_be(counter, last) || counter->warned_beyond)
        return;
    counter->warned_beyond = true;
    log_warn(counter->context->log, "bpf",
             "CPU %d is online, which there could not be at the start: CPUs from %zu on are not "
             "counted before the exporter is started again",
             last, counter->n_events);
}

static void set_roles(struct bpf_counter *counter, uint32_t roles)
{
    counter->roles = roles;
    bpf_set_roles(counter->set, roles);
}

static void explain_start(struct bpf_counter *counter, size_t failed, int err, struct verdict *why)
{
    const struct encoded_event *encoded[GROUP_MAX_ROLES];
    const struct scope scope = {.kind = SCOPE_CPU, .key = "CPU", .cgroup_fd = -1};
    perf_events_of_core(counter->ladder, counter->group, encoded);
    if (failed < perf_n_roles(counter->group))
        perf_explain_open(counter->context, &scope, counter->group, encoded, failed, err, why);
    else
        verdict_set(why, REASON_NO_DEVICE, "the BPF program takes no events: %s", strerror(-err));
}

int bpf_counter_start(struct bpf_counter *counter, struct verdict *why)
{
    if (counter->started)
        return 0;
    uint32_t roles = counter->ladder->groups[counter->group].roles;
    int err = perf_fd_budget(counter->context, counter->group, (size_t)__builtin_popcount(roles),
                             counter->cpus->n, why);
    if (err)
        return err;
    set_roles(counter, roles);
    warn_beyond(counter);
    size_t failed = GROUP_MAX_ROLES;
    for (size_t i = 0; i < counter->cpus->n && !err; i++) {
        int cpu = counter->cpus->at[i];
        err = may_be(counter, cpu) ? open_events(counter, cpu, &failed) : 0;
        if (err == -ENODEV) { /* it has just gone offline, and may be back before that is noticed */
            counter->retry = true;
            err = 0;
        }
    }
    if (err) {
        explain_start(counter, failed, err, why);
        stop(counter);
        return err;
    }
    counter->started = true;
    return 0;
}

size_t bpf_counter_sync(struct bpf_counter *counter, int *err)
{
    size_t failures = 0, failed;
    counter->retry = false;
    warn_beyond(counter);
    for (size_t i = 0; i < counter->n_events && counter->started; i++) {
        int cpu = (int)i;
        bool online = perf_cpus_has(counter->cpus, cpu);
        if (!online)
            shut(counter, cpu);
        if (!online || counter->events[cpu].open)
            continue;
        int opened = open_events(counter, cpu, &failed);
        counter->retry |= opened != 0;
        if (opened && opened != -ENODEV) {
            failures++;
            *err = opened;
        }
    }
    return failures;
}

size_t bpf_counter_reopen(struct bpf_counter *counter, uint32_t roles, int *err)
{
    if (!counter->started)
        return 0;
    bpf_counter_flush(counter);
    stop(counter);
    set_roles(counter, roles);
    return bpf_counter_sync(counter, err);
}

/* -ENXIO: the CPU has just gone offline. */
static void warn_unflushed(struct bpf_counter *counter, int cpu, int err)
{
    if (err == -ENXIO || counter->warned)
        return;
    counter->warned = true;
    log_warn(counter->context->log, "bpf",
             "CPU %d does not run the program before a tick (%s): a task is counted once it has "
             "left its CPU, and slots of containers that ended are not used again meanwhile",
             cpu, strerrorname_np(-err));
}

/* Before a flush, so that the program has let go of the map's elements when they are used again. */
static void forget(struct bpf_counter *counter)
{
    uint64_t id;
    while (bpf_slots_forget(&counter->slots, &id))
        bpf_set_untell(counter->set, id);
}

void bpf_counter_flush(struct bpf_counter *counter)
{
    bool everywhere = true;
    forget(counter);
    for (size_t cpu = 0; cpu < counter->n_events; cpu++) {
        struct bpf_events *events = &counter->events[cpu];
        int err = events->open ? bpf_set_flush(counter->set, (int)cpu) : 0;
        events->flushed = events->open && !err;
        if (!err || !perf_cpus_has(counter->cpus, (int)cpu))
            continue;
        everywhere = false;
        warn_unflushed(counter, (int)cpu, err);
    }
    if (everywhere)
        bpf_slots_settle(&counter->slots);
}

void bpf_counter_account(struct bpf_counter *counter)
{
    for (size_t cpu = 0; cpu < counter->n_events; cpu++) {
        struct bpf_events *events = &counter->events[cpu];
        uint64_t enabled_ns, running_ns;
        if (!events->open)
            continue;
        bpf_set_clocks(counter->set, (int)cpu, &enabled_ns, &running_ns);
        if (events->flushed && enabled_ns == events->enabled_ns) {
            shut(counter, (int)cpu);
            counter->retry = true;
            continue;
        }
        perf_ladder_account(&counter->ladder->groups[counter->group],
                            enabled_ns - events->enabled_ns, running_ns - events->running_ns);
        events->enabled_ns = enabled_ns;
        events->running_ns = running_ns;
    }
}

/* ---- containers ---- */

int bpf_counter_add(struct bpf_counter *counter, const struct bpf_cgroup *cgroup,
                    enum bpf_user user, uint32_t *slot)
{
    bool shared;
    int err = bpf_slots_take(&counter->slots, cgroup, user, slot, &shared);
    if (err == -ENOSPC) { /* more came and went within a tick than there is room for */
        bpf_counter_flush(counter);
        err = bpf_slots_take(&counter->slots, cgroup, user, slot, &shared);
    }
    if (err || shared)
        return err;
    bpf_set_levels(counter->set, bpf_slots_levels(&counter->slots));
    err = bpf_set_tell(counter->set, cgroup->id, *slot);
    if (err)
        bpf_slots_leave(&counter->slots, *slot, user);
    return err;
}

void bpf_counter_remove(struct bpf_counter *counter, uint32_t slot, enum bpf_user user)
{
    bpf_slots_leave(&counter->slots, slot, user);
    bpf_set_levels(counter->set, bpf_slots_levels(&counter->slots));
}
