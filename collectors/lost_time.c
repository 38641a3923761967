/*
 * Where the time of each container went: its own limit, a neighbour, itself, the hypervisor, full
 * or slow memory, disks (LOST_TIME.md). From files of its cgroup; no counters are needed. On by
 * default.
 *
 * All containers are read in the same tick, every few seconds: who takes is then compared with who
 * waits over the same time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/formulas/lost_time.h"
#include "collectors/lost_time/reading.h"
#include "collectors/lost_time/series.h"
#include "collectors/lost_time/takers.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/lanes.h"
#include "collectors/parts/window_read.h"
#include "collectors/table.h"
#include "exporter/base/array.h"

/* What the flags say. */
struct lost_config {
    uint64_t period_ns;
    struct lost_limits limits;
};

_Static_assert(sizeof(struct lost_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");

#define LIMIT(flag, member, value, words)                                                          \
    {                                                                                              \
        .name = "collector.lost_time." flag, .type = FLAG_NUMBER,                                  \
        .offset = offsetof(struct lost_config, limits.member), .min = 0.001, .max = 1,             \
        .fallback = value, .unit = "RATIO", .help = words                                          \
    }

static const struct option_flag options[] = {
    {.name = "collector.lost_time.period",
     .type = FLAG_DURATION,
     .offset = offsetof(struct lost_config, period_ns),
     .min = 1e9,
     .max = 6e10,
     .fallback = "5s",
     .unit = "DURATION",
     .help = "How long a window is. A cause is a container's verdict if it holds in three of its "
             "last five windows."},
    LIMIT("throttled-ratio", throttled, "0.05",
          "From which share of the periods of a container's CPU limit on, in which the limit is "
          "reached, it loses time to that."),
    LIMIT("cpu-ratio", cpu, "0.1",
          "Likewise, of the time in which it waits for a CPU for other reasons."),
    LIMIT("steal-ratio", steal, "0.05", "Likewise, of its CPUs' time that the hypervisor takes."),
    LIMIT("memory-ratio", memory, "0.05",
          "Likewise, of the time in which it waits for free memory."),
    LIMIT("disk-ratio", disk, "0.1", "Likewise, of the time in which it waits for disks."),
    {.name = NULL},
};

enum { BRIEF_PERIOD_NS = 2000000000 }; /* so that ten seconds have five windows */

/* From so many times its normal on, a read is slow: the default of core_latency. */
static const double slow_ratio = 1.25;

/* Windows, this one included: those of core_latency are of another length. When its counters are
 * called in, what the container used counts as exposed again. */
enum { READS_STAY_KNOWN = 3 };

/* Outlives the collector: the page may still show it. */
static const char untold[] =
    "What it waits for, beside its CPU limit, cannot be told here: there is no pressure stall "
    "information (PSI) of containers; the collector lost_time says why.";

/* One container. */
struct lane {
    const struct container *container;
    group_handle waits, bounds; /* 0: not open */
    group_handle delays;        /* likewise */
    bool ending;                /* its next reading is the last */
    struct lost_bounds may_have;
    struct lost_series series;
    struct lost_history history;
    struct live_lost shown;
    double excess_seconds; /* of its reads, since the last reading */
    unsigned reads_known;  /* windows for which they count as counted */
    double limit_events;   /* of the window before; NaN: not known */

    /* Of the window just read. */
    bool read;
    double seconds;
    struct lost_window window;
    struct lost_split split;
};

/* Where delays are counted: who took, since the last reading, and room for what a tick tells. */
struct by_switches {
    struct lost_pairs pairs;
    struct cpu_taking takings[4096];
};

struct lost_time {
    struct collector_env env;
    const struct lost_config *config;
    uint64_t period_ns;
    struct collector_status *status;
    struct family *family[LOST_METRICS];
    struct lanes lanes;
    struct lost_takers takers;
    size_t takers_cap;
    struct by_switches *by_switches; /* owned; NULL: delays are not counted here */
    struct verdict verdict;          /* as at the start: what cannot be told here */
    uint64_t last_ns;                /* of the tick of the last reading */
    double slow_share; /* sum over ticks since, of the share of NUMA nodes whose memory is slow */
    unsigned ticks;
};

static bool lost_probe(const struct collector_env *env, struct verdict *why)
{
    return source_set_check(env->sources, SCOPE_CGROUP, GROUP_WAITS, why);
}

/* ---- containers ---- */

static void lane_close(struct lost_time *self, struct lane *lane)
{
    source_set_close(self->env.sources, lane->waits);
    source_set_close(self->env.sources, lane->bounds);
    source_set_close(self->env.sources, lane->delays);
    lane->waits = lane->bounds = lane->delays = 0;
}

static void lane_free(void *collector, void *opaque)
{
    struct lane *lane = opaque;
    lane_close(collector, lane);
    lost_series_release(&lane->series);
    free(lane);
}

static void *lane_make(void *collector, const struct container *container)
{
    struct lane *lane = calloc(1, sizeof *lane);
    (void)collector;
    if (!lane)
        return NULL;
    lane->container = container;
    lane->limit_events = NAN;
    lost_bounds_init(&lane->may_have);
    return lane;
}

/* Bounds cost no descriptor, and without them only names are lacking. */
static bool lane_open(void *collector, void *opaque)
{
    struct lost_time *self = collector;
    struct lane *lane = opaque;
    struct verdict why;
    int err = container_group_open(self->env.sources, self->status, lane->container, GROUP_WAITS, 0,
                                   &lane->waits, &why);
    if (err && container_group_lacking(self->status, err, &why))
        log_warn(self->env.log, "lost_time", "what %s waits for is not known: %s",
                 lane->container->path, why.words);
    if (err)
        return false;
    (void)container_group_open(self->env.sources, self->status, lane->container, GROUP_BOUNDS, 0,
                               &lane->bounds, &why);
    if (self->by_switches)
        (void)container_group_open(self->env.sources, self->status, lane->container, GROUP_DELAYS,
                                   container_tag(lane->container->slot, lane->container->gen),
                                   &lane->delays, &why);
    return true;
}

static bool lane_is_open(const void *lane)
{
    return ((const struct lane *)lane)->waits != 0;
}

static void lane_name(void *collector, void *opaque)
{
    struct lost_time *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    int err = labels ? lost_series_extend(&lane->series, self->family, labels) : 0;
    if (err)
        log_warn(self->env.log, "lost_time", "no series for %s: error %d", lane->container->path,
                 -err);
}

static void lane_rename(void *collector, void *opaque)
{
    struct lost_time *self = collector;
    struct lane *lane = opaque;
    lost_series_relabel(&lane->series, container_labels_get(self->env.labels, lane->container));
}

static void lane_end(void *lane)
{
    ((struct lane *)lane)->ending = true;
}

static const struct lane_ops lane_ops = {
    .collector = "lost_time",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_end,
    .free = lane_free,
};

static bool lane_lacks(const struct lane *lane)
{
    return lane->container->named && lost_series_lacks(&lane->series);
}

static void lost_reconcile(void *opaque, const struct container_diff *diff)
{
    struct lost_time *self = opaque;
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log))
        self->status->verdict = self->verdict;
    if (array_reserve(&self->takers.at, &self->takers_cap, self->lanes.n, sizeof *self->takers.at))
        log_error(self->env.log, "lost_time", "out of memory: who takes CPUs is not known");
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (lane && lane_lacks(lane))
            lane_name(self, lane);
    }
}

/* ---- a reading ---- */

/* Its descriptors were called in, say; of a cgroup that is gone, it was its last. They may not come
 * back for long: what was said of it does not stand, nor count as windows before the next. */
static void lose(struct lost_time *self, struct lane *lane, int err)
{
    lane_close(self, lane);
    lane->history = (struct lost_history){.n = 0};
    lane->limit_events = NAN;
    lane->shown = (struct live_lost){.told = false};
    if (err == -ESRCH || lane->ending)
        return;
    self->lanes.unopened++;
    self->status->wants_reconcile = true;
}

/* NaN: not counted, or not in all of this window. */
static double read_delay(struct lost_time *self, const struct lane *lane)
{
    struct group_window window;
    if (!lane->delays || source_set_read(self->env.sources, lane->delays, &window) ||
        window_status(window.sum) != WINDOW_OK || window.sum->enabled_ns == 0)
        return NAN;
    return (double)window.sum->count[0] / (double)window.sum->enabled_ns;
}

static int lane_read(struct lost_time *self, struct lane *lane)
{
    struct window_sum sum;
    enum window_status status;
    struct group_window bounds;
    int err = window_read(self->env.sources, lane->waits, self->status, &sum, &status);
    if (err == -ENODATA)
        return err;
    if (err) {
        lose(self, lane, err);
        return err == -ESRCH ? 0 : err;
    }
    if (lane->bounds && source_set_read(self->env.sources, lane->bounds, &bounds) == 0)
        lost_bounds_take(&lane->may_have, bounds.after);
    lane->seconds = (double)sum.enabled_ns * 1e-9;
    double delay = read_delay(self, lane);
    if (status != WINDOW_OK)
        return 0;
    lost_window_take(&lane->window, &sum, lane->seconds, &lane->may_have);
    lane->window.run_delay = delay;
    if (isnan(lane->window.cpu_some) && !isnan(delay)) /* delays add up, and say as much only */
        lane->window.cpu_some = fmin(delay, 1);
    lane->read = true;
    return 0;
}

static double excess_cpus(const struct lane *lane)
{
    return lane->window.cpus - lane->may_have.entitled_cpus;
}

/* Those who take; room was made for all. */
static void find_takers(struct lost_time *self)
{
    struct lost_takers *takers = &self->takers;
    takers->n = 0;
    for (size_t i = 0; i < self->lanes.n && takers->n < self->takers_cap; i++) {
        const struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane || !lane->read)
            continue;
        double excess = excess_cpus(lane);
        if (excess >= LOST_TAKES_CPUS)
            takers->at[takers->n++] = (struct lost_taker){
                .slot = i, .cpu_set = lane->may_have.cpu_set, .excess_cpus = excess};
    }
}

static void show_most(struct lost_time *self, struct lane *lane, const struct lost_share *most,
                      size_t n)
{
    struct live_lost *shown = &lane->shown;
    shown->takers = n < LIVE_TAKERS ? n : LIVE_TAKERS;
    for (size_t i = 0; i < shown->takers; i++) {
        const struct lane *taker = lanes_at(&self->lanes, most[i].slot);
        shown->taker[i] = taker ? container_tag(taker->container->slot, taker->container->gen) : 0;
        shown->taker_share[i] = most[i].ratio;
    }
}

static void show_takers(struct lost_time *self, struct lane *lane, size_t slot, double lost)
{
    struct lost_share most[LIVE_TAKERS];
    size_t n =
        lost_takers_charge(&self->takers, slot, lane->may_have.cpu_set, lost, most, LIVE_TAKERS);
    show_most(self, lane, most, n);
}

/* Who was seen to have its CPUs, if that is enough of what it waited to go by: perhaps no
 * container. */
static bool show_switches(struct lost_time *self, struct lane *lane, size_t slot, double lost)
{
    static const double least_seen = 0.1;
    struct lost_share most[LOST_PAIRS];
    if (!self->by_switches || isnan(lane->window.run_delay))
        return false;
    const struct lost_pairs *pairs = &self->by_switches->pairs;
    double sum = lost_pairs_sum(pairs, (uint32_t)slot);
    if (sum == 0 || sum < least_seen * lane->window.run_delay * lane->seconds)
        return false;
    size_t n = lost_pairs_most(pairs, (uint32_t)slot, most, LOST_PAIRS);
    for (size_t i = 0; i < n; i++) {
        struct lane *taker = lanes_at(&self->lanes, most[i].slot);
        if (taker)
            taker->series.total[LOST_OF_TAKEN] += lost * most[i].ratio;
    }
    show_most(self, lane, most, n);
    return true;
}

static void settle_takers(struct lost_time *self)
{
    for (size_t i = 0; i < self->takers.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, self->takers.at[i].slot);
        lane->series.total[LOST_OF_TAKEN] += self->takers.at[i].taken_seconds;
    }
}

/* A limit that is reached in bursts makes its container wait beyond the window. */
static void remember_limit_events(struct lane *lane)
{
    double now = lane->window.limit_events;
    if (lane->limit_events > 0)
        lane->window.limit_events = fmax(now, lane->limit_events);
    lane->limit_events = now;
}

static void lane_judge(struct lost_time *self, struct lane *lane, size_t slot)
{
    struct lost_window *window = &lane->window;
    struct live_lost *shown = &lane->shown;
    struct lost_verdict verdict;
    /* Of a shorter one, as after its start, the kernel's figures are too coarse: it has brought
     * pressures up to date every other second only. */
    bool is_whole = lane->seconds >= 0.5e-9 * (double)self->period_ns;
    window->others_excess_cpus = lost_takers_excess(&self->takers, slot, lane->may_have.cpu_set);
    remember_limit_events(lane);
    window->slow_reads = lane->reads_known ? lane->excess_seconds / lane->seconds : NAN;
    lost_split_make(window, &self->config->limits, &lane->split);
    for (int c = 0; c < LOSSES && is_whole; c++)
        lane->series.total[c] +=
            (c == LOSS_CPU_NEIGHBOUR ? lane->split.neighbour_delay : lane->split.per_second[c]) *
            lane->seconds;
    if (lane->reads_known == 0 && self->ticks > 0)
        lane->series.total[LOST_OF_EXPOSED] +=
            window->cpus * lane->seconds * self->slow_share / self->ticks;
    if (is_whole)
        lost_history_add(&lane->history, &lane->split);
    lost_verdict_make(&lane->history, &verdict);

    shown->told = true;
    shown->judged = verdict.known;
    shown->cause = verdict.cause;
    for (int c = 0; c < LOSSES; c++)
        shown->per_second[c] = verdict.per_second[c];
    shown->cpus = window->cpus;
    shown->takes = excess_cpus(lane) >= LOST_TAKES_CPUS;
    shown->quota_cpus = lane->may_have.quota_cpus;
    shown->throttled = window->throttled;
    shown->memory_bytes = lane->may_have.memory_bytes;
    shown->memory_limit_bytes = lane->may_have.memory_limit_bytes;
    shown->refaults_per_second = window->refaults;
    shown->untold = self->verdict.words[0] ? untold : NULL;
    double lost = lane->split.neighbour_delay * lane->seconds;
    if (!is_whole || !lane->split.holds[LOSS_CPU_NEIGHBOUR])
        return;
    shown->takers_seen = show_switches(self, lane, slot, lost);
    if (!shown->takers_seen)
        show_takers(self, lane, slot, lost);
}

static int read_all(struct lost_time *self, uint64_t now_ns)
{
    int result = 0;
    bool any = false;
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        lane->read = false; /* also of one that has ended, whose last window is counted */
        if (!lane->waits)
            continue;
        int err = lane_read(self, lane);
        any |= err != -ENODATA;
        result = result || err == -ENODATA ? result : err;
    }
    if (!any) /* a recording with windows of another length: it has them in another tick */
        return result;
    find_takers(self);
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        if (lane->read)
            lane_judge(self, lane, i);
        lane->excess_seconds = 0;
        lane->reads_known -= lane->reads_known > 0;
    }
    settle_takers(self);
    if (self->by_switches)
        lost_pairs_clear(&self->by_switches->pairs);
    self->last_ns = now_ns;
    self->slow_share = 0;
    self->ticks = 0;
    return result;
}

/* ---- a tick ---- */

/* The lane of a container that is still the one that was opened. */
static uint32_t slot_of(const struct lost_time *self, uint64_t owner)
{
    uint32_t slot = (uint32_t)owner;
    const struct lane *lane = owner && slot < self->lanes.n ? lanes_at(&self->lanes, slot) : NULL;
    return lane && lane->container->gen == owner >> 32 ? slot : LOST_NOBODY;
}

static void add_takings(struct lost_time *self)
{
    struct by_switches *seen = self->by_switches;
    if (!seen)
        return;
    size_t n = source_set_takings(self->env.sources, seen->takings,
                                  sizeof seen->takings / sizeof *seen->takings);
    for (size_t i = 0; i < n; i++) {
        uint32_t from = slot_of(self, seen->takings[i].from);
        if (from != LOST_NOBODY)
            lost_pairs_add(&seen->pairs, from, slot_of(self, seen->takings[i].by),
                           (double)seen->takings[i].ns * 1e-9);
    }
}

/* What is known each tick is added up until the next reading. */
static void add_tick(struct lost_time *self, const struct tick *tick)
{
    const struct facts *facts = self->env.facts;
    self->ticks++;
    if (facts->slow_memory_tick == tick->number)
        self->slow_share += facts->slow_memory_ratio;
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        const struct read_latency *reads = read_latencies_find(&facts->reads, i, tick->number);
        if (!lane || !reads)
            continue;
        double above = reads->latency_seconds - reads->baseline_seconds;
        if (!isnan(above))
            lane->reads_known = READS_STAY_KNOWN;
        if (reads->latency_seconds > slow_ratio * reads->baseline_seconds)
            lane->excess_seconds += above * reads->reads;
    }
}

/* By the clock, not by the last reading: so a replay asks in the ticks that were recorded. */
static bool is_due(const struct lost_time *self, const struct tick *tick)
{
    return tick->mono_ns / self->period_ns != self->last_ns / self->period_ns;
}

static int lost_collect(void *opaque, const struct tick *tick)
{
    struct lost_time *self = opaque;
    add_tick(self, tick);
    add_takings(self);
    int result = is_due(self, tick) ? read_all(self, tick->mono_ns) : 0;
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        lost_series_show(&lane->series);
        self->status->wants_reconcile |= lane_lacks(lane);
        if (lane->shown.told)
            live_lost(self->env.live, lane->container, &lane->shown);
        if (lane->ending && lane->waits) {
            lane_close(self, lane);
            lanes_closed_one(&self->lanes, self->status);
        }
    }
    return result;
}

/* ---- life ---- */

static void lost_stop(void *opaque)
{
    struct lost_time *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    free(self->takers.at);
    free(self->by_switches);
    free(self);
}

static int lost_start(const struct collector_env *env, struct collector_status *status, void **out)
{
    struct lost_time *self = calloc(1, sizeof *self);
    int err = 0;
    if (!self)
        return -ENOMEM;
    *self = (struct lost_time){.env = *env, .config = env->config, .status = status};
    self->period_ns = self->config->period_ns;
    if (env->brief && self->period_ns > BRIEF_PERIOD_NS)
        self->period_ns = BRIEF_PERIOD_NS;
    lanes_init(&self->lanes, &lane_ops, self);
    for (int m = 0; m < LOST_METRICS && !err; m++)
        err = store_family(env->store, lost_metrics[m], "lost_time", &self->family[m]);
    if (err) {
        lost_stop(self);
        return err;
    }
    (void)source_set_check(env->sources, SCOPE_CGROUP, GROUP_WAITS, &self->verdict);
    status->verdict = self->verdict;
    if (source_set_check(env->sources, SCOPE_CGROUP, GROUP_DELAYS, NULL)) {
        self->by_switches = calloc(1, sizeof *self->by_switches);
        if (!self->by_switches)
            log_error(env->log, "lost_time", "out of memory: who takes CPUs is told by CPU time");
    }
    env->facts->reads.wanted = true;
    *out = self;
    return 0;
}

const struct collector_ops lost_time_collector = {
    .name = "lost_time",
    .summary = "where each container's time went: its CPU limit, neighbours, itself, memory, disks",
    .default_on = COLLECTOR_ON,
    .metrics = lost_metrics,
    .options = options,
    .discards = DISCARD_BIT(DISCARD_RESET) | DISCARD_BIT(DISCARD_READ_ERROR),
    .probe = lost_probe,
    .start = lost_start,
    .reconcile = lost_reconcile,
    .collect = lost_collect,
    .stop = lost_stop,
};
