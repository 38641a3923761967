#include "exporter/source/perf/group.h"

#include <errno.h>

/* ---- the context ---- */

void perf_fd_account(struct perf_context *context)
{
    size_t held = context->open_counters + context->cgroup_handles + context->shared;
    if (context->pool) /* of which other contexts have their part, too */
        context->pool->counters += held - context->told;
    context->told = held;
}

int perf_fd_budget(struct perf_context *context, enum group group, size_t events, size_t cpus,
                   struct verdict *why)
{
    perf_fd_account(context);
    size_t used = context->pool ? context->pool->counters : context->told;
    size_t limit = context->fd_limit ? context->fd_limit : SIZE_MAX, need = events * cpus;
    if (context->pool && context->pool->limit)
        limit = context->pool->limit;
    if (used <= limit && need <= limit - used) {
        if (context->pool) /* and the directory of a container */
            descriptor_pool_make_room(context->pool, need + 1);
        return 0;
    }
    verdict_set(
        why, REASON_FD_LIMIT,
        "group %s needs %zu more file descriptors (%zu events on each of %zu CPUs), but "
        "%zu of the %zu for counters are in use: raise LimitNOFILE= or ulimit -n, and the memory "
        "limit if there is one%s",
        group_descs[group].name, need, events, cpus, used, limit,
        context->for_all ? "" : ", or lower --containers.max");
    return -EMFILE;
}

static struct perf_event_attr attributes(const struct encoded_event *event, enum group group,
                                         bool leader, const struct perf_target *target)
{
    struct perf_event_attr attr = event->attr;
    attr.size = sizeof attr;
    attr.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    /* A group starts when its leader does: until it is complete nothing counts, so that no role
     * is ahead of another. */
    attr.disabled = leader;
    attr.pinned = leader && target->pinned;
    if (target->user_only && !event->software)
        attr.exclude_kernel = 1;
    /* As sampler.c samples it: the samples are to be a share of what is counted. */
    if (group == GROUP_STORES || group == GROUP_LOADS)
        attr.exclude_kernel = attr.exclude_hv = attr.exclude_guest = 1;
    return attr;
}

int perf_events_open(struct perf_context *context, enum group group, uint32_t mask,
                     const struct encoded_event *const *events, const struct perf_target *target,
                     int *fds, size_t *failed)
{
    const struct perf_kernel *kernel = context->kernel;
    int leader = -1, err = 0;

    for (size_t i = 0; i < perf_n_slots(group); i++)
        fds[i] = -1;
    for (size_t i = 0; i < perf_n_slots(group); i++) {
        if (!perf_in(mask, i))
            continue;
        struct perf_event_attr attr = attributes(events[i], group, leader < 0, target);
        int fd = kernel->event_open(kernel->context, &attr, target->pid, target->cpu, leader,
                                    target->flags | PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) {
            *failed = i;
            err = fd;
            goto fail;
        }
        context->open_counters++;
        fds[i] = fd;
        if (leader < 0) {
            leader = fd;
            *failed = i;
        }
    }
    err = kernel->enable(kernel->context, leader);
    if (err)
        goto fail;
    return 0;
fail:
    perf_events_close(context, group, fds);
    return err;
}

void perf_events_close(struct perf_context *context, enum group group, int *fds)
{
    const struct perf_kernel *kernel = context->kernel;
    /* The leader last: members that lose their leader would go on counting alone. */
    for (size_t i = perf_n_slots(group); i-- > 0;) {
        if (fds[i] < 0)
            continue;
        kernel->close(kernel->context, fds[i]);
        fds[i] = -1;
        context->open_counters--;
    }
}

bool perf_events_software(enum group group, uint32_t mask,
                          const struct encoded_event *const *events)
{
    for (size_t i = 0; i < perf_n_slots(group); i++)
        if (perf_in(mask, i) && !events[i]->software)
            return false;
    return true;
}
