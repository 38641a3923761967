/*
 * What every collector of the core group keeps of a container: the container's lane. A lane is what
 * one collector keeps of one container, from its discovery until it is forgotten (lanes.h).
 *
 * Embedded first in the collector's own lane, so that a pointer to the one is a pointer to the
 * other. Its history of calm windows stands behind what each tick touches. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_CORE_LANE_H
#define IE_COLLECTORS_PARTS_CORE_LANE_H

#include "collectors/contract/collector.h"
#include "collectors/learned/calm.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/lanes.h"
#include "collectors/parts/node_traffic.h"
#include "exporter/source/window.h"

struct core_lane {
    struct lane_base base; /* first */

    bool read_once;
    uint64_t last_mono_ns; /* where the current window began */
    double window_seconds; /* of the window that was read last */
    bool partial;          /* on CPUs where it ran for a tenth of that window, nobody counted */

    /* Of this tick. */
    bool seen;                         /* it has a valid window */
    double read_rate[SOCKETS_AND_ALL]; /* reads per second in it; by socket where 'placed' */

    /* Of the window read last. */
    bool placed; /* its reads are known by socket */
    double socket_reads[MACHINE_SOCKETS];
    /* Of the last window with reads that are known by socket: each one's share of them. */
    bool divided;
    double share[MACHINE_SOCKETS];
    /* It read more from its CPUs' sockets than their controllers did: its memory is elsewhere. For
     * good, since measures must not alternate. */
    bool remote;

    /* The outermost monitored container that this one is inside of: its slot; -1: none. */
    int32_t outermost;
};

/* What a container's co-runners have of the traffic that it meets. */
struct corunners {
    bool known; /* else nothing else is */
    enum traffic_measure measure;
    double rate;      /* per second */
    double high_rate; /* of the node, or of the container's sockets, as node_traffic.h has it */
};

/*
 * The group that latencies come from on this machine: GROUP_CORE, or GROUP_FILLS or GROUP_IN_FLIGHT
 * where the CPU counts that; or GROUP_MISSES, from which there is none. False: *why says why it has
 * none of them.
 */
bool core_group_find(struct source_set *sources, enum scope_kind kind, enum group *out,
                     struct verdict *why);

/*
 * Whether containers are to be counted by GROUP_MISSES from now on: the probe has found that loads
 * in flight are not what they are taken for, and this CPU counts stalls. The probe itself stays.
 */
bool core_group_is_left(const struct collector_env *env, enum group group);

/* What counts reads of memory in one of them. */
static inline enum role core_group_reads(enum group group)
{
    return group == GROUP_FILLS ? ROLE_L1D_FILLS_MEMORY : ROLE_L3_MISS_READS;
}

void core_lane_init(struct core_lane *lane, const struct container *container, enum group group);

/* What it learned outlives a restart, as collectors/learned/serialise.h says. */
void core_lane_serialise(struct core_lane *lane, struct calm *calm, struct state_fields *fields);

/*
 * As window_read(), with the sum that all share until the next tick, and -ENODATA where the group
 * is not open. After 0, window_seconds is what the window spans: the time since the last reading,
 * or, for the first one, since the container was found, but at most one interval. After a failed
 * read the next window reaches back to where this one began.
 */
int core_lane_read(struct core_lane *lane, const struct collector_env *env,
                   struct collector_status *status, const struct tick *tick,
                   const struct window_sum **sum, enum window_status *window);

/* What the window just read: for the node's traffic. 'valid': it was neither starved nor reset. A
 * partial one tells no rate either. By socket it is what core_lane_read() found. */
void core_lane_settle(struct core_lane *lane, bool valid, uint64_t reads);

/*
 * For collectors whose lanes begin with a core lane.
 *
 * core_lanes_nest says which containers lie inside others, after every lanes_reconcile.
 * core_lane_add_up adds one that is settled to the tick's traffic, between its begin and its end.
 */
void core_lanes_nest(struct lanes *lanes, const struct container_diff *diff);
void core_lane_add_up(const struct core_lane *lane, struct node_traffic *traffic);

/* Whether a container that this one lies inside of counts it along: in this window, or, where that
 * one has none now, in its next. */
bool core_lane_is_included(const struct core_lane *lane, const struct lanes *lanes);

/*
 * The traffic of everybody but the container and those that it is inside of. Where sockets are told
 * apart, that of each socket counts by the container's share of reads there, as long as it reads
 * what lies beside its CPUs.
 */
void core_lane_corunners(struct core_lane *lane, const struct lanes *lanes,
                         const struct node_traffic *traffic, struct corunners *out);

/* Whether the window just read was calm: to be asked once for each valid window. Never where the
 * co-runners' traffic is not known. */
bool core_lane_calm(struct calm *calm, const struct tick *tick, const struct corunners *corunners);

/* The verdict on every collector of the group once its counter of memory reads proved dead; and on
 * AMD's once the counter of misses in flight did not tell the truth. */
void core_group_is_filtered(struct verdict *verdict);
void core_group_is_untrue(struct verdict *verdict);

#endif
