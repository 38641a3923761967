/*
 * Which roles of a group this machine can count.
 *
 * A group that the PMU refuses, or takes and never runs (the NMI watchdog holds a counter that the
 * group needs), steps down to the next set of roles, its next rung: found out at start by a group
 * on our own thread, and later when the groups of all containers starve. Who holds a counter may
 * let go of it, so a higher rung is tried again every few minutes.
 *
 * The trial is pinned. Otherwise another user's groups on this CPU would be scheduled before it;
 * with those it could share by turns, so that they are no reason to step down.
 */
#ifndef IE_SOURCE_PERF_LADDER_H
#define IE_SOURCE_PERF_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/event/encode.h"
#include "exporter/source/perf/cpus.h"
#include "exporter/source/perf/group.h"
#include "exporter/source/source.h"

enum {
    PERF_STARVED_TICKS = 5,         /* consecutive, before a group steps down at run time */
    PERF_STARVED_NS = 50 * 1000000, /* and this much time without a counter: rotation between
                                       groups takes 4 ms a turn */
};

/* Between attempts to climb: after one that did not last twice as long, up to the longest. */
static const uint64_t PERF_CLIMB_NS = UINT64_C(300) * 1000000000;
static const uint64_t PERF_CLIMB_LONGEST_NS = UINT64_C(3600) * 1000000000;

/* One role's event, encoded when first needed. */
struct perf_event {
    bool tried;
    int error;
    struct encoded_event encoded;
    struct verdict why;
};

/* What is known about a group on this machine. */
struct perf_group {
    bool prepared;
    int prepare_error;
    struct verdict prepare_why;
    uint32_t available; /* roles with an event */
    uint32_t roles;     /* of the rung in force; 0 before a check */
    unsigned rung;
    bool starved; /* the last step down was for want of a counter, not a refusal */
    struct {
        bool done;
        int error;
        struct verdict why;
    } checked[SCOPE_KINDS];

    /* Of the reads since the last begin. */
    size_t active_rows, starved_rows;
    uint64_t starved_ns;
    /* Of the ticks in a row in which no active row ran. */
    unsigned streak;
    uint64_t streak_ns;
    bool reported; /* that the last rung starves too */

    bool climbed;
    uint64_t climb_wait_ns; /* 0: never stepped down yet */
    uint64_t climb_at_ns;   /* monotonic; 0: not set */
};

struct perf_ladder {
    struct perf_context *context; /* borrowed, like the CPUs */
    const struct perf_cpus *cpus;
    struct perf_event events[ROLE_COUNT]; /* of the cores */
    struct perf_group groups[GROUP_COUNT];
};

void perf_ladder_init(struct perf_ladder *ladder, struct perf_context *context,
                      const struct perf_cpus *cpus);
void perf_ladder_release(struct perf_ladder *ladder);

/* Finds the highest rung that runs here. Caches its answer. */
int perf_ladder_check(struct perf_ladder *ladder, enum scope_kind kind, enum group group,
                      struct verdict *why);
/* The core's events by index in the group; NULL for roles that are not available. */
void perf_events_of_core(const struct perf_ladder *ladder, enum group group,
                         const struct encoded_event **events);
/* The roles of a rung, counted from 0, or 0 below the last one. Pure. */
uint32_t perf_ladder_rung(enum group group, uint32_t available, unsigned rung);
/* The roles of the rung below the one with these roles, or 0. */
uint32_t perf_ladder_below(const struct perf_ladder *ladder, enum group group, uint32_t roles);
/* One row's time since the last read. */
void perf_ladder_account(struct perf_group *state, uint64_t enabled_ns, uint64_t running_ns);
/* Once a tick: true when the group must be reopened with the roles of its new rung. */
bool perf_ladder_tick(struct perf_ladder *ladder, enum group group);
/* Likewise, when a higher rung runs again. Tries once every few minutes, otherwise false. */
bool perf_ladder_climb(struct perf_ladder *ladder, enum group group, uint64_t mono_ns);

#endif
