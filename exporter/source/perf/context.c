#include "exporter/source/perf/context.h"

#include <errno.h>
#include <stdint.h>

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
