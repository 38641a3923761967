#include "collectors/parts/container_group.h"

#include <errno.h>

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
