#include "collectors/parts/container_group.h"

#include <errno.h>
#include <stdlib.h>

int container_group_open(struct source_set *sources, struct collector_status *status,
                         const struct container *container, enum group group, uint64_t owner,
                         group_handle *handle, struct verdict *why)
{
    const struct scope scope = {
        .kind = SCOPE_CGROUP,
        .key = container->key,
        .cgroup_fd = container->cgroup_fd,
        .cgroup_path = container->path,
        .container_id = container->id,
        .pod_uid = container->pod_uid,
        .owner = owner,
    };
    int err = source_set_open(sources, &scope, group, handle, why);
    if (err && why->reason != REASON_NO_GROUPS) /* which is nobody's failure */
        status->open_failures[why->reason]++;
    return err;
}

bool container_group_lacking(struct collector_status *status, int err, const struct verdict *why)
{
    if (err == -ESRCH)
        return false;
    bool first = status->verdict.reason != why->reason;
    status->verdict = *why;
    return first;
}

void *lane_base_new(size_t bytes, const struct container *container, enum group group)
{
    struct lane_base *lane = calloc(1, bytes);
    if (lane)
        *lane = (struct lane_base){.container = container, .group = group};
    return lane;
}

int lane_base_open(struct lane_base *lane, const struct collector_env *env,
                   struct collector_status *status, const char *collector, const char *lacks)
{
    struct verdict why;
    int err = container_group_open(env->sources, status, lane->container, lane->group, 0,
                                   &lane->handle, &why);
    lane->opened |= err == 0;
    if (err && container_group_lacking(status, err, &why))
        log_warn(env->log, collector, "%s %s: %s", lane->container->path, lacks, why.words);
    return err;
}

void lane_base_close(struct lane_base *lane, struct source_set *sources)
{
    if (lane->handle)
        source_set_close(sources, lane->handle);
    lane->handle = 0;
}

int lane_base_named(const struct lane_base *lane, const struct collector_env *env,
                    const char *collector, int err)
{
    if (err)
        log_warn(env->log, collector, "no series for %s: error %d", lane->container->path, -err);
    return err;
}

bool lane_base_is_open(const void *lane)
{
    return ((const struct lane_base *)lane)->handle != 0;
}

void lane_base_end(void *lane)
{
    ((struct lane_base *)lane)->ending = true;
}
