/*
 * The inside of discovery, shared by its files: discovery.c learns which directories there are and
 * has members.c decide what each of them is, which tells the table and the map.
 */
#ifndef IE_CONTAINERS_DISCOVERY_INTERNAL_H
#define IE_CONTAINERS_DISCOVERY_INTERNAL_H

#include "exporter/containers/cgroups/walk.h"
#include "exporter/containers/cgroups/watched_tree.h"
#include "exporter/containers/discovery/discovery.h"
#include "exporter/containers/discovery/late_ids.h"

#define DISCOVERY_MS UINT64_C(1000000)
#define DISCOVERY_S UINT64_C(1000000000)

struct discovery {
    struct discovery_config config;
    struct cgroup_hierarchy hierarchy;
    struct watched_tree watched;
    struct names *names;
    uint64_t now_ns; /* of the call that is running */
    bool started;    /* all that was there has been looked at */

    struct node_list scans;    /* subtrees to look through, first come first served */
    struct cgroup_walk *part;  /* the one that is being looked through */
    struct cgroup_walk *whole; /* the rescan that is under way */
    bool sweeping;             /* it is over; what it did not meet is looked at once more */
    uint32_t generation;       /* of rescans */
    uint64_t rescan_due_ns;    /* UINT64_MAX while one is under way */

    size_t open_candidates;   /* those with a descriptor */
    struct late_ids late_ids; /* unused without a map */

    uint64_t refused[CGROUP_REFUSALS];

    /* No such line before. */
    uint64_t overflow_log_ns, crowd_log_ns, state_log_ns;
};

/* Whether a line may be written now; at most one a minute. */
static inline bool discovery_may_log(const struct discovery *d, uint64_t *not_before_ns)
{
    if (d->now_ns < *not_before_ns)
        return false;
    *not_before_ns = d->now_ns + 60 * DISCOVERY_S;
    return true;
}

/* Whether there is anything to look for below it. */
bool member_is_looked_into(const struct discovery *d, const struct cgroup_node *node);
/* Decides what a new node is. */
void member_classify(struct discovery *d, struct cgroup_node *node);
/* Its directory is gone. */
void member_end(struct discovery *d, struct cgroup_node *node);
/* Its timer ended, or its control files changed, or a rescan met it. */
void member_check(struct discovery *d, struct cgroup_node *node);
/* A process was moved into a candidate; it may have ended since. */
void member_entered(struct discovery *d, struct cgroup_node *node);
extern const struct container_hooks member_hooks; /* without arg */

#endif
