/*
 * Who is never restricted, whatever the configuration matches: the two programs, kube-system, and a
 * cgroup that is not the one that the exporter counted. One thread.
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

/* The two programs in a view, found by their cgroups and not by their names. */
struct programs {
    const struct view_container *governor, *exporter; /* NULL: it is in no container of the view */
    bool exporter_known;                              /* the exporter says which its cgroup is */
};

/* Borrowed from the view. */
struct programs exemptions_programs(const struct exemptions *exemptions, const struct view *view);

/* Whether the cgroup's path, which the kubelet or the runtime made, agrees with what the exporter
 * says of the container. The path of a pod's container must have that id and lie in that pod's
 * folder; below "kubepods" there are only such. The path of any other container must have that id.
 * What is no container (a service, a session) must be named literally ('literal'), by its cgroup's
 * own name; a slice is never accepted. */
bool exemptions_is_its_own(const struct exemptions *exemptions,
                           const struct view_container *container, bool literal);

/* Why it is exempt, in words; NULL: it may be restricted. Exempt is whoever exemptions_is_its_own()
 * rejects; kube-system; the pods of the two programs; and the governor's whole namespace, as long
 * as the exporter does not say which cgroup is its own. 'literal': the configuration names the
 * container without wildcards, or its QoS class, which it takes for one with CPUs of its own. */
const char *exemptions_why(const struct exemptions *exemptions,
                           const struct view_container *container, const struct programs *programs,
                           bool literal);

/* Whether the cgroup that the exporter counted is the one that has this path now. */
bool exemptions_same_cgroup(const struct exemptions *exemptions,
                            const struct view_container *container);

#endif
