#include "collectors/parts/core_lane.h"

#include <errno.h>
#include <string.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/window_read.h"

void core_lane_init(struct core_lane *lane, const struct container *container)
{
    *lane = (struct core_lane){
        .container = container, .last_mono_ns = container->found_mono_ns, .outermost = -1};
}

int core_lane_open(struct core_lane *lane, const struct collector_env *env,
                   struct collector_status *status, const char *collector, const char *lacks)
{
    struct verdict why;
    int err = container_group_open(env->sources, status, lane->container, GROUP_CORE, 0,
                                   &lane->handle, &why);
    lane->opened |= err == 0;
    if (err && container_group_lacking(status, err, &why))
        log_warn(env->log, collector, "%s %s: %s", lane->container->path, lacks, why.words);
    return err;
}

void core_lane_close(struct core_lane *lane, struct source_set *sources)
{
    if (lane->handle)
        source_set_close(sources, lane->handle);
    lane->handle = 0;
}

bool core_lane_is_open(const void *lane)
{
    return ((const struct core_lane *)lane)->handle != 0;
}

void core_lane_end(void *lane)
{
    ((struct core_lane *)lane)->ending = true;
}

static double window_seconds(const struct core_lane *lane, const struct tick *tick)
{
    uint64_t length_ns = tick->mono_ns - lane->last_mono_ns;
    if (tick->mono_ns <= lane->last_mono_ns || (!lane->read_once && length_ns > tick->interval_ns))
        length_ns = tick->interval_ns;
    return (double)length_ns * 1e-9;
}

int core_lane_read(struct core_lane *lane, struct source_set *sources,
                   struct collector_status *status, const struct tick *tick, struct window_sum *sum,
                   enum window_status *window)
{
    if (!lane->handle)
        return -ENODATA;
    int err = window_read(sources, lane->handle, status, sum, window);
    if (err)
        return err;
    lane->window_seconds = window_seconds(lane, tick);
    lane->last_mono_ns = tick->mono_ns;
    lane->read_once = true;
    lane->partial = sum->starved_ns > sum->enabled_ns / 10;
    return 0;
}

void core_lane_settle(struct core_lane *lane, bool valid, uint64_t reads)
{
    lane->seen = valid && !lane->partial;
    lane->read_rate = valid ? (double)reads / lane->window_seconds : 0;
}

/* ---- containers inside containers ---- */

static struct core_lane *lane_at(const struct lanes *lanes, size_t slot)
{
    return lanes_at(lanes, slot);
}

static bool is_inside(const struct container *inner, const struct container *outer)
{
    size_t n = strlen(outer->path);
    return strncmp(inner->path, outer->path, n) == 0 && inner->path[n] == '/';
}

static void find_outermost(struct lanes *lanes, struct core_lane *lane)
{
    lane->outermost = -1;
    for (size_t i = 0; i < lanes->n; i++) {
        const struct core_lane *other = lane_at(lanes, i);
        if (!other || !is_inside(lane->container, other->container))
            continue;
        if (lane->outermost < 0 ||
            is_inside(lane_at(lanes, (size_t)lane->outermost)->container, other->container))
            lane->outermost = (int32_t)i;
    }
}

/* Those of the others that lie inside a new one. */
static void take_in(struct lanes *lanes, size_t slot)
{
    const struct container *outer = lane_at(lanes, slot)->container;
    for (size_t i = 0; i < lanes->n; i++) {
        struct core_lane *lane = lane_at(lanes, i);
        if (lane && is_inside(lane->container, outer) &&
            (lane->outermost < 0 ||
             is_inside(lane_at(lanes, (size_t)lane->outermost)->container, outer)))
            lane->outermost = (int32_t)slot;
    }
}

void core_lanes_nest(struct lanes *lanes, const struct container_diff *diff)
{
    for (size_t i = 0; diff->forgotten.n > 0 && i < lanes->n; i++) {
        struct core_lane *lane = lane_at(lanes, i);
        if (!lane || lane->outermost < 0)
            continue;
        const struct core_lane *outer = lane_at(lanes, (size_t)lane->outermost);
        if (!outer || !is_inside(lane->container, outer->container))
            find_outermost(lanes, lane);
    }
    for (size_t i = 0; i < diff->added.n; i++) {
        size_t slot = diff->added.at[i]->slot;
        if (slot >= lanes->n || !lane_at(lanes, slot))
            continue;
        find_outermost(lanes, lane_at(lanes, slot));
        take_in(lanes, slot);
    }
}

/* ---- the node's traffic ---- */

void core_lanes_add_up(const struct lanes *lanes, const struct tick *tick,
                       const struct facts *facts, struct node_traffic *traffic)
{
    node_traffic_begin(traffic, facts);
    for (size_t i = 0; i < lanes->n; i++) {
        const struct core_lane *lane = lane_at(lanes, i);
        if (!lane || (lane->ending && !lane->handle)) /* it was read for the last time */
            continue;
        if (!lane->seen)
            node_traffic_miss(traffic);
        else if (lane->outermost < 0)
            node_traffic_add(traffic, lane->read_rate);
    }
    node_traffic_end(traffic, tick, facts);
}

bool core_lane_is_included(const struct core_lane *lane, const struct lanes *lanes)
{
    return lane->outermost >= 0 && lane_at(lanes, (size_t)lane->outermost)->handle != 0;
}

double core_lane_corunners(const struct core_lane *lane, const struct lanes *lanes,
                           const struct node_traffic *traffic)
{
    const struct core_lane *own =
        lane->outermost < 0 ? lane : lane_at(lanes, (size_t)lane->outermost);
    double rest = traffic->rate - own->read_rate;
    return rest > 0 ? rest : 0;
}

bool core_lane_calm(struct core_lane *lane, const struct lanes *lanes, const struct tick *tick,
                    const struct node_traffic *traffic)
{
    return !traffic->blind &&
           calm_window(&lane->calm, tick->mono_ns, core_lane_corunners(lane, lanes, traffic),
                       traffic->high_rate);
}

void core_group_is_filtered(struct verdict *verdict)
{
    verdict_set(
        verdict, REASON_EVENT_FILTERED,
        "a counter of memory reads, or of how long they take, opens but counts nothing while the "
        "probe reads memory: the hypervisor filters it; use an instance type that exposes it (bare "
        "metal does)");
}
