/*
 * The kernel's resctrl file system: the root group, the governor's own, and which of them tasks are
 * in.
 *
 * A group of the governor's is named by what its members get, and never changed: containers move
 * between groups. So containers with the same settings share a group, and the hardware has few.
 * Groups of others, and the tasks in them, are let alone.
 *
 * One thread. Errors are -errno; -ENODEV: it is not mounted, or not any more.
 */
#ifndef IE_GOVERNOR_RESCTRL_H
#define IE_GOVERNOR_RESCTRL_H

#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/actuators/resctrl_text.h"

/* What a container gets; in the root group what that has. */
struct resctrl_share {
    uint32_t mask, percent;
};

/* The mount, and the root group as it is now. */
struct resctrl {
    const struct actuator_env *env;
    int root;                 /* directory */
    struct schemata schemata; /* mb is fixed where it is not in percent: the groups have it, too */
    struct resctrl_share whole; /* of the root group; percent 100 where nothing can be allocated */
};

/* -EINVAL: the root group's domains have different ways. */
int resctrl_open(const struct actuator_env *env, struct resctrl *out);
void resctrl_close(struct resctrl *resctrl);

/* True only if the kernel says that resctrl is mounted in no mount namespace, so that nothing is
 * allocated to anybody. One that is not mounted where we look may be the host's. */
bool resctrl_is_nowhere(const struct actuator_env *env);

bool resctrl_same_share(struct resctrl_share a, struct resctrl_share b);

enum resctrl_state {
    RESCTRL_ROOT,    /* its tasks are in the root group */
    RESCTRL_OURS,    /* one that was looked at is in a group of ours */
    RESCTRL_FOREIGN, /* one is in somebody else's */
    RESCTRL_EMPTY    /* there are no tasks */
};

/*
 * Where the tasks of a cgroup are, by the first that is not in the root group; with 'first_only' by
 * the first one.
 */
int resctrl_find(const struct resctrl *resctrl, int cgroup, bool first_only,
                 enum resctrl_state *state, struct resctrl_share *share);

/* Whether our group for this share gives what its name says; true for the root group's. */
bool resctrl_is_true(const struct resctrl *resctrl, struct resctrl_share share);

/*
 * Moves all tasks of a cgroup that are in the root group or one of ours, until a look finds no
 * more, at most five times: what is born in between is found by the next one. Makes the group if
 * need be. -ENOSPC: the hardware has no more groups; -EBUSY: it will have later; -EINVAL: it takes
 * no such values; others.
 */
int resctrl_move(const struct resctrl *resctrl, int cgroup, struct resctrl_share to);

enum { RESCTRL_KEPT = 32 };

/* The same for at most RESCTRL_KEPT tasks, of which each is a file to read: those from the *from-th
 * on, which goes on behind them, and with the last one to 0. */
int resctrl_keep(const struct resctrl *resctrl, int cgroup, struct resctrl_share to, size_t *from);

/* Moves all tasks of the cgroups below one to the root group, if they are in one of ours: they left
 * it while it was restricted. Sixteen levels. *any: there were such. */
int resctrl_return_below(const struct resctrl *resctrl, int cgroup, bool *any);

/* Removes those of our groups that have no task; or all, and the kernel puts their tasks into the
 * root group. -errno: one with tasks could not be removed. */
int resctrl_sweep(const struct resctrl *resctrl, bool all);

#endif
