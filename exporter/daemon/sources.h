/*
 * Which counters this run has: the kernel's and the probe's, or a recording's; and, if asked for,
 * a recorder around them.
 */
#ifndef IE_DAEMON_SOURCES_H
#define IE_DAEMON_SOURCES_H

#include <stdbool.h>

#include "collectors/contract/facts.h"
#include "exporter/base/log.h"
#include "exporter/containers/cgroup_map.h"
#include "exporter/containers/cgroups/process.h"
#include "exporter/daemon/plan.h"
#include "exporter/source/accesses/assignment.h"
#include "exporter/source/inventory.h"
#include "exporter/source/perf/said.h"
#include "exporter/source/pmem/pmem.h"
#include "exporter/source/pool.h"
#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"

/*
 * Finds the container that a sample belongs to, by its cgroup.
 */

/* Embedded where it does not move: 'owners' points to it. */
struct container_owners {
    struct sample_owners owners; /* answers container_tag() of the container */
    struct cgroup_map *map;      /* borrowed */
    struct process_cgroups cgroups;
};

/* As process_cgroups_init. */
int container_owners_init(struct container_owners *owners, const struct fsroot *fs,
                          struct cgroup_map *map, char *error, size_t error_size);

struct sources {
    struct source_set *set;     /* owned, with every source in it */
    struct inventory inventory; /* owned */
    struct replay *replay;      /* owned; NULL when live */
    struct recorder *recorder;  /* owned; NULL unless asked for */
    struct pmem *pmem;          /* owned; NULL unless samples are taken */
    struct source *bpf;         /* the set's; NULL unless containers are counted by it */
    struct container_owners owners;
    const char *name;  /* label 'source': "perf", "bpf" (containers by BPF, the rest by perf) or
                          "replay" */
    struct verdict by; /* why containers are counted by that, in words; REASON_OK unless what was
                          asked for cannot be had */
    struct descriptor_pool pool;
    struct perf_said said;
    /* Where they are mounted; "": nowhere. */
    char cpu[4096], cpuacct[4096], cpuset[4096], memory[4096], unified[4096];
};

struct sources_config {
    const struct plan *plan; /* borrowed for the sources' life, like all pointers here */
    const struct log *log;
    struct facts *facts;          /* filled in */
    size_t counters_max;          /* descriptors that counters may take */
    size_t counters_max_by_bpf;   /* the same where a program counts the containers */
    size_t containers_max_by_bpf; /* that it counts at once */
    struct cgroup_map *map;       /* from cgroups to containers, for samples */
};

/*
 * Opens everything and learns the machine's facts. -EINVAL for what a flag got wrong, otherwise
 * -errno; the message is in error, nothing is left open. A machine without counters or probe is no
 * failure: facts and checks say so.
 */
int sources_init(struct sources *sources, const struct sources_config *config, char *error,
                 size_t error_size);
/* Ends all threads. Before what was borrowed is freed. 0, or -ETIMEDOUT when a thread does not end:
 * it may still use the sources and what they borrow, which stay as they are; a recording is
 * complete. */
int sources_release(struct sources *sources);

/* After the collectors were started, which ask for groups: where no group of containers can be
 * counted by the program, it is perf that counts, and CAP_BPF is given back: of threads that run
 * already, bpf() is kept by the filter of system calls. 'name' and 'by' say what has come of it. */
void sources_settle(struct sources *sources, const struct log *log);

/* Whether a program in the kernel counts the containers. */
bool sources_use_bpf(const struct sources *sources);

#endif
