/*
 * What the collector keeps of a container besides its seats: where its CPU time or its traffic is
 * read, and which container it lies inside of. Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_LANE_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_LANE_H

#include "collectors/attribution/lanes/activity.h"
#include "collectors/attribution/lanes/workloads.h"
#include "collectors/attribution/node/node.h"
#include "collectors/parts/lanes.h"

/*
 * Where CPU time is read, the first that is there: the clocks of a group that core_latency has open
 * wherever there is a PMU, else the group activity. Or, alone, where traffic is.
 */
enum { ATTRIBUTION_TRAFFIC = 6, ATTRIBUTION_CLOCKS };
extern const enum group attribution_clock_group[ATTRIBUTION_CLOCKS];

/* What the lanes of one collector share. */
struct attribution_context {
    struct collector_env env;
    struct collector_status *status;
    struct attribution_families families;
    struct workloads workloads;
    bool traffic;     /* activity is traffic, not CPU time */
    bool by_groups;   /* of monitoring groups, while CPU time is read as well (moved.h) */
    uint32_t counted; /* bit i: groups of clock i are opened here */
    struct activity_nodes nodes;
    struct attribution_node *node[ATTRIBUTION_NODES]; /* of nodes.at */
    struct attribution_scratch *scratch;              /* owned by the collector */
    uint64_t now_ns;                                  /* of the last tick */
};

/* A group whose clocks, or counts of traffic, are read. */
struct attribution_clock {
    group_handle handle; /* 0: not open */
    bool read_once;
    bool again;            /* it was open before, and closed */
    uint64_t last_mono_ns; /* where its current window began */
};

/* Whether clocks are read, so that what is read of a lane is CPU time. */
static inline bool attribution_has_clocks(const struct attribution_context *self)
{
    return !self->traffic || self->by_groups;
}

enum { MOVED_TICKS = 64 };

/* What a monitoring group says of a container (moved.h). */
struct attribution_moved {
    group_handle handle;     /* 0: not open */
    bool pods;               /* it is its pod's */
    bool known;              /* in the last window, if only by its CPU time */
    bool met;                /* was, by the group, once */
    bool read;               /* in this tick */
    struct activity lines;   /* of that one, per second */
    float cpus[MOVED_TICKS]; /* in the ticks of the present one; NaN: not read */
};

struct attribution_lane {
    const struct container *container;
    size_t path_len;
    int32_t workload; /* its number; -1: out of memory, or it has ended */
    struct attribution_clock clock[ATTRIBUTION_CLOCKS];
    bool ending;    /* its next reading is its last */
    int32_t parent; /* the innermost monitored container that it lies inside of: its slot; or -1 */

    bool read;             /* in this tick */
    bool read_once;        /* ever: then usage is that of the last time */
    struct activity usage; /* of its descendants as well */

    struct attribution_moved moved;

    /* What it makes others wait, on all nodes (victims.h). */
    bool has_inner;             /* others inside of it are counted */
    bool waits_known;           /* were, once */
    double wait_seconds;        /* of this tick */
    struct series *wait_series; /* NULL until they were known and it is named */

    struct series *cpu_series; /* for the API; NULL where activity is traffic, and without names */
};

extern const struct lane_ops attribution_lane_ops; /* of a struct attribution_context */

bool attribution_lane_is_open(const struct attribution_lane *lane);
void attribution_lane_close(struct attribution_context *self, struct attribution_lane *lane);

/* Whether core_lane.h's core_group_is_left() holds of the clock that is read; then reconcile opens
 * the one that stays, so that the two take no turns. */
bool attribution_clock_is_left(const struct attribution_context *self);
void attribution_lanes_fall_back(struct attribution_context *self, struct lanes *lanes);

/* It has ended, and will not be counted any more. */
void attribution_lane_leave(struct attribution_context *self, struct attribution_lane *lane);

/* Reads the activity of all: 0, or the first of the source's errors. Those are closed whose
 * descriptors the source has called in. *silent: none that is open had a reading. */
int attribution_lanes_read(struct attribution_context *self, struct lanes *lanes,
                           const struct tick *tick, bool *silent);

/* Of any clock, as above; -ENODATA where there is no reading. `since_ns` is where a first window
 * begins, though at most one interval back. */
int attribution_clock_read(struct attribution_context *self, struct attribution_clock *clock,
                           const struct tick *tick, uint64_t since_ns, struct activity *out);

/* Finds which containers lie inside which; after every lanes_reconcile. */
void attribution_lanes_nest(struct lanes *lanes, const struct container_diff *diff);
/* The innermost container that this one lies inside of; and the innermost that counts it along,
 * since it is counted itself; or NULL. */
struct attribution_lane *attribution_lane_parent(const struct lanes *lanes,
                                                 const struct attribution_lane *lane);
struct attribution_lane *attribution_lane_outer(const struct lanes *lanes,
                                                const struct attribution_lane *lane);

#endif
