/*
 * How much there is to be counted on this machine, and so by what (counting.h): its CPUs, its
 * events, and the containers that run when the exporter starts.
 */
#ifndef IE_DAEMON_BURDEN_H
#define IE_DAEMON_BURDEN_H

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/daemon/sources.h"
#include "exporter/source/perf/perf.h"

/* As counting_by_bpf(), here. Of the config: plan, facts, counters_max, containers_max_by_bpf.
 * Looks for containers only where their number decides: where COUNTING_LEAST fit, and one for each
 * cgroup of the hierarchy would not. */
bool burden_is_for_bpf(const struct sources_config *config, const struct perf_config *perf,
                       const struct cgroup_hierarchy *hierarchy, struct verdict *why);

#endif
