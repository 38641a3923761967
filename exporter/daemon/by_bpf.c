/* Counting containers by a program in the kernel: where that is asked for, or where cgroup events
 * would be too many, and it works. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/contract/collector.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/path.h"
#include "exporter/containers/cgroups/walk.h"
#include "exporter/daemon/sources.h"
#include "exporter/service/privileges.h"
#include "exporter/source/bpf/bpf.h"
#include "exporter/source/perf/detect.h"
#include "exporter/source/perf/explain.h"

/* ---- how much there is to be counted ---- */

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
    size_t max = config->containers_max_eventless;
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

static const char by_bpf[] = "bpf";

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
            err = source_set_route_over(sources->set, SCOPE_CGROUP, (enum group)group, source);
    return err;
}

/* Before threads start, which would keep the capability. Perf, which has the routes, opens the same
 * events; *why is of the group that most collectors ask for. */
static int check_countable(struct source_set *set, struct verdict *why)
{
    struct verdict of_group;
    int err = 0;
    for (int group = 0; group < GROUP_COUNT; group++) {
        if (!bpf_serves((enum group)group))
            continue;
        if (source_set_check(set, SCOPE_CGROUP, (enum group)group, &of_group))
            return 0;
        if (!err)
            *why = of_group;
        err = -ENODEV;
    }
    return err;
}

/* By the first cgroup that there is; where there is none, it is not known, and perf's to say. */
static bool perf_can(const struct cgroup_hierarchy *hierarchy, const struct perf_config *perf,
                     struct verdict *why)
{
    char path[PATH_MAX];
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    bool can = true;
    if (cgroup_walk_new(hierarchy, "/", WALK_CHEAPLY, &walk) != 0)
        return true;
    bool found = cgroup_walk_next(walk, &entry) == 1 && cgroup_walk_next(walk, &entry) == 1;
    int n = found ? snprintf(path, sizeof path, "%s%s", hierarchy->path, entry.path) : -1;
    int fd = n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        can = perf_counts_cgroup(perf->kernel, fd);
        close(fd);
    }
    cgroup_walk_free(walk);
    if (!can)
        verdict_set(why, REASON_OK,
                    "the kernel counts no cgroup of %s by perf, for no controller was ever enabled "
                    "there (echo +cpu > %s/cgroup.subtree_control)",
                    hierarchy->path, hierarchy->path);
    return can;
}

/* NULL: perf is to count, and sources->by says why. */
static struct source *choose(struct sources *sources, const struct sources_config *config,
                             const struct perf_config *perf)
{
    const struct options *options = config->plan->options;
    const struct bpf_config bpf = {.perf = *perf, .containers = config->containers_max_eventless};
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
        bool perf_counts = err || (!burden_is_for_bpf(config, perf, &hierarchy, &wanted) &&
                                   perf_can(&hierarchy, perf, &wanted));
        sources->by = err ? why : wanted;
        if (perf_counts)
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
        err = check_countable(sources->set, &why);
    if (!err)
        err = bpf_source_new(&bpf, &source, &why);
    if (!err)
        return source;
    verdict_set(&sources->by, why.reason, "%s; %s", wanted.words, why.words);
    log_warn(config->log, "bpf", "%s; perf counts instead", sources->by.words);
    return NULL;
}

static void give_back(const struct log *log)
{
    int err = privileges_forgo(CAP_BPF);
    if (err)
        log_warn(log, "bpf", "cannot give CAP_BPF back: %s", strerror(-err));
}

int sources_add_bpf(struct sources *sources, const struct sources_config *config,
                    const struct perf_config *perf)
{
    struct source *source = choose(sources, config, perf);
    sources->eventless = source || events_of(perf) == 0;
    if (sources->eventless)
        descriptor_pool_limit(&sources->pool, config->counters_max_eventless);
    if (!source) {
        give_back(config->log);
        return 0;
    }
    int err = route(sources, source);
    if (!err) {
        sources->name = by_bpf;
        sources->bpf = source;
    }
    return err;
}

/* Words for what perf counts of containers all the same. */
static void say_fallen_back(struct sources *sources)
{
    struct verdict *by = &sources->by, before;
    for (int i = 0; i < GROUP_COUNT; i++) {
        if (!source_set_fell_back(sources->set, SCOPE_CGROUP, (enum group)i))
            continue;
        before = *by;
        verdict_set(by, by->reason, "%s; perf counts group %s, as the log says why", before.words,
                    group_descs[i].name);
    }
}

void sources_settle(struct sources *sources, const struct log *log)
{
    if (!sources->bpf)
        return;
    if (bpf_source_groups(sources->bpf) > 0) {
        say_fallen_back(sources);
        return;
    }
    struct verdict before = sources->by;
    for (int i = 0; i < GROUP_COUNT; i++)
        if (bpf_serves((enum group)i))
            source_set_route_back(sources->set, SCOPE_CGROUP, (enum group)i);
    sources->bpf = NULL;
    sources->name = "perf";
    verdict_set(&sources->by, REASON_NO_DEVICE,
                "%s; no group of containers could be counted by it: the collectors say why",
                before.words);
    log_info(log, "bpf", "%s; perf counts", sources->by.words);
    give_back(log);
}

bool sources_use_bpf(const struct sources *sources)
{
    return sources->name == by_bpf;
}
