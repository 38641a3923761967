/*
 * resctrl as files of a governor_rig, behind its fswrite: what is written is taken or refused as
 * the kernel does.
 *
 * Holes in a mask, more ways than there are and a group too many are refused, bandwidth is rounded
 * up to steps of ten, a task is in one group, who is born is in its parent's, and the tasks of a
 * group that is removed go to the root group.
 */
#ifndef IE_TESTS_FAKE_RESCTRL_H
#define IE_TESTS_FAKE_RESCTRL_H

#include "tests/unit/support/governor_rig.h"

enum { FAKE_GROUPS = 16, FAKE_TASKS = 64 };

struct fake_group {
    char name[64]; /* "": there is none; the first is the root group, "/" */
    unsigned mask, percent;
};

struct fake_task {
    unsigned tid; /* 0: there is none */
    unsigned container;
    size_t group;
    bool below; /* in a child of the container's cgroup */
};

struct fake_resctrl {
    struct governor_rig *rig;
    struct fswrite write; /* context: this */
    struct actuator_env env;
    struct fake_group groups[FAKE_GROUPS];
    struct fake_task tasks[FAKE_TASKS];
    size_t num_closids;      /* groups, with the root group */
    unsigned most_bandwidth; /* 100, in percent; with more it is in a unit of its own, as AMD's */
    unsigned last_tid;
    unsigned fail_at; /* the so many-th write from now on fails; 0: none */
    int fail_with;
    unsigned forks; /* so many of the next tasks that are moved are forked just before */
    unsigned writes;
    unsigned wrong; /* writes that may never be: to others' groups, or more than the root has */
};

/* Of a rig with v2 cgroups "/0", "/1", ...: mask 7ff, two domains, eight groups. */
void fake_resctrl_init(struct fake_resctrl *fake, struct governor_rig *rig);
/* A task of the container's in the root group, as of who is put in from outside. Its tid. */
unsigned fake_resctrl_join(struct fake_resctrl *fake, unsigned container);
/* One that is born of the container's first task, in that one's group. */
void fake_resctrl_fork(struct fake_resctrl *fake, unsigned container);
void fake_resctrl_end(struct fake_resctrl *fake, unsigned tid);
/* To a container's cgroup, or to the child of it; it stays in its group. */
void fake_resctrl_go(struct fake_resctrl *fake, unsigned tid, unsigned container, bool below);
/* Somebody else moves a container's tasks to a group of theirs, which is made, or "/". */
void fake_resctrl_take(struct fake_resctrl *fake, unsigned container, const char *group);
void fake_resctrl_take_one(struct fake_resctrl *fake, unsigned tid, const char *group);
/* Somebody else changes a group. */
void fake_resctrl_set(struct fake_resctrl *fake, const char *group, unsigned mask,
                      unsigned percent);
/* The group that all of the container's tasks are in, but for those below; NULL: they are in
 * several. */
const struct fake_group *fake_resctrl_of(const struct fake_resctrl *fake, unsigned container);
/* The name of a task's group; NULL: it has ended. */
const char *fake_resctrl_group(const struct fake_resctrl *fake, unsigned tid);
/* Groups named ig_*. */
size_t fake_resctrl_ours(const struct fake_resctrl *fake);

#endif
