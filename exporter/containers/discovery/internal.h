/*
 * The inside of discovery, shared by its files: discovery.c learns which directories there are,
 * members.c decides what each of them is and tells the table and the map.
 */
#ifndef IE_CONTAINERS_DISCOVERY_INTERNAL_H
#define IE_CONTAINERS_DISCOVERY_INTERNAL_H

#include "exporter/containers/cgroups/tree.h"
#include "exporter/containers/cgroups/walk.h"
#include "exporter/containers/cgroups/watch.h"
#include "exporter/containers/discovery/discovery.h"

#define DISCOVERY_MS UINT64_C(1000000)
#define DISCOVERY_S UINT64_C(1000000000)

/* An id whose cgroup is gone. Samples of it may still be on their way. */
struct late_id {
    uint64_t cgroup_id, due_ns;
    uint32_t slot, gen;
};

struct discovery {
    struct discovery_config config;
    struct cgroup_hierarchy hierarchy;
    const char *root; /* the hierarchy's path as paths are made from it: "" for "/" */
    struct node_tree tree;
    struct cgroup_watch watch;
    uint64_t now_ns; /* of the call that is running */

    struct node_list scans;    /* subtrees to look through, first come first served */
    struct cgroup_walk *part;  /* the one that is being looked through */
    struct cgroup_walk *whole; /* the rescan that is under way */
    bool sweeping;             /* it is over; what it did not meet is looked at once more */
    uint32_t generation;       /* of rescans */
    uint64_t rescan_due_ns;    /* UINT64_MAX while one is under way */
    bool watches_missing;      /* some directory has no watch */

    size_t close_candidates;  /* those with a descriptor */
    struct late_id *late_ids; /* a ring: removed from the map when due */
    size_t late_first, n_late, cap_late;

    /* No such line before. */
    uint64_t watch_log_ns, overflow_log_ns, crowd_log_ns, state_log_ns;
};

/* discovery.c */
/* The directory's path in the file system; -ENAMETOOLONG. */
int discovery_path(const struct discovery *d, const struct cgroup_node *node, const char *file,
                   char *out, size_t size);
/* Watches the node's directory, its control files too while it is a candidate. */
void discovery_watch(struct discovery *d, struct cgroup_node *node);
/* Whether a line may be written now; at most one a minute. */
bool discovery_may_log(const struct discovery *d, uint64_t *not_before_ns);

/* members.c */
/* Decides what a new node is. */
void member_classify(struct discovery *d, struct cgroup_node *node);
/* Its directory is gone. */
void member_end(struct discovery *d, struct cgroup_node *node);
/* Its timer ended, or its control files changed, or a rescan met it. */
void member_check(struct discovery *d, struct cgroup_node *node);
/* Removes from the map what has been gone long enough. */
void member_forget_late_ids(struct discovery *d);
extern const struct container_hooks member_hooks; /* without arg */

#endif
