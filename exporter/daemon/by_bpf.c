/* Counting containers by a program in the kernel: where that is asked for, or where cgroup events
 * would be too many, and it works. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/path.h"
#include "exporter/containers/cgroups/walk.h"
#include "exporter/daemon/counting.h"
#include "exporter/daemon/sources_internal.h"
#include "exporter/service/privileges.h"
#include "exporter/source/bpf/bpf.h"
#include "exporter/source/bpf/slots.h"
#include "exporter/source/perf/detect.h"

static const char by_bpf[] = "bpf";

/* ---- what is to be counted ---- */

/* Of the one group that each container has. */
static size_t events_of(const struct perf_config *perf)
{
    static const enum group groups[] = {GROUP_CORE, GROUP_FILLS, GROUP_CPI};
    if (!perf->file && !cpu_has_pmu(perf->fs))
        return 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const struct group_desc *desc = &group_descs[groups[i]];
        uint32_t roles = 0;
        for (size_t k = 0; k < desc->n; k++)
            roles |= (uint32_t)(event_text(perf->file, perf->table, desc->roles[k]) != NULL) << k;
        if ((roles & desc->required) == desc->required)
            return (size_t)__builtin_popcount(roles);
    }
    return 0;
}

/* Stops at 'enough'. */
static size_t containers_in(const struct cgroup_hierarchy *hierarchy, size_t enough)
{
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    size_t n = 0;
    if (cgroup_walk_new(hierarchy, "/", WALK_CHEAPLY, &walk) != 0)
        return 0;
    while (n < enough && cgroup_walk_next(walk, &entry) == 1) {
        struct cgroup_path_info info;
        cgroup_path_parse(entry.path, strlen(entry.path), &info);
        n += info.is_container;
    }
    cgroup_walk_free(walk);
    return n;
}

/* Looks for containers only where their number decides. */
static bool is_too_much_for_perf(const struct sources_config *config,
                                 const struct perf_config *perf,
                                 const struct cgroup_hierarchy *hierarchy, struct verdict *why)
{
    size_t max = config->containers_max;
    struct counting_load load = {
        .cpus = config->facts->machine.cpus > 0 ? (size_t)config->facts->machine.cpus : 1,
        .containers = counting_containers(0, max),
        .events = events_of(perf),
        .descriptors = config->counters_max,
        .interval_ns = config->plan->options->interval_ns,
    };
    if (counting_by_bpf(&load, why))
        return true;
    load.containers = counting_containers(hierarchy->cgroups, max);
    if (!counting_by_bpf(&load, why))
        return false;
    load.containers = counting_containers(containers_in(hierarchy, max), max);
    return counting_by_bpf(&load, why);
}

/* ---- who counts it ---- */

/* The program knows cgroups of v2 only, and of the others perf counts those that own perf_event. */
static int check_hierarchy(const struct fsroot *fs, struct cgroup_hierarchy *out,
                           struct verdict *why)
{
    char error[512];
    if (cgroup_hierarchy_find(fs, out, error, sizeof error) == 0 && out->version == 2)
        return 0;
    verdict_set(why, REASON_NO_DEVICE,
                "perf_event is not with cgroup v2 here, where alone BPF counts");
    return -ENOTSUP;
}

static int route(struct sources *sources, struct source *source)
{
    int err = sources_wrap(sources, source, &source);
    for (int group = 0; group < GROUP_COUNT && !err; group++)
        if (bpf_serves((enum group)group))
            err = source_set_route(sources->set, SCOPE_CGROUP, (enum group)group, source);
    return err;
}

/* NULL: perf is to count, and sources->by says why. */
static struct source *choose(struct sources *sources, const struct sources_config *config,
                             const struct perf_config *perf)
{
    const struct options *options = config->plan->options;
    const struct bpf_config bpf = {
        .perf = *perf, .slots = bpf_slots_for(config->containers_max, options->interval_ns)};
    struct cgroup_hierarchy hierarchy;
    struct source *source;
    struct verdict wanted, why;
    verdict_set(&wanted, REASON_OK, "--source=%s asks for it",
                options->source == SOURCE_PERF ? "perf" : "bpf");
    sources->by = wanted;
    if (options->source == SOURCE_PERF)
        return NULL;
    int err = check_hierarchy(&config->plan->fs, &hierarchy, &why);
    if (options->source == SOURCE_AUTO) {
        bool too_much = !err && is_too_much_for_perf(config, perf, &hierarchy, &wanted);
        sources->by = err ? why : wanted;
        if (!too_much)
            return NULL;
        /* SYS_ADMIN would do, but is given for perf where it is: nobody has asked for programs. */
        if (!privileges_has(CAP_BPF)) {
            verdict_set(&sources->by, REASON_NO_PERMISSION,
                        "%s; BPF could count it with CAP_BPF, which is not granted", wanted.words);
            log_info(config->log, "bpf", "%s; perf counts", sources->by.words);
            return NULL;
        }
    }
    if (!err)
        err = bpf_source_new(&bpf, &source, &why);
    if (!err)
        return source;
    verdict_set(&sources->by, why.reason, "%s; %s", wanted.words, why.words);
    log_warn(config->log, "bpf", "%s; perf counts instead", sources->by.words);
    return NULL;
}

int sources_add_bpf(struct sources *sources, const struct sources_config *config,
                    const struct perf_config *perf)
{
    struct source *source = choose(sources, config, perf);
    if (source) {
        sources->name = by_bpf;
        return route(sources, source);
    }
    int err = privileges_forgo(CAP_BPF);
    if (err)
        log_warn(config->log, "bpf", "cannot give CAP_BPF back: %s", strerror(-err));
    return 0;
}

bool sources_use_bpf(const struct sources *sources)
{
    return sources->name == by_bpf;
}
