/*
 * What containers move as their activity, where others made monitoring groups of them ("basis":
 * "traffic"): cache lines per second, stores and prefetched lines in it, by NUMA node.
 *
 * Groups are read every few seconds. So the probe's readings and the containers' CPU time of the
 * ticks in between are kept; when the groups are read, these ticks are taken one after the other,
 * what was moved over all of them shared out among them by CPU time. What a pod's group counted for
 * several containers is shared out among these by CPU time, too; and who has a group of which there
 * is no window yet has what goes with its CPU time.
 *
 * Bytes of memory beside the L3 are of that L3's NUMA node, the others of the other one, or in
 * equal parts of all others. Machines with one node have one domain. Where the local part is not
 * known, all are taken to be local.
 *
 * Where the groups are of containers with most of the CPU time, activity is what they move from
 * then on; who has none is a part of the host, which is what all together moved without them. Until
 * then, and when they are gone, it is CPU time. Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_MOVED_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_MOVED_H

#include "collectors/attribution/lanes/lane.h"

struct moved {
    struct attribution_context *in;       /* NULL: groups are not asked for */
    group_handle machine;                 /* 0: not open */
    bool machine_known;                   /* in the last window */
    struct activity everybody;            /* lines per second */
    double containers[ATTRIBUTION_NODES]; /* of it */

    /* The ticks of the window that is not over yet. */
    unsigned n;
    struct tick tick[MOVED_TICKS];
    double latency_seconds[ATTRIBUTION_NODES][MOVED_TICKS]; /* NaN: no reading */

    uint64_t looked_ns;         /* for groups of who has none, the last time */
    unsigned covers, uncovered; /* windows in a row in which groups have most, or have not */
    unsigned silent;            /* ticks without a window */
    bool wanted;                /* activity should be what is moved */
};

void moved_init(struct moved *moved, struct attribution_context *in);
void moved_release(struct moved *moved);

/* Opens the groups of containers that are new, or had none before. May allocate. */
void moved_open(struct moved *moved, struct lanes *lanes);
/* Closes the lane's group: its container has ended. */
void moved_close(struct moved *moved, struct attribution_lane *lane);

/* Notes this tick, when all lanes are read: latency by node, as in in->node; NaN: none. */
void moved_note(struct moved *moved, const struct lanes *lanes, const struct tick *tick,
                const double latency_seconds[ATTRIBUTION_NODES]);
/* After moved_note(): true if the groups were read in this tick, so that the noted ticks can be
 * taken. */
bool moved_read(struct moved *moved, const struct lanes *lanes);
/* Then the nodes take them, up to this one. */
void moved_take(const struct moved *moved, const struct lanes *lanes);
/* Begins a new window, after the noted ticks were taken. */
void moved_begin(struct moved *moved);

/* The seats' rates in the k-th noted tick; or, from MOVED_TICKS on, over all of them. */
void moved_seat(const struct moved *moved, const struct lanes *lanes, unsigned k);

/* Whether reconcile should look for groups. */
bool moved_wants(struct moved *moved, const struct lanes *lanes, const struct tick *tick);

#endif
