/* Counting containers by a program in the kernel, where that is asked for and works. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/daemon/sources_internal.h"
#include "exporter/service/privileges.h"
#include "exporter/source/bpf/bpf.h"
#include "exporter/source/bpf/slots.h"

static const char by_bpf[] = "bpf";

/* The program knows cgroups of v2 only, and of the others perf counts those that own perf_event. */
static int check_hierarchy(const struct fsroot *fs, struct verdict *why)
{
    struct cgroup_hierarchy hierarchy;
    char error[512];
    if (cgroup_hierarchy_find(fs, &hierarchy, error, sizeof error) == 0 && hierarchy.version == 2)
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

int sources_add_bpf(struct sources *sources, const struct sources_config *config,
                    const struct perf_config *perf)
{
    const struct bpf_config bpf = {
        .perf = *perf,
        .slots = bpf_slots_for(config->containers_max, config->plan->options->interval_ns),
    };
    struct source *source;
    if (!plan_bpf(config->plan)) {
        verdict_set(&sources->by, REASON_OK, "cgroup events, unless --source=bpf asks for BPF");
        return 0;
    }
    if (check_hierarchy(&config->plan->fs, &sources->by) != 0 ||
        bpf_source_new(&bpf, &source, &sources->by) != 0) {
        log_warn(config->log, "bpf", "%s; perf counts instead", sources->by.words);
        int err = privileges_forgo(CAP_BPF);
        if (err)
            log_warn(config->log, "bpf", "cannot give CAP_BPF back: %s", strerror(-err));
        return 0;
    }
    verdict_set(&sources->by, REASON_OK, "--source=bpf asks for it");
    sources->name = by_bpf;
    return route(sources, source);
}

bool sources_use_bpf(const struct sources *sources)
{
    return sources->name == by_bpf;
}
