#include "exporter/daemon/sample_owners.h"

#include "exporter/containers/container.h"

static uint64_t owner(void *context, uint64_t cgroup_id)
{
    struct container_owners *owners = context;
    uint32_t slot, gen;
    return cgroup_map_find(owners->map, cgroup_id, &slot, &gen) ? container_tag(slot, gen) : 0;
}

/* By the thread first: of a process whose own first thread has ended v1 shows the root. */
static int cgroup(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t *cgroup_id)
{
    const struct container_owners *owners = context;
    int err = process_cgroup_id(&owners->cgroups, tid, time_ns, cgroup_id);
    return err && tid != pid ? process_cgroup_id(&owners->cgroups, pid, time_ns, cgroup_id) : err;
}

int container_owners_init(struct container_owners *owners, const struct fsroot *fs,
                          struct cgroup_map *map, char *error, size_t error_size)
{
    owners->owners = (struct sample_owners){.owner = owner, .cgroup = cgroup, .context = owners};
    owners->map = map;
    return process_cgroups_init(&owners->cgroups, fs, error, error_size);
}
