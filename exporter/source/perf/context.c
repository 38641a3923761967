#include "exporter/source/perf/context.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

/* Everything else needs descriptors too: connections, cgroup directories, files. */
static size_t fd_limit(const struct perf_context *context)
{
    struct rlimit limit;
    if (context->fd_limit)
        return context->fd_limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t all = (size_t)limit.rlim_cur, reserve = all / 4 < 512 ? all / 4 : 512;
    return all - reserve;
}

int perf_fd_budget(const struct perf_context *context, enum group group, size_t events, size_t cpus,
                   struct verdict *why)
{
    /* A container's directory is open twice: by its finder, and here. */
    size_t used = context->open_counters + 2 * context->cgroup_handles;
    size_t limit = fd_limit(context), need = events * cpus;
    if (used <= limit && need <= limit - used)
        return 0;
    verdict_set(why, REASON_FD_LIMIT,
                "group %s needs %zu more file descriptors (%zu events on each of %zu CPUs, for "
                "every container), but %zu of the %zu for counters are in use: raise LimitNOFILE= "
                "or ulimit -n, or lower --containers.max",
                group_descs[group].name, need, events, cpus, used, limit);
    return -EMFILE;
}
