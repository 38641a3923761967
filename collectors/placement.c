/*
 * What it would cost each container to have its memory elsewhere: FORMULAS.md section 5, from one
 * sample (collectors/formulas/placement.h). It reads the core group that core_latency and slowdown
 * count, and the probe's latencies. Off by default.
 *
 * Where the memory is now is asked of the kernel (group pages) or, with a flag, of counted loads
 * (group stalls), which then take turns with the core group.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/contract/latency_verdict.h"
#include "collectors/formulas/core_latency.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/lanes.h"
#include "collectors/parts/window_read.h"
#include "collectors/placement/blind.h"
#include "collectors/placement/estimate.h"
#include "collectors/placement/initiators.h"
#include "collectors/placement/latencies.h"
#include "collectors/placement/series.h"
#include "collectors/placement/where.h"
#include "collectors/table.h"

/* What the flags say. */
struct placement_config {
    struct option_latencies tiers;
    bool loads;
};

_Static_assert(sizeof(struct placement_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");
static const struct option_flag options[] = {
    {.name = "collector.placement.tier",
     .type = FLAG_LATENCIES,
     .offset = offsetof(struct placement_config, tiers),
     .min = 10,
     .max = 100000,
     .unit = "NAME=LATENCY",
     .help = "Also predict for memory that this machine does not have, or not as a NUMA node, of "
             "this load-to-use latency: cxl=250ns. Up to four times."},
    {.name = "collector.placement.loads",
     .type = FLAG_BOOL,
     .offset = offsetof(struct placement_config, loads),
     .help = "Tell where containers read from by counting their loads, instead of asking the "
             "kernel where their memory is. The counters of core_latency then take turns with five "
             "more, and each container needs up to six more file descriptors per CPU. Not with "
             "CXL: its loads are counted as local or remote ones."},
    {.name = NULL},
};

/* One container. */
struct lane {
    struct lane_base base; /* first; the core group */
    struct placement_asked asked;

    struct placement_totals totals;
    struct placement_set series;

    /* Of the window just read. */
    bool lacking; /* it ran, and the source did not count all that is needed */
    bool counted;
};

struct placement {
    struct collector_env env;
    const struct placement_config *config;
    struct collector_status *status;
    struct family *family[PLACEMENT_METRICS];
    struct placement_latencies latencies;
    struct lanes lanes;
    struct placement_where where;
    size_t nowhere; /* containers of which it is not known where their memory is */
    struct placement_blind blind;
    bool not_counted; /* the source lacks some of the counts */
    bool off;         /* found out while running that it cannot work */
};

static bool is_amd(const struct collector_env *env)
{
    return source_set_check(env->sources, SCOPE_CGROUP, GROUP_FILLS, NULL);
}

static bool placement_probe(const struct collector_env *env, struct verdict *why)
{
    if (env->facts->probe.reason != REASON_OK) {
        verdict_set(why, env->facts->probe.reason, "the memory probe is needed: %s",
                    env->facts->probe.words);
        return false;
    }
    if (source_set_check(env->sources, SCOPE_CGROUP, GROUP_CORE, why))
        return true;
    if (why->reason == REASON_UNSUPPORTED_CPU && is_amd(env))
        verdict_set(
            why, REASON_UNSUPPORTED_CPU,
            "placement needs the cycles with at least one read of memory outstanding, which "
            "no event of AMD's CPUs counts; core_latency works");
    return false;
}

/* ---- containers ---- */

static void lane_close(struct placement *self, struct lane *lane)
{
    lane_base_close(&lane->base, self->env.sources);
    placement_where_close(&self->where, &lane->asked);
}

static void lane_free(void *collector, void *opaque)
{
    struct lane *lane = opaque;
    lane_close(collector, lane);
    placement_set_release(&lane->series);
    free(lane);
}

static void reopen_where(struct placement *self)
{
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        if (lane->base.handle && !lane->base.ending)
            placement_where_open(&self->where, &lane->asked, lane->base.container);
}

static bool lane_open(void *collector, void *opaque)
{
    struct placement *self = collector;
    struct lane *lane = opaque;
    int err =
        lane_base_open(&lane->base, &self->env, self->status, "placement", "has no prediction");
    if (!err)
        placement_where_open(&self->where, &lane->asked, lane->base.container);
    return err == 0;
}

static bool is_possible(const struct placement *self)
{
    const struct machine *machine = &self->env.facts->machine;
    return !self->not_counted &&
           !isnan(core_cache_seconds(core_cache_of(machine), machine->base_frequency_hz));
}

static void lane_show(const struct placement *self, struct lane *lane)
{
    placement_set_show(&lane->series, &lane->totals, &self->latencies,
                       lane->base.opened && is_possible(self));
}

static void lane_extend(struct placement *self, struct lane *lane)
{
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    int err = labels ? placement_set_extend(&lane->series, self->family[PLACEMENT_PREDICTED],
                                            labels, &self->latencies)
                     : 0;
    (void)lane_base_named(&lane->base, &self->env, "placement", err);
    lane_show(self, lane);
}

static void lane_name(void *collector, void *opaque)
{
    struct placement *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    if (!labels || lane->series.made)
        return;
    if (lane_base_named(&lane->base, &self->env, "placement",
                        placement_set_make(&lane->series, self->family, labels)) == 0)
        lane_extend(self, lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct placement *self = collector;
    struct lane *lane = opaque;
    placement_set_relabel(&lane->series,
                          container_labels_get(self->env.labels, lane->base.container));
}

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    return lane_base_new(sizeof(struct lane), container, GROUP_CORE);
}

static const struct lane_ops lane_ops = {
    .collector = "placement",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_base_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_base_end,
    .free = lane_free,
};

static void placement_reconcile(void *opaque, const struct container_diff *diff)
{
    struct placement *self = opaque;
    bool freed = self->status->wants_reconcile || diff->ended.n + diff->forgotten.n > 0;
    if (self->off)
        return;
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log))
        verdict_clear(&self->status->verdict);
    if (freed) /* counters had their turn */
        reopen_where(self);
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        if (placement_set_lacks(&lane->series, &self->latencies))
            lane_extend(self, lane);
}

/* ---- what holds for the node ---- */

/* The counter for memory reads turned out to be dead. */
static void switch_off(struct placement *self)
{
    core_group_is_filtered(&self->status->verdict);
    lanes_release(&self->lanes);
    self->off = true;
}

static void say_not_counted(struct placement *self, struct verdict *verdict)
{
    struct verdict why;
    if (source_set_check(self->env.sources, SCOPE_CGROUP, GROUP_CORE, &why) && why.words[0])
        verdict_set(verdict, why.reason == REASON_OK ? REASON_NO_PMU : why.reason,
                    "no predictions, as no slowdowns: %.300s", why.words);
    else
        verdict_set(verdict, REASON_NO_PMU,
                    "placement is off: the source does not count l3_miss_read_active");
}

/* Once a window told, what holds for all containers: they are counted by one CPU's events. */
static void judge(struct placement *self, const struct tick *tick)
{
    size_t counted = 0, lacking = 0;
    self->nowhere = 0;
    const struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        counted += lane->counted;
        lacking += lane->lacking;
        self->nowhere +=
            lane->base.handle && !lane->asked.group && placement_where_asks(&self->where);
    }
    if (counted + lacking > 0)
        self->not_counted = counted == 0;
    if (self->lanes.unopened > 0)
        return;
    struct verdict verdict;
    verdict_clear(&verdict);
    if (self->not_counted)
        say_not_counted(self, &verdict);
    else
        latency_verdict_refine(self->env.facts, &verdict);
    if (self->nowhere == 0) {
        placement_where_clear(&self->where);
    } else if (verdict.reason == REASON_OK && !verdict.words[0]) {
        verdict = self->where.why;
    }
    placement_blind_judge(&self->blind, &self->latencies, tick, &verdict);
    self->status->verdict = verdict;
}

/* ---- a tick ---- */

static bool lane_estimate(struct placement *self, const struct lane *lane,
                          const struct placement_window *window, struct placement_estimate *out)
{
    const struct placement_basis basis = {&self->latencies, &self->env.facts->machine,
                                          &lane->asked.mix};
    bool known;
    enum discard_reason reason = placement_estimate_make(&basis, window, &self->blind, out, &known);
    if (reason != DISCARD_COUNT)
        self->status->discarded[reason]++;
    return reason == DISCARD_COUNT && known;
}

static int lane_read(struct placement *self, struct lane *lane)
{
    enum window_status status;
    struct group_window window;
    struct placement_window split;
    struct placement_estimate estimate;
    lane->counted = lane->lacking = false;
    /* What core_latency and slowdown count, too; the PMU's time is in their books. */
    int err =
        window_read_rows(self->env.sources, lane->base.handle, self->status, &window, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    if (status != WINDOW_OK)
        return 0;
    placement_window_take(&window, self->env.facts, &split);
    lane->counted = split.counted;
    lane->lacking = !split.counted;
    if (split.counted && self->env.facts->machine.base_frequency_hz > 0 &&
        lane_estimate(self, lane, &split, &estimate)) {
        placement_estimate_add(&estimate, &self->latencies, &lane->totals);
        placement_estimate_tell(&estimate, &self->latencies, self->env.live, lane->base.container);
    }
    return 0;
}

static int placement_collect(void *opaque, const struct tick *tick)
{
    struct placement *self = opaque;
    if (self->env.facts->l3_miss_reads_filtered && !self->off)
        switch_off(self);
    if (self->off)
        return -ENODEV;

    size_t n;
    int result = 0;
    const struct probe_reading *bursts = source_set_probes(self->env.sources, &n);
    placement_latencies_add(&self->latencies, tick, bursts, n);
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane || !lane->base.handle)
            continue;
        placement_where_read(&self->where, &lane->asked);
        int err = lane_read(self, lane);
        result = result ? result : err;
    }
    judge(self, tick);
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        lane_show(self, lane);
        self->status->wants_reconcile |= placement_set_lacks(&lane->series, &self->latencies);
        if (lane->base.ending && lane->base.handle) {
            lane_close(self, lane);
            lanes_closed_one(&self->lanes, self->status);
            self->status->wants_reconcile |= self->nowhere > 0;
        }
    }
    return result;
}

/* ---- life ---- */

static void placement_stop(void *opaque)
{
    struct placement *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    placement_latencies_release(&self->latencies);
    free(self);
}

static int placement_start(const struct collector_env *env, struct collector_status *status,
                           void **out)
{
    struct placement *self = calloc(1, sizeof *self);
    int err = 0;
    if (!self)
        return -ENOMEM;
    *self = (struct placement){.env = *env, .config = env->config, .status = status};
    self->where = (struct placement_where){
        .sources = env->sources,
        .status = status,
        .log = env->log,
        .machine = &env->facts->machine,
        .group = self->config->loads ? GROUP_STALLS : GROUP_PAGES,
    };
    lanes_init(&self->lanes, &lane_ops, self);
    for (int m = 0; m < PLACEMENT_METRICS && !err; m++)
        err = store_family(env->store, placement_metrics[m], "placement", &self->family[m]);
    if (err) {
        placement_stop(self);
        return err;
    }
    placement_latencies_init(&self->latencies, &self->config->tiers, &env->facts->machine,
                             self->family[PLACEMENT_TARGET_LATENCY]);
    *out = self;
    return 0;
}

static uint32_t placement_groups(const void *opaque)
{
    const struct placement_config *config = opaque;
    return config->loads ? UINT32_C(1) << GROUP_STALLS : 0;
}

const struct collector_ops placement_collector = {
    .name = "placement",
    .summary = "what it would cost each container to have its memory elsewhere",
    .default_on = COLLECTOR_OFF,
    .metrics = placement_metrics,
    .needs = NEEDS_PROBE,
    .options = options,
    .discards =
        DISCARDS_OF_WINDOWS | DISCARD_BIT(DISCARD_IMPLAUSIBLE) | DISCARD_BIT(DISCARD_NO_TARGET),
    .more_groups = placement_groups,
    .probe = placement_probe,
    .start = placement_start,
    .reconcile = placement_reconcile,
    .collect = placement_collect,
    .stop = placement_stop,
};
