/*
 * Who is never restricted, whatever the configuration matches: whoever measures, steers or keeps
 * the cluster alive, and a cgroup that is not the one that the exporter counted. One thread.
 */
#ifndef IE_GOVERNOR_EXEMPTIONS_H
#define IE_GOVERNOR_EXEMPTIONS_H

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/see/view.h"

struct exemptions {
    struct cgroup_hierarchy counted; /* perf_event's, whose inodes the exporter tells */
    uint64_t own_cgroup;             /* the governor's inode there; 0: not known */
    bool allow_replay; /* containers of a recording have no inode to compare, and no names */
    bool recorded;     /* they are of another machine: nothing here is compared with them */
};

/* -errno with one line in error: there is no such hierarchy. A replay needs none. */
int exemptions_init(struct exemptions *exemptions, const struct fsroot *fs, bool allow_replay,
                    char *error, size_t error_size);

/* Our own in a view, by their cgroups: whatever they are called, and whoever else is called so. */
struct programs {
    const struct view_container *governor, *exporter; /* NULL: it is in no container of the view */
    bool exporter_known;                              /* the exporter says which its cgroup is */
};

/* Borrowed from the view. */
struct programs exemptions_programs(const struct exemptions *exemptions, const struct view *view);

/* Whether its cgroup can be what is said of it, by the path alone, which is the kubelet's or the
 * runtime's word and not the exporter's. Who says that it is a container of a pod must be one, with
 * that id, of that pod's folder; below "kubepods" it must say so. A container of no pod must have
 * that id. What is no container (a service, a session) must be named literally, by its cgroup's own
 * name; a slice never is. */
bool exemptions_is_its_own(const struct exemptions *exemptions,
                           const struct view_container *container, bool literal);

/* In words; NULL: it may be restricted. Who is not its own by that is exempt; kube-system; all of
 * the programs' pods; and all of the
 * governor's namespace, as long as an exporter does not say which its cgroup is. 'literal': the
 * configuration names the container without wildcards, or its QoS class, which it takes for one
 * with CPUs of its own. */
const char *exemptions_why(const struct exemptions *exemptions,
                           const struct view_container *container, const struct programs *programs,
                           bool literal);

/* Whether the cgroup that the exporter counted is the one that has this path now. */
bool exemptions_same_cgroup(const struct exemptions *exemptions,
                            const struct view_container *container);

#endif
