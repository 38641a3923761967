/* What live and replayed sources are connected with, and who else is given what they read. */
#include <errno.h>
#include <stdio.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/containers/container.h"
#include "exporter/daemon/sources.h"

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

/* ---- recorders and routes ---- */

int sources_start_recorder(struct sources *sources, const struct sources_config *config,
                           uint64_t interval_ns, char *error, size_t error_size)
{
    const struct options *options = config->plan->options;
    struct blackbox *blackbox = config->plan->blackbox;
    if (!options->record_file && !blackbox)
        return 0;
    /* A constant that the probe may still replace is not written: a replay then calibrates from
     * the same readings. */
    struct machine machine = config->facts->machine;
    if (!config->facts->cache_cycles_final)
        machine.cache_cycles = machine.cache_seconds = 0;
    int err =
        recorder_new(options->record_file, &machine, interval_ns, config->log, &sources->recorder);
    if (err) {
        snprintf(error, error_size, "cannot write the recording %s: %s", options->record_file,
                 recorder_why(err));
        return err != -ENOMEM ? -EINVAL : err;
    }
    recorder_limit(sources->recorder, options->record_max_bytes);
    if (blackbox) {
        blackbox_begin(blackbox, &machine, interval_ns);
        recorder_tee(sources->recorder, blackbox_sink(blackbox));
    }
    return 0;
}

int sources_wrap(struct sources *sources, struct source *source, struct source **out)
{
    if (!sources->recorder) {
        *out = source;
        return 0;
    }
    return recorder_wrap(sources->recorder, source, out);
}

int sources_route_all(struct sources *sources, struct source *source)
{
    int err = 0;
    for (int kind = 0; kind < SCOPE_KINDS && !err; kind++)
        for (int group = 0; group < GROUP_COUNT && !err; group++)
            err = source_set_route(sources->set, (enum scope_kind)kind, (enum group)group, source);
    return err;
}
