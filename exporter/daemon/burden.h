/*
 * How much there is to be counted on this machine, and so by what: its CPUs, its
 * events, and the containers that run when the exporter starts.
 */
#ifndef IE_DAEMON_BURDEN_H
#define IE_DAEMON_BURDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/reason.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/daemon/sources.h"
#include "exporter/source/perf/perf.h"

/*
 * What --source=auto takes to count containers: perf's cgroup events, or a BPF program.
 *
 * Cgroup events take a descriptor for each container, CPU and event, and in each tick a read for
 * each container and CPU. Where the descriptors do not suffice for that, or the reads take more
 * than a hundredth of a CPU, the program is to count, with events x CPUs descriptors for all
 * containers. Elsewhere perf is: of a machine with a PMU it is not known what the program costs.
 */

enum {
    COUNTING_LEAST = 110,     /* containers: a kubelet's default number of pods */
    COUNTING_READ_NS = 2700,  /* our CPU for a group's reading: tests/bench/RESULTS.md */
    COUNTING_TICK_PART = 100, /* of a CPU, one part, is what reading may take */
};

struct counting_load {
    size_t cpus;        /* online */
    size_t containers;  /* to be prepared for */
    size_t events;      /* of a container on each CPU; 0: it has no counters here */
    size_t more_groups; /* in which they are, beyond the first */
    size_t descriptors; /* that counters may take */
    uint64_t interval_ns;
};

/* How many containers to be prepared for where 'found' run at the start, and at most 'max' are
 * counted: twice as many, for more may come, but at least COUNTING_LEAST. */
size_t counting_containers(size_t found, size_t max);

/* Pure. True: BPF is to count. *why says why, or why not, and has REASON_OK. */
bool counting_by_bpf(const struct counting_load *load, struct verdict *why);

/* As counting_by_bpf(), here. Of the config: plan, facts, counters_max, containers_max_by_bpf.
 * Looks for containers only where their number decides: where COUNTING_LEAST fit, and one for each
 * cgroup of the hierarchy would not. */
bool burden_is_for_bpf(const struct sources_config *config, const struct perf_config *perf,
                       const struct cgroup_hierarchy *hierarchy, struct verdict *why);

#endif
