/*
 * Where the lines came from that a container read from beyond its core complex: DRAM near and far,
 * another core complex, CXL memory. AMD's CPUs, and only when asked for: its group takes turns with
 * that of core_latency, so that the sum is memory_reads on average, not in each window.
 */
#include <errno.h>
#include <stdlib.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/lanes.h"
#include "collectors/parts/named_series.h"
#include "collectors/parts/window_read.h"
#include "collectors/table.h"

/* Containers that really ran for this long, and read nothing from anywhere, do not exist. */
static const uint64_t judged_after_ns = 1000000000;

static const struct metric_desc reads_desc =
    METRIC(COUNTER, U64, "interference_container_memory_reads_by_source", "container, source",
           "Lines that came into the L1 data cache from beyond the core complex, by where they "
           "were. A high share of far_dram: its memory is on another NUMA node; of other_ccx: it "
           "shares written lines with threads elsewhere; of cxl: its memory is slow.");

static const struct metric_desc *const metrics[] = {&reads_desc, NULL};

/* In the order of the group's roles. */
enum { SOURCES = 4 };
static const char *const sources[SOURCES] = {"near_dram", "far_dram", "other_ccx", "cxl"};

/* One container. */
struct lane {
    struct lane_base base; /* first */
    bool made;             /* the series are */
    uint32_t counted;      /* bit s: the source was ever counted */
    uint64_t total[SOURCES];
    struct series *series[SOURCES];
};

struct fill_sources {
    struct collector_env env;
    struct collector_status *status;
    struct family *family;
    struct lanes lanes;
    bool counting;          /* something was counted once */
    uint64_t ran_ns;        /* without counting anything */
    struct verdict verdict; /* the status's, but while nothing was counted */
};

static bool fill_sources_probe(const struct collector_env *env, struct verdict *why)
{
    return source_set_check(env->sources, SCOPE_CGROUP, GROUP_SOURCES, why);
}

/* ---- containers ---- */

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    return lane_base_new(sizeof(struct lane), container, GROUP_SOURCES);
}

static bool lane_open(void *collector, void *lane)
{
    struct fill_sources *self = collector;
    return lane_base_open(lane, &self->env, self->status, "fill_sources", "is not counted") == 0;
}

static void lane_free(void *collector, void *opaque)
{
    struct fill_sources *self = collector;
    struct lane *lane = opaque;
    lane_base_close(&lane->base, self->env.sources);
    named_series_release(lane->series, SOURCES);
    free(lane);
}

/* A guest's hypervisor may let these events open and count nothing: no zeros then. */
static void lane_show(const struct fill_sources *self, const struct lane *lane)
{
    for (int s = 0; s < SOURCES && lane->made; s++)
        series_show_u64(lane->series[s], self->counting && (lane->counted >> s & 1),
                        lane->total[s]);
}

static void lane_name(void *collector, void *opaque)
{
    struct fill_sources *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    int err = 0;
    if (!labels || lane->made)
        return;
    for (int s = 0; s < SOURCES && !err; s++) {
        const struct label own[] = {{"source", sources[s]}};
        err = series_new(self->family, labels, own, 1, &lane->series[s]);
    }
    lane->made = lane_base_named(&lane->base, &self->env, "fill_sources", err) == 0;
    if (err)
        named_series_release(lane->series, SOURCES);
    lane_show(self, lane);
}

static void lane_rename(void *collector, void *opaque)
{
    struct fill_sources *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    lane->made = lane->made && named_series_relabel(lane->series, SOURCES, labels);
}

static const struct lane_ops lane_ops = {
    .collector = "fill_sources",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_base_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_base_end,
    .free = lane_free,
};

static void fill_sources_reconcile(void *opaque, const struct container_diff *diff)
{
    struct fill_sources *self = opaque;
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log))
        (void)fill_sources_probe(&self->env, &self->status->verdict);
}

/* ---- a tick ---- */

static int lane_read(struct fill_sources *self, struct lane *lane)
{
    struct window_sum sum;
    enum window_status status;
    int err = window_read(self->env.sources, lane->base.handle, self->status, &sum, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    if (status != WINDOW_OK)
        return 0;
    self->ran_ns += sum.running_ns;
    for (int s = 0; s < SOURCES; s++) {
        uint64_t count;
        if (!window_count(&sum, GROUP_SOURCES, group_descs[GROUP_SOURCES].roles[s], &count))
            continue;
        lane->counted |= UINT32_C(1) << s;
        lane->total[s] += count;
        self->counting |= count > 0;
    }
    return 0;
}

static void judge(struct fill_sources *self)
{
    struct collector_status *status = self->status;
    bool silent = !self->counting && self->ran_ns >= judged_after_ns;
    status_silence(status, silent, &self->verdict);
    if (silent)
        verdict_set(&status->verdict, REASON_EVENT_FILTERED,
                    "the events of fills by source open, but count nothing in containers that "
                    "run: the hypervisor filters them; use bare metal or an instance type with a "
                    "full PMU");
}

static int fill_sources_collect(void *opaque, const struct tick *tick)
{
    struct fill_sources *self = opaque;
    int result = 0;
    (void)tick;
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        int err = lane && lane->base.handle ? lane_read(self, lane) : 0;
        result = result ? result : err;
    }
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        lane_show(self, lane);
        if (lane->base.ending && lane->base.handle) {
            lane_base_close(&lane->base, self->env.sources);
            lanes_closed_one(&self->lanes, self->status);
        }
    }
    judge(self);
    return result;
}

/* ---- life ---- */

static void fill_sources_stop(void *opaque)
{
    struct fill_sources *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    free(self);
}

static int fill_sources_start(const struct collector_env *env, struct collector_status *status,
                              void **out)
{
    struct fill_sources *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    *self = (struct fill_sources){.env = *env, .status = status};
    lanes_init(&self->lanes, &lane_ops, self);
    int err = store_family(env->store, &reads_desc, "fill_sources", &self->family);
    if (err) {
        fill_sources_stop(self);
        return err;
    }
    *out = self;
    return 0;
}

static uint32_t fill_sources_groups(const void *config)
{
    (void)config;
    return UINT32_C(1) << GROUP_SOURCES;
}

const struct collector_ops fill_sources_collector = {
    .name = "fill_sources",
    .summary = "from where each container's reads of memory were served, on AMD's CPUs",
    .default_on = COLLECTOR_OFF,
    .metrics = metrics,
    .discards = DISCARDS_OF_WINDOWS,
    .more_groups = fill_sources_groups,
    .probe = fill_sources_probe,
    .start = fill_sources_start,
    .reconcile = fill_sources_reconcile,
    .collect = fill_sources_collect,
    .stop = fill_sources_stop,
};
