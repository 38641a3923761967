#include "collectors/attribution/lanes/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/named_series.h"
#include "collectors/parts/window_read.h"

const enum group attribution_clock_group[ATTRIBUTION_CLOCKS] = {GROUP_CORE,
                                                                GROUP_FILLS,
                                                                GROUP_IN_FLIGHT,
                                                                GROUP_MISSES,
                                                                GROUP_CPI,
                                                                GROUP_ACTIVITY,
                                                                [ATTRIBUTION_TRAFFIC] =
                                                                    GROUP_TRAFFIC};

static void close_clock(struct source_set *sources, struct attribution_clock *clock)
{
    if (clock->handle)
        source_set_close(sources, clock->handle);
    clock->handle = 0;
    clock->again = true;
    clock->read_once = false;
}

void attribution_lane_close(struct attribution_context *self, struct attribution_lane *lane)
{
    for (int i = 0; i < ATTRIBUTION_CLOCKS; i++)
        close_clock(self->env.sources, &lane->clock[i]);
}

bool attribution_lane_is_open(const struct attribution_lane *lane)
{
    for (int i = 0; i < ATTRIBUTION_CLOCKS; i++)
        if (lane->clock[i].handle)
            return true;
    return false;
}

/* ---- as the lanes need it ---- */

static void drop(struct attribution_context *self, uint32_t workload)
{
    for (size_t i = 0; i < self->nodes.n; i++)
        attribution_node_drop(self->node[i], workload);
}

static void join(struct attribution_context *self, struct attribution_lane *lane)
{
    uint32_t number;
    int joined = workloads_join(&self->workloads, lane->container, &number);
    lane->workload = joined < 0 ? -1 : (int32_t)number;
}

void attribution_lane_leave(struct attribution_context *self, struct attribution_lane *lane)
{
    if (lane->workload < 0)
        return;
    uint32_t number = (uint32_t)lane->workload;
    lane->workload = -1;
    uint64_t ended_ns = lane->container->ended_mono_ns; /* 0: it has another name now */
    if (workloads_leave(&self->workloads, number, ended_ns ? ended_ns : self->now_ns))
        drop(self, number);
}

/* What it did under another name, or without, is its workload's, if that is new and it was alone in
 * the old one; else that has a past. */
static void join_by_name(struct attribution_context *self, struct attribution_lane *lane)
{
    uint32_t number;
    if (lane->workload < 0) { /* out of memory, when it was found or named */
        join(self, lane);
        return;
    }
    if (!workloads_is_alone(&self->workloads, (uint32_t)lane->workload)) {
        attribution_lane_leave(self, lane);
        join(self, lane);
        return;
    }
    if (workloads_name(&self->workloads, lane->container, (uint32_t)lane->workload, &number) != 0 ||
        number == (uint32_t)lane->workload)
        return;
    attribution_lane_leave(self, lane);
    lane->workload = (int32_t)number;
}

static void *lane_make(void *collector, const struct container *container)
{
    struct attribution_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->container = container;
    lane->path_len = strlen(container->path);
    lane->parent = -1;
    join(collector, lane);
    return lane;
}

/* Which of the groups a recording has shows only as it plays, and the basic one was not asked for
 * where another was. */
static bool may_tell(const struct attribution_context *self, int i, bool recorded)
{
    bool basic = attribution_clock_group[i] == GROUP_CPI && attribution_has_clocks(self);
    return (self->counted >> i & 1) || (recorded && basic);
}

static bool lane_open(void *collector, void *opaque)
{
    struct attribution_context *self = collector;
    struct attribution_lane *lane = opaque;
    struct verdict why = {0};
    bool recorded = lane->container->cgroup_fd < 0;
    int err = -ENODEV;
    for (int i = 0; i < ATTRIBUTION_CLOCKS && (err || recorded); i++)
        if (may_tell(self, i, recorded))
            err = container_group_open(self->env.sources, self->status, lane->container,
                                       attribution_clock_group[i], 0, &lane->clock[i].handle, &why);
    if (attribution_lane_is_open(lane))
        return true;
    if (container_group_lacking(self->status, err, &why))
        log_warn(self->env.log, "attribution", "%s cannot be named: %s", lane->container->path,
                 why.words);
    return false;
}

/* GROUP_IN_FLIGHT's, in attribution_clock_group. */
enum { LOADS_CLOCK = 2 };

bool attribution_clock_is_left(const struct attribution_context *self)
{
    return (self->counted >> LOADS_CLOCK & 1) &&
           core_group_is_left(&self->env, attribution_clock_group[LOADS_CLOCK]);
}

void attribution_lanes_fall_back(struct attribution_context *self, struct lanes *lanes)
{
    if (!attribution_clock_is_left(self))
        return;
    self->counted &= ~(1u << LOADS_CLOCK);
    struct attribution_lane *lane;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));) {
        if (!lane->clock[LOADS_CLOCK].handle)
            continue;
        close_clock(self->env.sources, &lane->clock[LOADS_CLOCK]);
        lanes->unopened += !lane->ending && !lane_open(self, lane);
    }
}

static bool lane_is_open(const void *lane)
{
    return attribution_lane_is_open(lane);
}

/* The other series come with the first suspicion. */
static void lane_name(void *collector, void *opaque)
{
    struct attribution_context *self = collector;
    struct attribution_lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    if (lane->workload < 0 || !workloads_has_name(&self->workloads, (uint32_t)lane->workload))
        join_by_name(self, lane);
    if (!attribution_has_clocks(self) || lane->cpu_series || !labels)
        return;
    int err = series_new(self->families.at[A_CPUS], labels, NULL, 0, &lane->cpu_series);
    if (err)
        log_warn(self->env.log, "attribution", "no CPU time of %s in the API: error %d",
                 lane->container->path, -err);
}

static void lane_rename(void *collector, void *opaque)
{
    struct attribution_context *self = collector;
    struct attribution_lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    join_by_name(self, lane);
    for (size_t i = 0; i < self->nodes.n; i++)
        if (lane->container->slot < self->node[i]->n_seats)
            named_series_relabel(self->node[i]->seats[lane->container->slot].series,
                                 A_CONTAINER_METRICS, labels);
    named_series_relabel(&lane->wait_series, 1, labels);
    named_series_relabel(&lane->cpu_series, 1, labels);
}

static void lane_end(void *lane)
{
    ((struct attribution_lane *)lane)->ending = true;
}

static void lane_free(void *collector, void *opaque)
{
    struct attribution_context *self = collector;
    struct attribution_lane *lane = opaque;
    attribution_lane_close(self, lane);
    source_set_close(self->env.sources, lane->moved.handle);
    attribution_lane_leave(self, lane);
    series_free(lane->wait_series);
    series_free(lane->cpu_series);
    for (size_t i = 0; i < self->nodes.n; i++)
        attribution_node_forget(self->node[i], lane->container->slot);
    free(lane);
}

const struct lane_ops attribution_lane_ops = {
    .collector = "attribution",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_end,
    .free = lane_free,
};

/* ---- a tick ---- */

static double window_seconds(const struct attribution_clock *clock, const struct tick *tick,
                             uint64_t since_ns)
{
    uint64_t from_ns = clock->read_once ? clock->last_mono_ns : since_ns;
    uint64_t length_ns = tick->mono_ns - from_ns;
    if (tick->mono_ns <= from_ns || (!clock->read_once && length_ns > tick->interval_ns))
        length_ns = tick->interval_ns;
    return (double)length_ns * 1e-9;
}

static enum traffic_window activity_in(const struct attribution_context *self,
                                       const struct group_window *window, double seconds,
                                       struct activity *out)
{
    if (window->group == GROUP_TRAFFIC)
        return traffic_of_window(window, &self->nodes, seconds, out);
    return activity_of_window(window, &self->nodes, seconds, out) ? TRAFFIC_OK : TRAFFIC_RESET;
}

int attribution_clock_read(struct attribution_context *self, struct attribution_clock *clock,
                           const struct tick *tick, uint64_t since_ns, struct activity *out)
{
    struct group_window window;
    if (!clock->handle)
        return -ENODATA;
    int err = source_set_read(self->env.sources, clock->handle, &window);
    if (err == -ENODATA || err == -ESRCH) /* the cgroup is gone */
        return err;
    if (err) {
        self->status->discarded[DISCARD_READ_ERROR]++;
        return err;
    }
    enum traffic_window status =
        activity_in(self, &window, window_seconds(clock, tick, since_ns), out);
    /* The counters that it has of its own, and for which others wait. */
    if (window.group == GROUP_TRAFFIC && status != TRAFFIC_RESET)
        window_book_times(self->status, window.sum);
    clock->last_mono_ns = tick->mono_ns;
    clock->read_once = true;
    if (clock->again) { /* it counts from when it was opened, which was some time in the window */
        clock->again = false;
        return -ENODATA;
    }
    if (status == TRAFFIC_OK)
        return 0;
    self->status->discarded[status == TRAFFIC_STARVED ? DISCARD_STARVED : DISCARD_RESET]++;
    return -ENODATA;
}

static void show_cpus(const struct attribution_context *self, const struct attribution_lane *lane)
{
    if (lane->read && attribution_has_clocks(self))
        live_put(self->env.live, lane->container, LIVE_CPUS, lane->usage.all);
    if (lane->cpu_series)
        series_show(lane->cpu_series, lane->read, lane->usage.all);
}

/* 0, also where there is no activity in this tick. */
static int lane_read(struct attribution_context *self, struct attribution_lane *lane,
                     const struct tick *tick)
{
    uint64_t found_ns = lane->container->found_mono_ns;
    struct activity usage;
    int err = -ENODATA;
    for (int i = 0; i < ATTRIBUTION_CLOCKS && err == -ENODATA; i++)
        err = attribution_clock_read(self, &lane->clock[i], tick, found_ns, &usage);
    lane->read = err == 0;
    if (lane->read) {
        lane->usage = usage;
        lane->read_once = true;
    }
    show_cpus(self, lane);
    if (err == -EMFILE) /* its descriptors were called in, for good */
        attribution_lane_close(self, lane);
    bool gone = err == -ENODATA || err == -EMFILE || err == -ESRCH;
    return gone ? 0 : err;
}

/* Opened again when descriptors may have become free; until then it is a part of the host. */
static void lose(struct attribution_context *self, struct lanes *lanes,
                 const struct attribution_lane *lane)
{
    struct verdict *verdict = &self->status->verdict;
    lanes->unopened += !lane->ending;
    if (verdict->reason == REASON_FD_LIMIT)
        return;
    verdict_set(verdict, REASON_FD_LIMIT,
                "counters need the file descriptors with which the CPU time of some containers was "
                "read: raise LimitNOFILE= or ulimit -n, or lower --containers.max");
    log_warn(self->env.log, "attribution", "%s", verdict->words);
}

int attribution_lanes_read(struct attribution_context *self, struct lanes *lanes,
                           const struct tick *tick, bool *silent)
{
    struct attribution_lane *lane;
    int result = 0;
    bool any = false, read = false;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));) {
        bool open = attribution_lane_is_open(lane);
        int err = lane_read(self, lane, tick);
        result = result ? result : err;
        if (open && !attribution_lane_is_open(lane))
            lose(self, lanes, lane);
        any |= attribution_lane_is_open(lane);
        read |= lane->read;
    }
    *silent = any && !read;
    return result;
}

/* ---- containers inside containers ---- */

static bool is_inside(const struct attribution_lane *inner, const struct attribution_lane *outer)
{
    return inner->path_len > outer->path_len && inner->container->path[outer->path_len] == '/' &&
           memcmp(inner->container->path, outer->container->path, outer->path_len) == 0;
}

struct attribution_lane *attribution_lane_parent(const struct lanes *lanes,
                                                 const struct attribution_lane *lane)
{
    return lane->parent < 0 ? NULL : lanes_at(lanes, (size_t)lane->parent);
}

/* What comes before it in that order lies inside of what is around it, or is that itself. */
void attribution_lanes_nest(struct lanes *lanes, const struct container_diff *diff)
{
    struct attribution_lane *around = NULL;
    if (!lanes_sort(lanes, diff))
        return;
    for (size_t i = 0; i < lanes->order.n; i++) {
        struct attribution_lane *lane = lanes_at(lanes, lanes->order.at[i]->slot);
        while (around && !is_inside(lane, around))
            around = attribution_lane_parent(lanes, around);
        lane->parent = around ? (int32_t)around->container->slot : -1;
        around = lane;
    }
}

struct attribution_lane *attribution_lane_outer(const struct lanes *lanes,
                                                const struct attribution_lane *lane)
{
    struct attribution_lane *outer = attribution_lane_parent(lanes, lane);
    while (outer && !attribution_lane_is_open(outer))
        outer = attribution_lane_parent(lanes, outer);
    return outer;
}
