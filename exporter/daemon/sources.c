#include "exporter/daemon/sources.h"

#include <errno.h>
#include <stdio.h>

#include "exporter/containers/container.h"
#include "exporter/daemon/sources_internal.h"

/* ---- owners of samples ---- */

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

int sources_init(struct sources *sources, const struct sources_config *config, char *error,
                 size_t error_size)
{
    *sources = (struct sources){0};
    *config->facts = (struct facts){0};
    if (!config->plan->probe)
        verdict_set(&config->facts->probe, REASON_DISABLED, "switched off by a flag");
    sources->set = source_set_new(config->log);
    if (!sources->set) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    int err = config->plan->options->source == SOURCE_REPLAY
                  ? sources_init_replayed(sources, config, error, error_size)
                  : sources_init_live(sources, config, error, error_size);
    if (err)
        sources_release(sources);
    return err;
}

int sources_release(struct sources *sources)
{
    int err = source_set_end(sources->set);
    if (err) {
        recorder_free(sources->recorder);
        return err;
    }
    source_set_free(sources->set);
    inventory_release(&sources->inventory);
    replay_free(sources->replay);
    recorder_free(sources->recorder);
    pmem_free(sources->pmem);
    *sources = (struct sources){0};
    return 0;
}
