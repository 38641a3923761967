#include "collectors/core_latency/lane.h"

#include <stdlib.h>

#include "collectors/core_latency/counts.h"
#include "collectors/parts/named_series.h"

int latency_families_register(struct core_latency_collector *self)
{
    int err = 0;
    for (int i = 0; i < C_SERIES && !err; i++) {
        const struct metric_desc *desc = &core_latency_stall_descs[i];
        if (self->group != GROUP_MISSES || !desc->name) {
            desc = &core_latency_container_descs[i];
            if (self->container_family[i] ||
                (i == C_HISTOGRAM && !self->config->container_histogram))
                continue;
        }
        err = store_family(self->env.store, desc, latency_lane_ops.collector,
                           &self->container_family[i]);
    }
    return err;
}

static void lane_free(void *collector, void *opaque)
{
    struct core_latency_collector *self = collector;
    struct lane *lane = opaque;
    struct read_latency *told =
        read_latencies_entry(&self->env.facts->reads, lane->core.base.container->slot);
    if (told)
        *told = (struct read_latency){.tick = 0};
    lane_base_close(&lane->core.base, self->env.sources);
    named_series_release(lane->series, C_SERIES);
    free(lane);
}

static bool lane_open(void *collector, void *opaque)
{
    struct core_latency_collector *self = collector;
    struct lane *lane = opaque;
    return lane_base_open(&lane->core.base, &self->env, self->status, "core_latency",
                          "is not counted") == 0;
}

bool latency_lane_counts(const struct lane *lane, enum container_metric c)
{
    bool basic = lane->core.base.opened && !lane->known && (lane->basic >> c & 1);
    return (lane->counted >> c & 1) || basic;
}

void latency_lane_show(const struct lane *lane)
{
    for (int c = 0; c < C_COUNTS; c++)
        series_show_u64(lane->series[c], latency_lane_counts(lane, (enum container_metric)c),
                        lane->total[c]);
    series_show(lane->series[C_WAIT], lane->latency_known, lane->wait_seconds);
    series_show_u64(lane->series[C_LATENCY_READS], lane->latency_known, lane->latency_reads);
    series_show(lane->series[C_OBSERVED], lane->latency_known, lane->observed_seconds);
}

void latency_lane_find_threshold(const struct core_latency_collector *self, struct lane *lane)
{
    const struct container *c = lane->core.base.container;
    lane->limits.given = self->group != GROUP_MISSES && /* the user's are of latencies */
                         thresholds_find(self->env.thresholds, c->namespace_, c->pod, c->name,
                                         &lane->limits.given_seconds);
}

static int lane_make_series(struct core_latency_collector *self, struct lane *lane,
                            struct labelset *labels)
{
    int err = 0;
    for (int i = 0; i < C_SERIES && !err; i++)
        if (self->container_family[i] && i != C_BASELINE && i != C_THRESHOLD && i != C_LACK)
            err = series_new(self->container_family[i], labels, NULL, 0, &lane->series[i]);
    if (err)
        named_series_release(lane->series, C_SERIES);
    return err;
}

static void lane_name(void *collector, void *opaque)
{
    struct core_latency_collector *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->core.base.container);
    if (!labels || lane->made)
        return;
    if (lane_base_named(&lane->core.base, &self->env, "core_latency",
                        lane_make_series(self, lane, labels)) != 0)
        return;
    lane->made = true;
    series_clear(lane->series[C_OVER]);
    latency_lane_find_threshold(self, lane);
    latency_lane_show(lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct core_latency_collector *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->core.base.container);
    lane->made = lane->made && named_series_relabel(lane->series, C_SERIES, labels);
    latency_lane_find_threshold(self, lane);
}

static void *lane_make(void *collector, const struct container *container)
{
    const struct core_latency_collector *self = collector;
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    core_lane_init(&lane->core, container, self->group);
    lane->basic = counts_basic(self->basics_only ? GROUP_CPI : self->group);
    limits_init(&lane->limits);
    return lane;
}

static void lane_serialise(void *opaque, struct state_fields *fields)
{
    struct lane *lane = opaque;
    core_lane_serialise(&lane->core, &lane->calm, fields);
    limits_serialise(&lane->limits, fields);
}

const struct lane_ops latency_lane_ops = {
    .collector = "core_latency",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_base_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_base_end,
    .free = lane_free,
    .serialise = lane_serialise,
};

/* What a latency is made of was not true, and what was learned of it neither. */
static void lane_fall_back(struct core_latency_collector *self, struct lane *lane)
{
    lane_base_close(&lane->core.base, self->env.sources);
    named_series_release(lane->series, C_SERIES);
    lane->made = lane->latency_known = false;
    lane->wait_seconds = lane->observed_seconds = lane->over_seconds = 0;
    lane->latency_reads = 0;
    lane->counted &= ~(1u << C_OCCUPANCY | 1u << C_LOADS_IN_FLIGHT);
    lane->total[C_OCCUPANCY] = lane->total[C_LOADS_IN_FLIGHT] = 0;
    lane->core.base.group = self->group;
    lane->basic = counts_basic(self->group);
    limits_init(&lane->limits);
    if (lane->core.base.ending)
        return;
    self->lanes.unopened += !lane_open(self, lane);
    lane_name(self, lane);
}

/* Stalls per read have names of their own; the node's latency has nothing in its place. */
void latency_lanes_fall_back(struct core_latency_collector *self)
{
    static const enum node_metric gone[] = {N_OCCUPANCY, N_WAIT, N_LATENCY_READS, N_HISTOGRAM};
    self->group = GROUP_MISSES;
    if (latency_families_register(self) != 0) {
        log_error(self->env.log, "core_latency", "out of memory: stalls are not counted");
        self->group = GROUP_IN_FLIGHT;
        return;
    }
    self->fell_back = true;
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        series_clear(self->node[gone[i]]);
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        lane_fall_back(self, lane);
    core_group_is_untrue(&self->status->verdict);
    log_warn(self->env.log, "core_latency", "%s; how long a read stalls is counted in its place",
             self->status->verdict.words);
}
