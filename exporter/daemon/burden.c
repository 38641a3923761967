#include "exporter/daemon/burden.h"

#include <string.h>

#include "collectors/contract/collector.h"
#include "exporter/containers/cgroups/path.h"
#include "exporter/containers/cgroups/walk.h"
#include "exporter/source/perf/detect.h"

/* ---- counting ---- */

size_t counting_containers(size_t found, size_t max)
{
    size_t wanted = found > SIZE_MAX / 2 ? SIZE_MAX : 2 * found;
    if (wanted < COUNTING_LEAST)
        wanted = COUNTING_LEAST;
    return wanted < max ? wanted : max;
}

bool counting_by_bpf(const struct counting_load *load, struct verdict *why)
{
    double groups = (double)load->containers * (double)(1 + load->more_groups);
    double readings = groups * (double)load->cpus;
    /* Each container's group holds a directory, too. */
    double descriptors =
        (double)load->containers * (double)load->cpus * (double)load->events + groups;
    double ms = readings * COUNTING_READ_NS / 1e6;
    double most_ms = (double)load->interval_ns / COUNTING_TICK_PART / 1e6;
    if (load->events == 0) {
        verdict_set(why, REASON_OK, "containers have no counters here");
        return false;
    }
    if (descriptors > (double)load->descriptors) {
        verdict_set(why, REASON_OK,
                    "cgroup events of %zu containers on %zu CPUs would take %.0f file "
                    "descriptors, of which counters may have %zu",
                    load->containers, load->cpus, descriptors, load->descriptors);
        return true;
    }
    if (ms > most_ms) {
        verdict_set(why, REASON_OK,
                    "to read cgroup events of %zu containers on %zu CPUs would take %.1f ms in "
                    "each tick, which is more than %.1f",
                    load->containers, load->cpus, ms, most_ms);
        return true;
    }
    verdict_set(why, REASON_OK,
                "cgroup events of %zu containers on %zu CPUs fit: %.0f file descriptors, and "
                "%.1f ms in each tick",
                load->containers, load->cpus, descriptors, ms);
    return false;
}

/* 0: it cannot be counted here. */
static size_t events_in(const struct perf_config *perf, enum group group)
{
    const struct group_desc *desc = &group_descs[group];
    uint32_t roles = 0;
    for (size_t k = 0; k < desc->n; k++)
        roles |= (uint32_t)(event_text(perf->file, perf->table, desc->roles[k]) != NULL) << k;
    return (roles & desc->required) == desc->required ? (size_t)__builtin_popcount(roles) : 0;
}

/* Of the one group that each container has. */
static size_t events_of(const struct perf_config *perf)
{
    static const enum group groups[] = {GROUP_CORE, GROUP_FILLS, GROUP_IN_FLIGHT, GROUP_MISSES,
                                        GROUP_CPI};
    size_t events = 0;
    if (!perf->file && !cpu_has_pmu(perf->fs))
        return 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups && events == 0; i++)
        events = events_in(perf, groups[i]);
    return events;
}

/* And of those that collectors open beside it. */
static void add_more(const struct plan *plan, const struct perf_config *perf,
                     struct counting_load *load)
{
    uint32_t more = 0;
    for (size_t i = 0; collector_table[i]; i++)
        if (plan->wanted[i] && collector_table[i]->more_groups)
            more |= collector_table[i]->more_groups(&plan->options->config[i]);
    for (int i = 0; i < GROUP_COUNT && load->events > 0; i++) {
        size_t events = more >> i & 1 ? events_in(perf, (enum group)i) : 0;
        load->events += events;
        load->more_groups += events > 0;
    }
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

bool burden_is_for_bpf(const struct sources_config *config, const struct perf_config *perf,
                       const struct cgroup_hierarchy *hierarchy, struct verdict *why)
{
    size_t max = config->containers_max_by_bpf;
    struct counting_load load = {
        .cpus = config->facts->machine.cpus > 0 ? (size_t)config->facts->machine.cpus : 1,
        .containers = counting_containers(0, max),
        .events = events_of(perf),
        .descriptors = config->counters_max,
        .interval_ns = config->plan->options->interval_ns,
    };
    add_more(config->plan, perf, &load);
    if (counting_by_bpf(&load, why))
        return true;
    load.containers = counting_containers(hierarchy->cgroups, max);
    if (!counting_by_bpf(&load, why))
        return false;
    load.containers = counting_containers(containers_in(hierarchy, max), max);
    return counting_by_bpf(&load, why);
}
