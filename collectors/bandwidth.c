/*
 * What each pod and container moves to and from memory, stores and prefetched lines in it, and what
 * of the last-level caches it has: from monitoring groups of the kernel's resctrl that others made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/bandwidth/series.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/lanes.h"
#include "collectors/table.h"
#include "exporter/base/array.h"
#include "exporter/containers/container.h"

/*
 * A pod whose monitoring group is the pod's: which containers it has, and what they moved together.
 * The group is open by one of the containers; when that one ends, by another.
 */
struct pod {
    char uid[64];
    size_t members;                 /* lanes that have joined it */
    const struct container *holder; /* by which its group is open; NULL: by none */
    group_handle handle;            /* 0: not open */
    struct labelset *labels;        /* owned; NULL: no member has names yet */
    struct bandwidth_series series;
};

/* All zero: there is none. */
struct pods {
    struct pod **at; /* owned, each at an address of its own */
    size_t n, cap;
};

static void pod_free(struct pod *pod)
{
    bandwidth_series_release(&pod->series);
    labelset_unref(pod->labels);
    free(pod);
}

static void pods_release(struct pods *pods)
{
    for (size_t i = 0; i < pods->n; i++)
        pod_free(pods->at[i]);
    free(pods->at);
    *pods = (struct pods){0};
}

/* The container's pod, which it joins; NULL: it has none, or out of memory. */
static struct pod *pods_join(struct pods *pods, const struct container *container)
{
    const char *uid = container->pod_uid;
    size_t i = 0;
    if (!*uid || strlen(uid) >= sizeof pods->at[0]->uid)
        return NULL;
    while (i < pods->n && strcmp(pods->at[i]->uid, uid) != 0)
        i++;
    if (i == pods->n) {
        struct pod *made = calloc(1, sizeof *made);
        if (!made || array_reserve(&pods->at, &pods->cap, pods->n + 1, sizeof(struct pod *))) {
            free(made);
            return NULL;
        }
        snprintf(made->uid, sizeof made->uid, "%s", uid);
        pods->at[pods->n++] = made;
    }
    pods->at[i]->members++;
    return pods->at[i];
}

/* The last one who leaves takes the pod away; its group must not be open then. */
static void pods_leave(struct pods *pods, struct pod *pod)
{
    size_t i = 0;
    if (--pod->members > 0)
        return;
    while (pods->at[i] != pod)
        i++;
    pods->at[i] = pods->at[--pods->n];
    pod_free(pod);
}

/* As the container has it, of which it knows now, or by its UID where no names are known: the pod's
 * series get their labels. 0 or -errno. */
static int pod_name(struct pod *pod, const struct container *container)
{
    const struct label labels[] = {{"namespace", container->namespace_},
                                   {"pod", *container->pod ? container->pod : pod->uid},
                                   {"container", ""},
                                   {"container_id", ""}};
    struct labelset *made;
    int err = labelset_new(labels, sizeof labels / sizeof *labels, &made);
    if (err)
        return err;
    bandwidth_series_relabel(&pod->series, made);
    labelset_unref(pod->labels);
    pod->labels = made;
    return 0;
}

/* After so many ticks without a reading of anybody's there are none: of a recording, or since
 * nobody can be monitored. A group is silent for the first fifteen seconds. */
enum { SILENT_TICKS = 30 };

/* Who has no group may have one now. */
static const uint64_t retry_ns = 5000000000;

struct lane {
    struct lane_base base; /* first; its own group */
    struct pod *pod;       /* NULL: none */
    struct bandwidth_series series;
};

/* Sockets, and what is on none that is known. */
enum { SOCKETS = MACHINE_SOCKETS + 1 };

struct bandwidth {
    struct collector_env env;
    struct collector_status *status;
    struct bandwidth_families families;
    struct lanes lanes;
    struct pods pods;
    group_handle node; /* 0: not open */
    struct bandwidth_series sockets[SOCKETS];
    bool readings; /* there was one once */
    uint64_t ticks, checked_ns;
};

static bool bandwidth_probe(const struct collector_env *env, struct verdict *why)
{
    return source_set_check(env->sources, SCOPE_MACHINE, GROUP_BANDWIDTH, why);
}

/* ---- a pod's group ---- */

static bool pod_open_by(struct bandwidth *self, struct pod *pod, const struct container *container)
{
    struct verdict why;
    if (container_group_open(self->env.sources, self->status, container, GROUP_POD_BANDWIDTH, 0,
                             &pod->handle, &why) != 0)
        return false;
    pod->holder = container;
    return true;
}

static void pod_close(struct bandwidth *self, struct pod *pod)
{
    source_set_close(self->env.sources, pod->handle);
    pod->handle = 0;
    pod->holder = NULL;
}

/* Another of the pod holds it before this one lets it go, so that nothing of it is missed. */
static void pass_on(struct bandwidth *self, const struct lane *from)
{
    struct pod *pod = from->pod;
    group_handle before = pod->handle;
    if (pod->holder != from->base.container)
        return;
    pod->handle = 0;
    pod->holder = NULL;
    for (size_t i = 0; i < self->lanes.n && !pod->handle; i++) {
        const struct lane *lane = lanes_at(&self->lanes, i);
        if (lane && lane != from && lane->pod == pod && !lane->base.ending)
            (void)pod_open_by(self, pod, lane->base.container);
    }
    if (!pod->handle)
        bandwidth_series_clear(&pod->series);
    source_set_close(self->env.sources, before);
}

/* ---- containers ---- */

static void lane_close(struct bandwidth *self, struct lane *lane)
{
    lane_base_close(&lane->base, self->env.sources);
    bandwidth_series_clear(&lane->series);
    if (lane->pod)
        pass_on(self, lane);
}

static void lane_free(void *collector, void *opaque)
{
    struct bandwidth *self = collector;
    struct lane *lane = opaque;
    lane_close(self, lane);
    if (lane->pod)
        pods_leave(&self->pods, lane->pod);
    bandwidth_series_release(&lane->series);
    free(lane);
}

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    return lane_base_new(sizeof(struct lane), container, GROUP_BANDWIDTH);
}

static void join_pod(struct bandwidth *self, struct lane *lane)
{
    if (!lane->pod)
        lane->pod = pods_join(&self->pods, lane->base.container);
    if (lane->pod && !lane->pod->handle)
        (void)pod_open_by(self, lane->pod, lane->base.container);
}

static bool lane_is_open(const void *opaque)
{
    const struct lane *lane = opaque;
    return lane->base.handle && (!lane->pod || lane->pod->handle);
}

/* Its own group, and its pod's: which of them comes later, or again, is looked for. */
static bool lane_open(void *collector, void *opaque)
{
    struct bandwidth *self = collector;
    struct lane *lane = opaque;
    struct verdict why;
    join_pod(self, lane);
    if (!lane->base.handle)
        (void)container_group_open(self->env.sources, self->status, lane->base.container,
                                   GROUP_BANDWIDTH, 0, &lane->base.handle, &why);
    return lane_is_open(lane);
}

static void extend(struct bandwidth *self, struct lane *lane)
{
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    int err = 0;
    if (labels && bandwidth_series_lacks(&lane->series))
        err = bandwidth_series_extend(&lane->series, &self->families, BANDWIDTH_CONTAINER, labels,
                                      NULL);
    if (!err && lane->pod && lane->pod->labels && bandwidth_series_lacks(&lane->pod->series))
        err = bandwidth_series_extend(&lane->pod->series, &self->families, BANDWIDTH_CONTAINER,
                                      lane->pod->labels, NULL);
    (void)lane_base_named(&lane->base, &self->env, "bandwidth", err);
}

static void lane_name(void *collector, void *opaque)
{
    struct bandwidth *self = collector;
    struct lane *lane = opaque;
    if (!lane->base.ending)
        join_pod(self, lane); /* whose UID may have come with its names */
    if (lane->pod)
        (void)lane_base_named(&lane->base, &self->env, "bandwidth",
                              pod_name(lane->pod, lane->base.container));
    extend(self, lane);
}

static void lane_rename(void *collector, void *opaque)
{
    struct bandwidth *self = collector;
    struct lane *lane = opaque;
    bandwidth_series_relabel(&lane->series,
                             container_labels_get(self->env.labels, lane->base.container));
    if (lane->pod)
        (void)lane_base_named(&lane->base, &self->env, "bandwidth",
                              pod_name(lane->pod, lane->base.container));
}

static const struct lane_ops lane_ops = {
    .collector = "bandwidth",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_base_end,
    .free = lane_free,
};

static bool lane_lacks(const struct lane *lane)
{
    return lane->base.container->named &&
           (bandwidth_series_lacks(&lane->series) ||
            (lane->pod && lane->pod->labels && bandwidth_series_lacks(&lane->pod->series)));
}

static void extend_node(struct bandwidth *self)
{
    for (int i = 0; i < SOCKETS; i++) {
        char socket[16] = "unknown";
        if (i < MACHINE_SOCKETS)
            snprintf(socket, sizeof socket, "%d", i);
        if (bandwidth_series_lacks(&self->sockets[i]) &&
            bandwidth_series_extend(&self->sockets[i], &self->families, BANDWIDTH_NODE, NULL,
                                    socket) != 0)
            log_error(self->env.log, "bandwidth", "out of memory: no series for a socket");
    }
}

static void bandwidth_reconcile(void *opaque, const struct container_diff *diff)
{
    struct bandwidth *self = opaque;
    (void)lanes_reconcile(&self->lanes, diff, self->status, self->env.log);
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        if (lane_lacks(lane))
            extend(self, lane);
    extend_node(self);
}

/* ---- a tick ---- */

/* 0, also when there is nothing in this tick; otherwise the group is lost. */
static int read_group(struct bandwidth *self, group_handle handle, struct bandwidth_series *series)
{
    struct group_window window;
    struct bandwidth_row row;
    int err = handle ? source_set_read(self->env.sources, handle, &window) : -ENODATA;
    if (err == -ENODATA)
        return 0;
    if (err) {
        self->status->discarded[DISCARD_READ_ERROR] += err != -ESRCH && err != -EMFILE;
        return err;
    }
    bandwidth_series_begin(series);
    for (size_t i = 0; i < window.after->n; i++) {
        bandwidth_row_make(&window, i, &row);
        bandwidth_series_add(series, &row);
        self->readings |= row.known != 0;
        self->status->discarded[DISCARD_RESET] +=
            !(row.known >> MON_TOTAL_BYTES & 1) && (series->seen >> MON_TOTAL_BYTES & 1);
    }
    return 0;
}

/* Its group was removed, or its descriptor called in: it may have one again. */
static void lane_lose(struct bandwidth *self, struct lane *lane)
{
    lane_base_close(&lane->base, self->env.sources);
    bandwidth_series_clear(&lane->series);
    self->lanes.unopened += !lane->base.ending;
}

static void read_lane(struct bandwidth *self, struct lane *lane)
{
    struct pod *pod = lane->pod;
    if (read_group(self, lane->base.handle, &lane->series) != 0)
        lane_lose(self, lane);
    if (pod && pod->holder == lane->base.container &&
        read_group(self, pod->handle, &pod->series) != 0) {
        pod_close(self, pod);
        bandwidth_series_clear(&pod->series);
        self->lanes.unopened += !lane->base.ending;
    }
}

static int socket_of(const struct bandwidth *self, int cpu)
{
    int socket = machine_socket_of(&self->env.facts->machine, cpu);
    return socket < 0 ? MACHINE_SOCKETS : socket;
}

static void read_node(struct bandwidth *self)
{
    struct group_window window;
    struct bandwidth_row row;
    int err = self->node ? source_set_read(self->env.sources, self->node, &window) : -ENODATA;
    if (err == -ENODATA)
        return;
    for (int i = 0; i < SOCKETS; i++)
        err ? bandwidth_series_clear(&self->sockets[i]) : bandwidth_series_begin(&self->sockets[i]);
    for (size_t i = 0; !err && i < window.after->n; i++) {
        bandwidth_row_make(&window, i, &row);
        bandwidth_series_add(&self->sockets[socket_of(self, row.cpu)], &row);
        self->readings |= row.known != 0;
    }
    for (int i = 0; i < SOCKETS; i++) {
        bandwidth_series_show(&self->sockets[i]);
        self->status->wants_reconcile |= bandwidth_series_lacks(&self->sockets[i]);
    }
}

/* Groups come and go while it runs; the node's own figures are there in any case. */
static void judge(struct bandwidth *self, const struct tick *tick)
{
    struct verdict *verdict = &self->status->verdict;
    self->ticks++;
    if (tick->mono_ns - self->checked_ns < retry_ns && self->checked_ns > 0)
        return;
    self->checked_ns = tick->mono_ns;
    self->status->wants_reconcile |= self->lanes.unopened > 0;
    enum reason before = verdict->reason;
    verdict_clear(verdict);
    (void)source_set_check(self->env.sources, SCOPE_CGROUP, GROUP_BANDWIDTH, verdict);
    if (verdict->reason == REASON_OK && !self->readings && self->ticks > SILENT_TICKS)
        verdict_set(verdict, REASON_NO_GROUPS, "no monitoring group gives a reading");
    self->status->unavailable = verdict->reason != REASON_OK;
    if (verdict->reason != before)
        log_info(self->env.log, "bandwidth", "%s", verdict->words);
}

static int bandwidth_collect(void *opaque, const struct tick *tick)
{
    struct bandwidth *self = opaque;
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        read_lane(self, lane);
    /* After all readings: who opens a pod's group in this tick has the same window once more. */
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        if (lane->base.ending &&
            (lane->base.handle || (lane->pod && lane->pod->holder == lane->base.container)))
            lane_close(self, lane);
        bandwidth_series_show(&lane->series);
        if (lane->pod)
            bandwidth_series_show(&lane->pod->series);
        self->status->wants_reconcile |= lane_lacks(lane);
    }
    read_node(self);
    judge(self, tick);
    return 0;
}

/* ---- life ---- */

static void bandwidth_stop(void *opaque)
{
    struct bandwidth *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    pods_release(&self->pods);
    source_set_close(self->env.sources, self->node);
    for (int i = 0; i < SOCKETS; i++)
        bandwidth_series_release(&self->sockets[i]);
    free(self);
}

static int bandwidth_start(const struct collector_env *env, struct collector_status *status,
                           void **out)
{
    const struct scope node = {.kind = SCOPE_MACHINE, .key = "host", .cgroup_fd = -1};
    struct bandwidth *self = calloc(1, sizeof *self);
    struct verdict why;
    if (!self)
        return -ENOMEM;
    *self = (struct bandwidth){.env = *env, .status = status};
    lanes_init(&self->lanes, &lane_ops, self);
    int err = bandwidth_families_register(&self->families, env->store);
    if (err) {
        bandwidth_stop(self);
        return err;
    }
    if (source_set_open(env->sources, &node, GROUP_BANDWIDTH, &self->node, &why) != 0)
        log_warn(env->log, "bandwidth", "what all together move is not known: %s", why.words);
    (void)source_set_check(env->sources, SCOPE_CGROUP, GROUP_BANDWIDTH, &status->verdict);
    *out = self;
    return 0;
}

const struct collector_ops bandwidth_collector = {
    .name = "bandwidth",
    .summary = "what pods and containers move to and from memory, by resctrl's monitoring groups",
    .default_on = COLLECTOR_AUTO,
    .metrics = bandwidth_metrics,
    .discards = DISCARD_BIT(DISCARD_RESET) | DISCARD_BIT(DISCARD_READ_ERROR),
    .probe = bandwidth_probe,
    .start = bandwidth_start,
    .reconcile = bandwidth_reconcile,
    .collect = bandwidth_collect,
    .stop = bandwidth_stop,
};
