/*
 * Which counters this run has: the kernel's and the probe's, or a recording's; and, if asked for,
 * a recorder around them.
 */
#ifndef IE_DAEMON_SOURCES_H
#define IE_DAEMON_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/contract/facts.h"
#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/containers/cgroup_map.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/process.h"
#include "exporter/daemon/plan.h"
#include "exporter/source/accesses/assignment.h"
#include "exporter/source/event/table.h"
#include "exporter/source/inventory.h"
#include "exporter/source/perf/perf.h"
#include "exporter/source/perf/said.h"
#include "exporter/source/pmem/pmem.h"
#include "exporter/source/pool.h"
#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"

/* Finds the container that a sample belongs to, by its cgroup. Embedded where it does not move:
 * 'owners' points to it. */
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
    struct source *perf;        /* the set's, as it is behind a recorder; NULL unless live */
    struct source *bpf;         /* likewise; NULL unless containers are counted by it */
    bool eventless; /* a container takes no events of perf's: a program counts, or nothing does */
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
    struct facts *facts;             /* filled in */
    size_t counters_max;             /* descriptors that counters may take */
    size_t counters_max_eventless;   /* the same where containers take no events of perf's */
    size_t containers_max_eventless; /* of which there may be so many at once */
    struct cgroup_map *map;          /* from cgroups to containers, for samples */
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
 * counted by the program, it is perf that counts, and CAP_BPF is given back: the filter of system
 * calls keeps bpf() from threads that run already. 'name' and 'by' say what has come of it. */
void sources_settle(struct sources *sources, const struct log *log);

/* Whether a program in the kernel counts the containers. */
bool sources_use_bpf(const struct sources *sources);

/* For how many containers 'counters' descriptors are enough, with the groups that are open now, at
 * *each; SIZE_MAX, and 0: a container takes none. */
size_t sources_room(const struct sources *sources, size_t counters, size_t *each);

/*
 * Adds every memory controller and L3 that sysfs shows to the inventory, and to the recording
 * (NULL: none). One unit each; where a controller's counts are divided into groups, one for each of
 * them, with ".0", ".1" behind the key. 'table' is the CPU's, NULL when it has none. 0 or -ENOMEM;
 * a machine that shows none, or whose sysfs cannot be read, has no units: the source's check then
 * says why.
 */
int units_add(struct inventory *inventory, const struct fsroot *fs, const struct event_table *table,
              struct recorder *recorder);

/*
 * What --source=auto takes to count containers: perf's cgroup events, or a BPF program. How much
 * there is to be counted decides: by the machine's CPUs, its events, and the containers that run
 * when the exporter starts.
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

/* As counting_by_bpf(), here. Of the config: plan, facts, counters_max, containers_max_eventless.
 * Looks for containers only where their number decides: where COUNTING_LEAST fit, and one for each
 * cgroup of the hierarchy would not. */
bool burden_is_for_bpf(const struct sources_config *config, const struct perf_config *perf,
                       const struct cgroup_hierarchy *hierarchy, struct verdict *why);

/* ---- how they are put together: sources.c, by_bpf.c, replayed.c, routes.c ---- */

/* A recording, in place of this machine's kernel and the probe: what sources_init says. On failure
 * the caller releases. */
int sources_init_replayed(struct sources *sources, const struct sources_config *config, char *error,
                          size_t error_size);

/* The counters of containers by a program in the kernel, if a flag asks for them or cgroup events
 * would be too many, and they can be had: from then on they serve what perf serves otherwise.
 * CAP_BPF is given back if not. 'perf' says how events are opened. */
int sources_add_bpf(struct sources *sources, const struct sources_config *config,
                    const struct perf_config *perf);

/* What flags ask for: a file, the black box, both or none; before a source is wrapped. As
 * sources_init. */
int sources_start_recorder(struct sources *sources, const struct sources_config *config,
                           uint64_t interval_ns, char *error, size_t error_size);
/* The source itself, or the recorder around it. Takes it over also on failure. */
int sources_wrap(struct sources *sources, struct source *source, struct source **out);
/* For every scope and group. */
int sources_route_all(struct sources *sources, struct source *source);

#endif
