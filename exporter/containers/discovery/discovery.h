/*
 * Finds containers in the cgroup tree as they appear, and feeds the table.
 *
 * inotify on directories, and a slow full rescan for events that were lost. Loop thread only.
 *
 * Whoever may make cgroups inside his container, or below his own service manager, makes as many as
 * he likes. So what lies inside a container is not looked at, unless containers in it count
 * (nested, all_cgroups) or samples are attributed by it (map); and then, as below a user's service
 * manager, each has a share of directories, of containers at a time, and of new ones per minute.
 */
#ifndef IE_CONTAINERS_DISCOVERY_DISCOVERY_H
#define IE_CONTAINERS_DISCOVERY_DISCOVERY_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/containers/cgroup_map.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/names/names.h"
#include "exporter/containers/table/table.h"

struct discovery_config {
    const struct fsroot *fs; /* borrowed for its life, like log, table and map */
    const struct log *log;
    struct container_table *table; /* gets discovery's hooks */
    /* NULL: no samples are attributed, and what lies inside a container need not be known. */
    struct cgroup_map *map;
    enum names_mode names;
    bool all_cgroups;
    bool nested;        /* containers inside containers count, too */
    uint64_t rescan_ns; /* the slow full rescan; 0: the default of 30 s */
    /* Directories that are known, and bytes of their paths; 0: the defaults of 100,000 and 64 MiB.
     * What lies inside containers and below users' managers leaves a tenth of both. */
    size_t directories_max, path_bytes_max;
    /* With all_cgroups: how many directories without processes are held open while they are young,
     * instead of looking them up by path every few milliseconds. */
    size_t open_candidates_max;
};

struct discovery;

/* Looks through the whole hierarchy once. -ENOENT with the message in error when there is no usable
 * hierarchy. */
int discovery_new(const struct discovery_config *config, uint64_t now_ns, struct discovery **out,
                  char *error, size_t error_size);
/* Before the table is freed. The containers stay in the table as they are. */
void discovery_free(struct discovery *discovery);

/* For tests. */
const struct cgroup_hierarchy *discovery_hierarchy(const struct discovery *discovery);

/* How often a cgroup was refused, since the start; each look at it counts. */
uint64_t discovery_refused(const struct discovery *discovery, enum cgroup_refusal why);

/* For epoll; -1 when inotify cannot be had (then only the rescan finds containers, every second).
 */
int discovery_fd(const struct discovery *discovery);
/* Something is readable on the descriptor. A call does a bounded amount of work; if some is left,
 * discovery_deadline says that it is due at once. */
void discovery_handle(struct discovery *discovery, uint64_t now_ns);
/* Retries late names, checks candidates, rescans when due. Bounded likewise. */
void discovery_advance(struct discovery *discovery, uint64_t now_ns);
/* When discovery_advance is due next, in CLOCK_MONOTONIC; 0: at once. */
uint64_t discovery_deadline(const struct discovery *discovery);

#endif
