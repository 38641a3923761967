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
#include "collectors/placement/initiators.h"
#include "collectors/placement/latencies.h"
#include "collectors/placement/mix.h"
#include "collectors/placement/series.h"
#include "collectors/table.h"

/* What the flags say. */
struct placement_config {
    struct option_latencies tiers;
    bool loads;
};

_Static_assert(sizeof(struct placement_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");
_Static_assert((int)PLACEMENT_TARGETS <= (int)LIVE_TARGETS &&
                   (int)PLACEMENT_NAME_BYTES <= (int)LIVE_TARGET_BYTES,
               "each target is shown, by its name");

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
    const struct container *container;
    group_handle core;  /* 0: not open */
    group_handle where; /* of the group pages or stalls; 0: not open, or not needed */
    bool opened;        /* the core group was open once: totals are true, 0 included */
    bool ending;        /* its next reading is the last */
    struct placement_mix mix;

    double serial_reads, observed_seconds, predicted_seconds[PLACEMENT_TARGETS]; /* totals */
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
    struct verdict where; /* why it is not known where the memory of some container is */
    uint32_t said;        /* bit r: the log has reason r for that */
    size_t nowhere;       /* such containers */
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

static bool asks_where(const struct placement *self)
{
    return self->env.facts->machine.numa_nodes > 1;
}

static void lane_close(struct placement *self, struct lane *lane)
{
    if (lane->core)
        source_set_close(self->env.sources, lane->core);
    if (lane->where)
        source_set_close(self->env.sources, lane->where);
    lane->core = lane->where = 0;
}

static void lane_free(void *collector, void *opaque)
{
    struct lane *lane = opaque;
    lane_close(collector, lane);
    placement_set_release(&lane->series);
    free(lane);
}

/* Without it there is no prediction where there are several nodes, but the rest is as good. */
static void open_where(struct placement *self, struct lane *lane)
{
    enum group group = self->config->loads ? GROUP_STALLS : GROUP_PAGES;
    struct verdict why;
    if (!asks_where(self) || lane->where)
        return;
    int err = container_group_open(self->env.sources, self->status, lane->container, group, 0,
                                   &lane->where, &why);
    if (!err || err == -ESRCH)
        return;
    if (!(self->said >> why.reason & 1))
        log_warn(self->env.log, "placement", "%s has no prediction: %s", lane->container->path,
                 why.words);
    self->said |= UINT32_C(1) << why.reason;
    self->where = why;
}

/* Its descriptor was called in, say. A mix that nobody renews is not where the memory is now;
 * except of a cgroup that is gone: it was its last. */
static void lose_where(struct placement *self, struct lane *lane, int err)
{
    source_set_close(self->env.sources, lane->where);
    lane->where = 0;
    if (err == -ESRCH)
        return;
    lane->mix = (struct placement_mix){.by_pages = false};
    self->status->wants_reconcile = true; /* which opens it again, or finds out why not */
}

static void reopen_where(struct placement *self)
{
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (lane && lane->core && !lane->ending)
            open_where(self, lane);
    }
}

static bool lane_open(void *collector, void *opaque)
{
    struct placement *self = collector;
    struct lane *lane = opaque;
    struct verdict why;
    int err = container_group_open(self->env.sources, self->status, lane->container, GROUP_CORE, 0,
                                   &lane->core, &why);
    if (err && container_group_lacking(self->status, err, &why))
        log_warn(self->env.log, "placement", "%s has no prediction: %s", lane->container->path,
                 why.words);
    lane->opened |= err == 0;
    if (!err)
        open_where(self, lane);
    return err == 0;
}

static bool lane_is_open(const void *lane)
{
    return ((const struct lane *)lane)->core != 0;
}

static bool is_possible(const struct placement *self)
{
    const struct machine *machine = &self->env.facts->machine;
    return !self->not_counted &&
           !isnan(core_cache_seconds(core_cache_of(machine), machine->base_frequency_hz));
}

static void lane_show(const struct placement *self, struct lane *lane)
{
    struct placement_set *set = &lane->series;
    bool shown = lane->opened && is_possible(self);
    if (!set->made)
        return;
    series_show(set->series[PLACEMENT_SERIAL_READS], shown, lane->serial_reads);
    series_show(set->series[PLACEMENT_OBSERVED], shown, lane->observed_seconds);
    for (int t = 0; t < PLACEMENT_TARGETS; t++)
        if (set->predicted[t])
            series_show(set->predicted[t], shown && self->latencies.known[t],
                        lane->predicted_seconds[t]);
}

static void lane_extend(struct placement *self, struct lane *lane)
{
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    int err = labels ? placement_set_extend(&lane->series, self->family[PLACEMENT_PREDICTED],
                                            labels, &self->latencies)
                     : 0;
    if (err)
        log_warn(self->env.log, "placement", "no series for %s: error %d", lane->container->path,
                 -err);
    lane_show(self, lane);
}

static void lane_name(void *collector, void *opaque)
{
    struct placement *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    if (!labels || lane->series.made)
        return;
    int err = placement_set_make(&lane->series, self->family, labels);
    if (err)
        log_warn(self->env.log, "placement", "no series for %s: error %d", lane->container->path,
                 -err);
    else
        lane_extend(self, lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct placement *self = collector;
    struct lane *lane = opaque;
    placement_set_relabel(&lane->series, container_labels_get(self->env.labels, lane->container));
}

static void lane_end(void *lane)
{
    ((struct lane *)lane)->ending = true;
}

static void *lane_make(void *collector, const struct container *container)
{
    struct lane *lane = calloc(1, sizeof *lane);
    (void)collector;
    if (lane)
        lane->container = container;
    return lane;
}

static const struct lane_ops lane_ops = {
    .collector = "placement",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_end,
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
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (lane && placement_set_lacks(&lane->series, &self->latencies))
            lane_extend(self, lane);
    }
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
    for (size_t i = 0; i < self->lanes.n; i++) {
        const struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        counted += lane->counted;
        lacking += lane->lacking;
        self->nowhere += lane->core && !lane->where && asks_where(self);
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
        verdict_clear(&self->where);
        self->said = 0;
    } else if (verdict.reason == REASON_OK && !verdict.words[0]) {
        verdict = self->where;
    }
    placement_blind_judge(&self->blind, &self->latencies, tick, &verdict);
    self->status->verdict = verdict;
}

/* ---- a tick ---- */

/* A window's estimate. */
struct estimate {
    double serial_reads, cpu_seconds;
    double occupancy_seconds, active_seconds;
    double predicted_seconds[PLACEMENT_TARGETS]; /* of known targets */
};

/* Of all known targets or of none, so that their totals are of the same windows. */
static enum placement_status add_targets(const struct placement *self, int initiator, double cpu,
                                         double serial, double now, struct estimate *out)
{
    const struct placement_latencies *latencies = &self->latencies;
    for (int t = 0; t < PLACEMENT_TARGETS; t++) {
        double predicted = cpu;
        enum placement_status status = PLACEMENT_OK;
        if (latencies->known[t] && serial > 0)
            status =
                placement_predict(cpu, serial, now, latencies->seconds[initiator][t], &predicted);
        if (status != PLACEMENT_OK)
            return status;
        out->predicted_seconds[t] += predicted;
    }
    return PLACEMENT_OK;
}

static const enum discard_reason discard_of[] = {
    [PLACEMENT_OK] = DISCARD_COUNT,
    [PLACEMENT_UNKNOWN] = DISCARD_NO_TARGET,
    [PLACEMENT_IMPLAUSIBLE] = DISCARD_IMPLAUSIBLE,
};

/* One initiator's part of a window. DISCARD_COUNT: nothing is wrong with it, and *known says
 * whether it has an estimate. */
static enum discard_reason add_initiator(struct placement *self, const struct lane *lane,
                                         int initiator, const struct placement_counts *counts,
                                         struct estimate *out, bool *known)
{
    struct placement_reads reads = {0};
    double now = 0;
    enum placement_status status = placement_serial_reads(counts, &reads);
    *known = status == PLACEMENT_OK;
    if (status == PLACEMENT_UNKNOWN) /* not calibrated yet */
        return DISCARD_COUNT;
    if (status == PLACEMENT_OK && reads.serial > 0)
        status = placement_mix_now(&lane->mix, &self->latencies, &self->env.facts->machine,
                                   initiator, &now);
    if (status == PLACEMENT_OK)
        status = add_targets(self, initiator, counts->cpu, reads.serial, now, out);
    if (status == PLACEMENT_UNKNOWN && !placement_latencies_from(&self->latencies, initiator))
        placement_blind_see(&self->blind, initiator);
    out->serial_reads += reads.serial;
    out->cpu_seconds += counts->cpu;
    out->occupancy_seconds += counts->occupancy;
    out->active_seconds += counts->active;
    return discard_of[status];
}

static bool lane_estimate(struct placement *self, const struct lane *lane,
                          const struct placement_window *window, struct estimate *out)
{
    enum discard_reason reason = window->clockless ? DISCARD_IMPLAUSIBLE : DISCARD_COUNT;
    bool known = true;
    *out = (struct estimate){.serial_reads = 0};
    for (int i = 0; i < PLACEMENT_INITIATORS && reason == DISCARD_COUNT && known; i++)
        if (window->of[i].cpu > 0)
            reason = add_initiator(self, lane, i, &window->of[i], out, &known);
    if (reason != DISCARD_COUNT)
        self->status->discarded[reason]++;
    return reason == DISCARD_COUNT && known;
}

static int read_loads(struct placement *self, struct lane *lane)
{
    struct window_sum sum;
    enum window_status status;
    int err = window_read(self->env.sources, lane->where, self->status, &sum, &status);
    if (!err && status == WINDOW_OK)
        placement_mix_loads(&lane->mix, &sum);
    return err;
}

static int read_pages(struct placement *self, struct lane *lane)
{
    struct group_window window;
    int err = source_set_read(self->env.sources, lane->where, &window);
    if (!err)
        placement_mix_pages(&lane->mix, window.after);
    return err;
}

/* What was known before holds while there is no newer reading. */
static void lane_read_where(struct placement *self, struct lane *lane)
{
    int err = -ENODATA;
    if (lane->where)
        err = self->config->loads ? read_loads(self, lane) : read_pages(self, lane);
    if (err && err != -ENODATA)
        lose_where(self, lane, err);
}

static void lane_add(struct placement *self, struct lane *lane, const struct estimate *estimate)
{
    lane->serial_reads += estimate->serial_reads;
    lane->observed_seconds += estimate->cpu_seconds;
    for (int t = 0; t < PLACEMENT_TARGETS; t++)
        if (self->latencies.known[t])
            lane->predicted_seconds[t] += estimate->predicted_seconds[t];
}

/* Of the window: what people are shown. */
static void lane_tell(const struct placement *self, const struct lane *lane,
                      const struct estimate *e)
{
    double parallelism =
        e->active_seconds > 0 ? fmax(1, e->occupancy_seconds / e->active_seconds) : 1;
    if (!(e->cpu_seconds > 0))
        return;
    if (e->active_seconds > 0)
        live_put(self->env.live, lane->container, LIVE_PARALLELISM, parallelism);
    for (int t = 0; t < PLACEMENT_TARGETS; t++) {
        char name[PLACEMENT_NAME_BYTES];
        if (!self->latencies.known[t])
            continue;
        double ratio = e->predicted_seconds[t] / e->cpu_seconds;
        struct placement_bounds half = placement_share(.5, ratio, parallelism);
        const struct live_elsewhere there = {ratio, half.lower, half.upper};
        live_place(self->env.live, lane->container,
                   placement_target_name(&self->latencies, t, name), &there);
    }
}

/* What core_latency and slowdown count, too; the PMU's time is in their books. */
static int read_core(struct placement *self, group_handle core, struct group_window *window,
                     enum window_status *status)
{
    uint64_t *discarded = self->status->discarded;
    int err = source_set_read(self->env.sources, core, window);
    if (err) {
        discarded[DISCARD_READ_ERROR] += err != -ENODATA;
        return err;
    }
    *status = window_status(window->sum);
    discarded[DISCARD_STARVED] += *status == WINDOW_STARVED;
    discarded[DISCARD_RESET] += *status == WINDOW_RESET;
    return 0;
}

static int lane_read(struct placement *self, struct lane *lane)
{
    enum window_status status;
    struct group_window window;
    struct placement_window split;
    struct estimate estimate;
    lane->counted = lane->lacking = false;
    int err = read_core(self, lane->core, &window, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    if (status != WINDOW_OK)
        return 0;
    placement_window_take(&window, self->env.facts, &split);
    lane->counted = split.counted;
    lane->lacking = !split.counted;
    if (split.counted && self->env.facts->machine.base_frequency_hz > 0 &&
        lane_estimate(self, lane, &split, &estimate)) {
        lane_add(self, lane, &estimate);
        lane_tell(self, lane, &estimate);
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
        if (!lane || !lane->core)
            continue;
        lane_read_where(self, lane);
        int err = lane_read(self, lane);
        result = result ? result : err;
    }
    judge(self, tick);
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        lane_show(self, lane);
        self->status->wants_reconcile |= placement_set_lacks(&lane->series, &self->latencies);
        if (lane->ending && lane->core) {
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

const struct collector_ops placement_collector = {
    .name = "placement",
    .summary = "what it would cost each container to have its memory elsewhere",
    .default_on = COLLECTOR_OFF,
    .metrics = placement_metrics,
    .needs = NEEDS_PROBE,
    .options = options,
    .discards =
        DISCARDS_OF_WINDOWS | DISCARD_BIT(DISCARD_IMPLAUSIBLE) | DISCARD_BIT(DISCARD_NO_TARGET),
    .probe = placement_probe,
    .start = placement_start,
    .reconcile = placement_reconcile,
    .collect = placement_collect,
    .stop = placement_stop,
};
