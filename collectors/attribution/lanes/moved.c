#include "collectors/attribution/lanes/moved.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "collectors/parts/container_group.h"
#include "exporter/source/bandwidth_window.h"

enum { LINE_BYTES = 64 };
/* Of the containers' CPU time. */
static const double most = 0.9;
/* Windows, and ticks, until the one or the other is believed. */
enum { COVERS = 3, UNCOVERED = 24, SILENT = 120 };
static const uint64_t look_ns = 5000000000;

void moved_init(struct moved *moved, struct attribution_context *in)
{
    const struct scope scope = {.kind = SCOPE_MACHINE, .key = "host", .cgroup_fd = -1};
    struct verdict why = {0};
    *moved = (struct moved){.in = in};
    /* A recording has all groups that it is asked for, and says nothing of them. */
    moved->wanted = source_set_check(in->env.sources, SCOPE_CGROUP, GROUP_BANDWIDTH, &why) &&
                    why.words[0] != '\0';
    moved->uncovered = UNCOVERED - COVERS; /* whose they are is not known yet */
    if (source_set_check(in->env.sources, SCOPE_MACHINE, GROUP_BANDWIDTH, &why))
        (void)source_set_open(in->env.sources, &scope, GROUP_BANDWIDTH, &moved->machine, &why);
}

void moved_close(struct moved *moved, struct attribution_lane *lane)
{
    if (!moved->in)
        return;
    source_set_close(moved->in->env.sources, lane->moved.handle);
    lane->moved.handle = 0;
    lane->moved.known = false;
}

void moved_release(struct moved *moved)
{
    if (moved->in)
        source_set_close(moved->in->env.sources, moved->machine);
    moved->machine = 0;
}

/* ---- groups ---- */

/* Its own; else its pod's. */
static void open_lane(struct moved *moved, struct attribution_lane *lane)
{
    struct collector_status ignored = {0}; /* it is known by CPU time */
    struct verdict why;
    struct attribution_moved *of = &lane->moved;
    struct source_set *sources = moved->in->env.sources;
    of->pods = container_group_open(sources, &ignored, lane->container, GROUP_BANDWIDTH, 0,
                                    &of->handle, &why) != 0;
    if (of->pods)
        (void)container_group_open(sources, &ignored, lane->container, GROUP_POD_BANDWIDTH, 0,
                                   &of->handle, &why);
}

static bool lacks_group(const struct attribution_lane *lane)
{
    return !lane->moved.handle && !lane->ending;
}

void moved_open(struct moved *moved, struct lanes *lanes)
{
    struct attribution_lane *lane;
    struct verdict why = {0};
    if (!moved->in ||
        !source_set_check(moved->in->env.sources, SCOPE_CGROUP, GROUP_BANDWIDTH, &why))
        return;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        if (lacks_group(lane))
            open_lane(moved, lane);
}

bool moved_wants(struct moved *moved, const struct lanes *lanes, const struct tick *tick)
{
    const struct attribution_lane *lane;
    struct verdict why = {0};
    if (!moved->in || tick->mono_ns - moved->looked_ns < look_ns)
        return false;
    moved->looked_ns = tick->mono_ns;
    if (!source_set_check(moved->in->env.sources, SCOPE_CGROUP, GROUP_BANDWIDTH, &why))
        return false;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        if (lacks_group(lane))
            return true;
    return false;
}

/* ---- a window ---- */

static void add(struct activity *out, const struct activity_nodes *nodes, int numa_node,
                double lines)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (numa_node < 0 || nodes->machine->numa_nodes == 1 || nodes->at[i].numa_node == numa_node)
            out->on[i] += lines;
}

static void add_row(struct activity *out, const struct activity_nodes *nodes,
                    const struct bandwidth_row *row)
{
    const struct machine *machine = nodes->machine;
    int node = machine_numa_node_of(machine, row->cpu);
    double unit = 1 / (LINE_BYTES * row->seconds);
    double total = (double)row->value[MON_TOTAL_BYTES] * unit, local = total;
    out->all += total;
    if (row->known >> MON_LOCAL_BYTES & 1)
        local = fmin(total, (double)row->value[MON_LOCAL_BYTES] * unit);
    if (node < 0 || machine->numa_nodes == 1) {
        add(out, nodes, node, total);
        return;
    }
    add(out, nodes, node, local);
    for (size_t i = 0; i < nodes->n; i++)
        if (nodes->at[i].numa_node != node)
            out->on[i] += (total - local) / (machine->numa_nodes - 1);
}

/* 0 with *out, all of which is known; -ENODATA; or an error of the source. */
static int read_lines(const struct moved *moved, group_handle handle, struct activity *out)
{
    struct group_window window;
    int err = handle ? source_set_read(moved->in->env.sources, handle, &window) : -ENODATA;
    if (err)
        return err;
    double seconds = 0;
    memset(out, 0, sizeof *out);
    out->placed = true;
    for (size_t i = 0; i < window.after->n; i++) {
        struct bandwidth_row row;
        bandwidth_row_make(&window, i, &row);
        if (!(row.known >> MON_TOTAL_BYTES & 1))
            return -EAGAIN; /* it was read, and says nothing */
        seconds += row.seconds;
        if (row.seconds > 0)
            add_row(out, &moved->in->nodes, &row);
    }
    return seconds > 0 ? 0 : -ENODATA;
}

static double cpus_of(const struct moved *moved, const struct attribution_lane *lane)
{
    double sum = 0;
    for (unsigned k = 0; k < moved->n; k++)
        sum += isnan(lane->moved.cpus[k]) ? 0 : (double)lane->moved.cpus[k];
    return sum;
}

static bool is_of_pod(const struct attribution_lane *lane, const char *pod_uid)
{
    return lane && lane->moved.pods && lane->moved.known &&
           strcmp(lane->container->pod_uid, pod_uid) == 0;
}

static void scale(struct activity *activity, double factor)
{
    activity->all *= factor;
    for (size_t i = 0; i < ATTRIBUTION_NODES; i++)
        activity->on[i] *= factor;
}

/* Containers of a pod lie beside each other in the order of paths. */
static void share_pods(const struct moved *moved, const struct lanes *lanes)
{
    const struct path_order *order = &lanes->order;
    for (size_t first = 0, next; first < order->n; first = next) {
        const char *uid = order->at[first]->pod_uid;
        double all = 0;
        for (next = first; next < order->n && strcmp(order->at[next]->pod_uid, uid) == 0; next++) {
            const struct attribution_lane *lane = lanes_at(lanes, order->at[next]->slot);
            all += is_of_pod(lane, uid) ? cpus_of(moved, lane) : 0;
        }
        for (size_t i = first; i < next && *uid && next - first > 1; i++) {
            struct attribution_lane *lane = lanes_at(lanes, order->at[i]->slot);
            if (is_of_pod(lane, uid))
                scale(&lane->moved.lines, all > 0 ? cpus_of(moved, lane) / all : 0);
        }
    }
}

/* Groups are read together: who has no reading in such a tick did not do as much as before. */
static void leave_unread(const struct lanes *lanes)
{
    struct attribution_lane *lane;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        lane->moved.known &= lane->moved.read;
}

static void add_up(struct moved *moved, const struct lanes *lanes)
{
    const struct attribution_lane *lane;
    memset(moved->containers, 0, sizeof moved->containers);
    for (size_t slot = 0; (lane = lanes_next(lanes, &slot));)
        for (size_t i = 0; i < ATTRIBUTION_NODES && lane->moved.known; i++)
            moved->containers[i] += lane->moved.lines.on[i];
}

/* Who has come, and has no first window yet, did something meanwhile: what comes with its CPU time,
 * as if all moved as much with theirs, and no more than is nobody's. Without that its start would
 * be seen when the latency's step is long over. */
static void guess(struct moved *moved, const struct lanes *lanes)
{
    struct attribution_lane *lane;
    double cpus = 0;
    for (size_t slot = 0; (lane = lanes_next(lanes, &slot));)
        cpus += cpus_of(moved, lane);
    if (!moved->machine_known || !(cpus > 0))
        return;
    for (size_t slot = 0; (lane = lanes_next(lanes, &slot));) {
        if (!lane->moved.handle || lane->moved.met || lane->ending)
            continue;
        for (size_t i = 0; i < moved->in->nodes.n; i++) {
            double all = moved->everybody.on[i], left = fmax(0, all - moved->containers[i]);
            lane->moved.lines.on[i] = fmin(left, all * cpus_of(moved, lane) / cpus);
            moved->containers[i] += lane->moved.lines.on[i];
        }
        lane->moved.known = true;
    }
}

static void judge(struct moved *moved, const struct lanes *lanes)
{
    const struct attribution_lane *lane;
    double covered = 0, all = 0;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));) {
        double cpus = cpus_of(moved, lane);
        all += cpus;
        covered += lane->moved.known ? cpus : 0;
    }
    bool covers = covered > 0 && covered >= most * all;
    moved->covers = covers ? moved->covers + 1 : 0;
    moved->uncovered = covers ? 0 : moved->uncovered + 1;
    if (moved->covers >= COVERS)
        moved->wanted = true;
    if (moved->uncovered >= UNCOVERED)
        moved->wanted = false;
}

bool moved_read(struct moved *moved, const struct lanes *lanes)
{
    struct attribution_lane *lane;
    bool any = false;
    if (!moved->in)
        return false;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));) {
        struct activity lines;
        int err = read_lines(moved, lane->moved.handle, &lines);
        lane->moved.read = err == 0;
        if (err == -ENODATA)
            continue;
        if (!err)
            lane->moved.lines = lines;
        lane->moved.known = err == 0;
        lane->moved.met |= err == 0;
        any |= err == 0;
        if (err && err != -EAGAIN) /* removed, or its descriptor was called in */
            moved_close(moved, lane);
    }
    struct activity everybody;
    int err = read_lines(moved, moved->machine, &everybody);
    if (err != -ENODATA)
        moved->machine_known = err == 0;
    if (!err)
        moved->everybody = everybody;
    moved->silent = any ? 0 : moved->silent + 1;
    if (moved->silent > SILENT)
        moved->wanted = false;
    if (!any)
        return false;
    leave_unread(lanes);
    share_pods(moved, lanes);
    add_up(moved, lanes);
    judge(moved, lanes);
    guess(moved, lanes);
    return true;
}

/* ---- its ticks ---- */

void moved_note(struct moved *moved, const struct lanes *lanes, const struct tick *tick,
                const double latency_seconds[ATTRIBUTION_NODES])
{
    struct attribution_lane *lane;
    if (!moved->in)
        return;
    if (moved->n == MOVED_TICKS) /* nobody reads: what is older is of no window */
        moved->n = 0;
    unsigned k = moved->n++;
    moved->tick[k] = *tick;
    for (size_t i = 0; i < ATTRIBUTION_NODES; i++)
        moved->latency_seconds[i][k] = latency_seconds[i];
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        lane->moved.cpus[k] = lane->read ? (float)lane->usage.all : NAN;
}

void moved_begin(struct moved *moved)
{
    moved->n = 0;
}

/* How much of the mean it did in this tick, by its CPU time. */
static double part(const struct moved *moved, const struct attribution_lane *lane, unsigned k)
{
    double sum = cpus_of(moved, lane);
    if (k >= moved->n || !(sum > 0) || isnan(lane->moved.cpus[k]))
        return 1;
    return (double)lane->moved.cpus[k] * moved->n / sum;
}

void moved_seat(const struct moved *moved, const struct lanes *lanes, unsigned k)
{
    const struct attribution_context *in = moved->in;
    for (size_t slot = 0; slot < lanes->n; slot++) {
        const struct attribution_lane *lane = lanes_at(lanes, slot);
        bool known = lane && lane->moved.known;
        double factor = known ? part(moved, lane, k) : NAN;
        for (size_t i = 0; i < in->nodes.n; i++) {
            if (slot >= in->node[i]->n_seats)
                continue;
            struct attribution_seat *seat = &in->node[i]->seats[slot];
            seat->rate = known ? lane->moved.lines.on[i] * factor : NAN;
            seat->workload = lane ? lane->workload : -1;
            seat->counted = lane && lane->moved.handle && !lane->ending;
        }
    }
}

/* Of a node, after that: what everybody moved. False: nobody counts it.
 * The host does not follow the containers' CPU time, as which the window's mean was shared out. */
static bool everybody_on(const struct moved *moved, size_t node, double *lines_per_second)
{
    const struct attribution_node *of = moved->in->node[node];
    double sum = 0;
    if (!moved->machine)
        return false;
    *lines_per_second = NAN;
    if (!moved->machine_known)
        return true;
    for (size_t slot = 0; slot < of->n_seats; slot++)
        sum += isnan(of->seats[slot].rate) ? 0 : of->seats[slot].rate;
    *lines_per_second = fmax(0, moved->everybody.on[node] - moved->containers[node]) + sum;
    return true;
}

void moved_take(const struct moved *moved, const struct lanes *lanes)
{
    const struct attribution_context *in = moved->in;
    for (unsigned k = 0; k < moved->n; k++) {
        moved_seat(moved, lanes, k);
        for (size_t i = 0; i < in->nodes.n; i++) {
            double everybody = NAN, seconds = moved->latency_seconds[i][k];
            bool counted = everybody_on(moved, i, &everybody);
            attribution_node_measure(in->node[i], counted, everybody);
            if (isnan(seconds))
                attribution_node_miss(in->node[i], &moved->tick[k]);
            else
                in->status->wants_reconcile |=
                    attribution_node_take(in->node[i], &moved->tick[k], seconds, NAN, in->scratch);
        }
    }
}
