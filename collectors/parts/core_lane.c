#include "collectors/parts/core_lane.h"

#include <errno.h>
#include <string.h>

#include "collectors/learned/serialise.h"
#include "collectors/parts/window_read.h"

bool core_group_find(struct source_set *sources, enum scope_kind kind, enum group *out,
                     struct verdict *why)
{
    static const enum group groups[] = {GROUP_CORE, GROUP_FILLS, GROUP_IN_FLIGHT, GROUP_MISSES};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct verdict now;
        if (source_set_check(sources, kind, groups[i], &now)) {
            *out = groups[i];
            *why = now;
            return true;
        }
        /* Where there are events for one of them only, it is its reason that counts. */
        if (i == 0 ||
            (why->reason == REASON_UNSUPPORTED_CPU && now.reason != REASON_UNSUPPORTED_CPU))
            *why = now;
    }
    return false;
}

bool core_group_is_left(const struct collector_env *env, enum group group)
{
    const struct facts *facts = env->facts;
    return group == GROUP_IN_FLIGHT && facts->in_flight_untrue && !facts->no_stalls &&
           source_set_check(env->sources, SCOPE_CGROUP, GROUP_MISSES, NULL);
}

void core_lane_init(struct core_lane *lane, const struct container *container, enum group group)
{
    *lane = (struct core_lane){.base = {.container = container, .group = group},
                               .last_mono_ns = container->found_mono_ns,
                               .outermost = -1};
}

static double window_seconds(const struct core_lane *lane, const struct tick *tick)
{
    uint64_t length_ns = tick->mono_ns - lane->last_mono_ns;
    if (tick->mono_ns <= lane->last_mono_ns || (!lane->read_once && length_ns > tick->interval_ns))
        length_ns = tick->interval_ns;
    return (double)length_ns * 1e-9;
}

/* The same window as in its sum. */
static void divide(struct core_lane *lane, const struct machine *machine,
                   const struct group_window *window)
{
    lane->placed = sockets_are_apart(machine) &&
                   window_by_socket(window, ROLE_L3_MISS_READS, machine, lane->socket_reads);
}

int core_lane_read(struct core_lane *lane, const struct collector_env *env,
                   struct collector_status *status, const struct tick *tick,
                   const struct window_sum **sum, enum window_status *window)
{
    struct group_window rows;
    if (!lane->base.handle)
        return -ENODATA;
    int err = window_read_rows(env->sources, lane->base.handle, status, &rows, window);
    if (err)
        return err;
    if (*window != WINDOW_RESET)
        window_book_times(status, rows.sum);
    *sum = rows.sum;
    lane->window_seconds = window_seconds(lane, tick);
    lane->last_mono_ns = tick->mono_ns;
    lane->read_once = true;
    lane->partial = rows.sum->starved_ns > rows.sum->enabled_ns / 10;
    divide(lane, &env->facts->machine, &rows);
    return 0;
}

/* While it reads nothing, it is where it was. */
static void learn_shares(struct core_lane *lane)
{
    double all = 0;
    for (int socket = 0; lane->placed && socket < MACHINE_SOCKETS; socket++)
        all += lane->socket_reads[socket];
    if (!lane->seen || !(all > 0))
        return;
    for (int socket = 0; socket < MACHINE_SOCKETS; socket++)
        lane->share[socket] = lane->socket_reads[socket] / all;
    lane->divided = true;
}

void core_lane_settle(struct core_lane *lane, bool valid, uint64_t reads)
{
    lane->seen = valid && !lane->partial;
    memset(lane->read_rate, 0, sizeof lane->read_rate);
    if (!valid)
        return;
    for (int socket = 0; lane->placed && socket < MACHINE_SOCKETS; socket++)
        lane->read_rate[socket] = lane->socket_reads[socket] / lane->window_seconds;
    lane->read_rate[SOCKETS_ALL] = (double)reads / lane->window_seconds;
    learn_shares(lane);
}

void core_lane_serialise(struct core_lane *lane, struct calm *calm, struct state_fields *fields)
{
    calm_serialise(calm, fields);
    state_bool(fields, &lane->remote);
    state_bool(fields, &lane->divided);
    for (int socket = 0; socket < MACHINE_SOCKETS; socket++)
        state_double(fields, &lane->share[socket], 0, 1);
}

/* ---- containers inside containers ---- */

static struct core_lane *lane_at(const struct lanes *lanes, size_t slot)
{
    return lanes_at(lanes, slot);
}

void core_lanes_nest(struct lanes *lanes, const struct container_diff *diff)
{
    const struct container *outer = NULL;
    if (!lanes_sort(lanes, diff))
        return;
    for (size_t i = 0; i < lanes->order.n; i++) {
        const struct container *container = lanes->order.at[i];
        bool inside = outer && path_is_inside(container, outer);
        if (!inside)
            outer = container;
        lane_at(lanes, container->slot)->outermost = inside ? (int32_t)outer->slot : -1;
    }
}

/* ---- the node's traffic ---- */

void core_lane_add_up(const struct core_lane *lane, struct node_traffic *traffic)
{
    if (lane->base.ending && !lane->base.handle) /* it was read for the last time */
        return;
    if (!lane->seen)
        node_traffic_miss(traffic);
    else if (lane->outermost < 0)
        node_traffic_add(traffic, lane->read_rate, lane->placed);
}

bool core_lane_is_included(const struct core_lane *lane, const struct lanes *lanes)
{
    return lane->outermost >= 0 && lane_at(lanes, (size_t)lane->outermost)->base.handle != 0;
}

/* Reads that no controller saw: what caches, devices or persistent memory served. A factor, since
 * windows are of nearly the same time only; and so many per second are nothing. */
static bool reads_elsewhere(double own, double lines)
{
    return own > 1.5 * lines + 1e6;
}

/* Whose reads are the container's own: the outermost has them all. Without a window of that one,
 * the container's alone are too few, so that the others' are not too few. */
static const struct core_lane *own_of(const struct core_lane *lane, const struct lanes *lanes)
{
    if (lane->outermost < 0)
        return lane;
    const struct core_lane *outer = lane_at(lanes, (size_t)lane->outermost);
    return outer->seen ? outer : lane;
}

/* A window that began later than the controllers' has fewer reads in their time. */
static double overlap(const struct core_lane *own, const struct node_traffic *traffic)
{
    bool shorter = traffic->by_lines && own->window_seconds < traffic->cas.seconds;
    return shorter ? own->window_seconds / traffic->cas.seconds : 1;
}

static double rest(const struct core_lane *own, const struct node_traffic *traffic, int socket)
{
    double others = traffic->rate[socket] - own->read_rate[socket] * overlap(own, traffic);
    return others > 0 ? others : 0;
}

static void look_for_home(struct core_lane *lane, const struct node_traffic *traffic)
{
    if (!traffic->by_lines || !lane->placed)
        return;
    for (int socket = 0; socket < MACHINE_SOCKETS; socket++)
        lane->remote |= reads_elsewhere(lane->read_rate[socket] * overlap(lane, traffic),
                                        traffic->cas.rate[socket]);
}

static bool are_known(const struct core_lane *own, const struct node_traffic *traffic)
{
    if (!traffic->known || !traffic->by_lines)
        return traffic->known;
    return cas_traffic_covers(&traffic->cas, own->window_seconds) &&
           !reads_elsewhere(own->read_rate[SOCKETS_ALL] * overlap(own, traffic),
                            traffic->cas.rate[SOCKETS_ALL]);
}

void core_lane_corunners(struct core_lane *lane, const struct lanes *lanes,
                         const struct node_traffic *traffic, struct corunners *out)
{
    const struct core_lane *own = own_of(lane, lanes);
    *out = (struct corunners){.known = are_known(own, traffic)};
    if (!out->known)
        return;
    if (traffic->by_socket)
        look_for_home(lane, traffic);
    bool by_socket = traffic->by_socket && !lane->remote;
    out->measure = traffic->by_lines ? TRAFFIC_LINES : TRAFFIC_READS;
    out->measure += by_socket; /* each measure's own for sockets stands behind it */
    out->known = !by_socket || lane->divided;
    for (int socket = 0; by_socket && socket < MACHINE_SOCKETS; socket++) {
        out->rate += lane->share[socket] * rest(own, traffic, socket);
        out->high_rate += lane->share[socket] * traffic->high_rate[socket];
    }
    if (!by_socket) {
        out->rate = rest(own, traffic, SOCKETS_ALL);
        out->high_rate = traffic->high_rate[SOCKETS_ALL];
    }
}

bool core_lane_calm(struct calm *calm, const struct tick *tick, const struct corunners *corunners)
{
    if (!corunners->known)
        return false;
    calm_measured_by(calm, corunners->measure);
    return calm_window(calm, tick->mono_ns, corunners->rate, corunners->high_rate);
}

void core_group_is_filtered(struct verdict *verdict)
{
    verdict_set(
        verdict, REASON_EVENT_FILTERED,
        "a counter of memory reads, or of how long they take, opens but counts nothing while the "
        "probe reads memory: the hypervisor filters it; use an instance type that exposes it (bare "
        "metal does)");
}

void core_group_is_untrue(struct verdict *verdict)
{
    verdict_set(verdict, REASON_EVENT_FILTERED,
                "no latency: the event of L1 misses, or of loads, in flight does not count those "
                "of the probe's chase, one at a time: this revision of the CPU counts them in "
                "fours, or prefetches as misses of the last level, or the hypervisor filters them; "
                "the other counters are right");
}
