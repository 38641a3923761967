/*
 * Memory read latency per container from core counters: Shen & Li 2020, FORMULAS.md section 1.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/contract/latency_verdict.h"
#include "collectors/core_latency/counts.h"
#include "collectors/core_latency/lane.h"
#include "collectors/core_latency/tell.h"
#include "collectors/parts/named_series.h"
#include "collectors/parts/window_read.h"
#include "collectors/table.h"

_Static_assert(sizeof(struct core_latency_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");

static const char *const histogram_words[] = {"node", "container", NULL};

static const struct option_flag options[] = {
    {.name = "collector.core_latency.histogram",
     .type = FLAG_EITHER,
     .offset = offsetof(struct core_latency_config, container_histogram),
     .fallback = "node",
     .choices = histogram_words,
     .help = "Latency histograms: one for the node only, or also one for each container, which "
             "adds 20 series per container."},
    {.name = "collector.core_latency.threshold-factor",
     .type = FLAG_NUMBER,
     .offset = offsetof(struct core_latency_config, threshold_factor),
     .min = 1,
     .max = 100,
     .fallback = "1.25",
     .unit = "FACTOR",
     .help = "A container's latency threshold is its baseline times this factor, unless the "
             "thresholds file sets another."},
    {.name = NULL},
};

static const enum container_metric node_count[N_COUNTS] = {
    [N_CYCLES] = C_CYCLES,
    [N_REF_CYCLES] = C_REF_CYCLES,
    [N_READS] = C_READS,
    [N_OCCUPANCY] = C_OCCUPANCY,
};

/* Of Arm's cores that count no loads in flight. */
static void explain_misses(const struct collector_env *env, struct verdict *why)
{
    if (!env->facts->no_stalls)
        verdict_set(
            why, REASON_OK,
            "no latency, which this CPU does not count: how long a read stalls in its place");
    else
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "cycles, instructions and misses only: this CPU counts neither loads in flight "
                    "nor cycles stalled for memory");
}

/* What is counted here: cycles and instructions, at least, also where a hypervisor refuses all
 * other events. *why: REASON_OK, or why no latency. */
static bool find_group(const struct collector_env *env, enum group *group, struct verdict *why)
{
    if (core_group_find(env->sources, SCOPE_CGROUP, group, why)) {
        if (*group == GROUP_MISSES && why->reason == REASON_OK)
            explain_misses(env, why);
        if (core_group_is_left(env, *group)) {
            *group = GROUP_MISSES;
            core_group_is_untrue(why);
        }
        return true;
    }
    if ((why->reason != REASON_UNSUPPORTED_CPU && why->reason != REASON_NO_PMU) ||
        !source_set_check(env->sources, SCOPE_CGROUP, GROUP_CPI, NULL))
        return false;
    *group = GROUP_CPI;
    struct verdict lacks = *why;
    verdict_set(why, lacks.reason, "cycles and instructions only, no latency: %.300s", lacks.words);
    return true;
}

static bool core_latency_probe(const struct collector_env *env, struct verdict *why)
{
    enum group group;
    return find_group(env, &group, why);
}

/* ---- following the containers ---- */

static void explain_basics(struct verdict *why)
{
    struct verdict filtered;
    core_group_is_filtered(&filtered);
    verdict_set(why, filtered.reason, "cycles and instructions only: %.280s", filtered.words);
}

/* What is counted here, when that is less than it could be, may change while running. */
static void refresh_verdict(struct core_latency_collector *self)
{
    struct verdict now;
    enum group group;
    if (!find_group(&self->env, &group, &now) || group != self->group)
        return;
    if (self->basics_only)
        explain_basics(&now);
    else if (group == GROUP_CPI || group == GROUP_MISSES)
        ; /* the reason is in the words */
    else if (self->env.facts->in_flight_untrue)
        core_group_is_untrue(&now);
    else if (self->few_counters)
        now.reason = REASON_NO_PMU; /* the words are the source's */
    else
        latency_verdict_refine(self->env.facts, &now);
    self->status->verdict = now;
}

static void core_latency_reconcile(void *opaque, const struct container_diff *diff)
{
    struct core_latency_collector *self = opaque;
    if (self->off)
        return;
    if (core_group_is_left(&self->env, self->group))
        latency_lanes_fall_back(self);
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log))
        refresh_verdict(self);
    core_lanes_nest(&self->lanes, diff);
    struct read_latencies *reads = &self->env.facts->reads;
    if (reads->wanted && read_latencies_reserve(reads, self->lanes.n) != 0)
        log_error(self->env.log, "core_latency",
                  "out of memory: who makes some containers wait is not known");
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        struct labelset *labels = container_labels_get(self->env.labels, lane->core.base.container);
        if (lane->made && labels)
            limits_make(&lane->limits, self->container_family, labels, lane->series,
                        lane->core.base.ending);
    }
}

/* ---- a tick ---- */

static void lane_estimate(struct core_latency_collector *self, struct lane *lane,
                          const struct window_sum *sum)
{
    const struct machine *machine = &self->env.facts->machine;
    struct core_latency_sums sums;
    int err = counts_sums(sum, self->group, self->env.facts, &sums);
    if (err == -ERANGE)
        self->status->discarded[DISCARD_IMPLAUSIBLE]++;
    lane->latency =
        !err && (self->group == GROUP_MISSES
                     ? core_latency_of_stalls(&sums, machine->base_frequency_hz, &lane->estimate)
                     : core_latency_estimate_sums(&sums, machine->base_frequency_hz,
                                                  core_cache_of(machine), &lane->estimate)) == 0;
    if (lane->latency)
        lane->limits.caches_seconds =
            lane->estimate.latency_seconds - lane->estimate.beyond_seconds;
}

static void lane_take(struct core_latency_collector *self, struct lane *lane,
                      const struct window_sum *sum, enum window_status status)
{
    struct counts now = {.counted = 0};
    if (status == WINDOW_OK) {
        counts_take(sum, self->group, self->env.facts, &now);
        lane->known = true;
        lane->counted = now.counted;
        self->few_counters = now.too_few;
    }
    for (int c = 0; c < C_COUNTS; c++) {
        lane->count[c] = now.count[c];
        lane->total[c] += now.count[c];
    }
    lane->window = true;
}

/* Reads the lane's window and adds it to the totals. */
static int lane_read(struct core_latency_collector *self, struct lane *lane,
                     const struct tick *tick)
{
    lane->window = lane->latency = lane->busy = false;
    core_lane_settle(&lane->core, false, 0);
    const struct window_sum *sum;
    enum window_status status;
    int err = core_lane_read(&lane->core, &self->env, self->status, tick, &sum, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    if (status == WINDOW_STARVED || status == WINDOW_RESET)
        return 0;
    lane_take(self, lane, sum, status);
    if (base_frequency_check(self->env.facts, lane->count[C_REF_CYCLES], sum->enabled_ns)) {
        refresh_verdict(self);
        log_warn(self->env.log, "core_latency", "%s", self->status->verdict.words);
    }
    core_lane_settle(&lane->core, true, lane->count[C_READS]);
    lane_estimate(self, lane, sum);
    double cpu_seconds =
        (double)lane->count[C_REF_CYCLES] / self->env.facts->machine.base_frequency_hz;
    lane->busy = lane->latency &&
                 window_is_busy(lane->count[C_READS], cpu_seconds, lane->core.window_seconds);
    return 0;
}

/* Beyond the caches, so that a change of frequency teaches nothing. */
static void learn_normal(const struct core_latency_collector *self, struct lane *lane,
                         const struct tick *tick)
{
    struct corunners corunners;
    core_lane_corunners(&lane->core, &self->lanes, &self->traffic, &corunners);
    bool calm = core_lane_calm(&lane->calm, tick, &corunners);
    if (!lane->busy)
        return;
    const struct normal_window window = {
        .mono_ns = tick->mono_ns,
        .length_seconds = lane->core.window_seconds,
        .calm = calm,
        .waits = limits_are_exceeded(&lane->limits, lane->estimate.latency_seconds),
        .latency_seconds = lane->estimate.beyond_seconds,
        .corunners_known = corunners.known,
        .measure = corunners.measure,
        .corunner_rate = corunners.rate,
        .own_rate = lane->core.read_rate[SOCKETS_ALL],
    };
    normal_learn(&lane->limits.normal, &window);
}

/* Of a container that reads local memory only, since the probe does: where there is one NUMA node,
 * all do. NaN when not known. */
static double machine_seconds(const struct core_latency_collector *self, const struct lane *lane)
{
    const struct facts *facts = self->env.facts;
    if (facts->machine.numa_nodes != 1 || !(facts->probe_best_seconds > 0) ||
        !(lane->limits.caches_seconds > 0))
        return NAN;
    return facts->probe_best_seconds - lane->limits.caches_seconds;
}

static double machine_error(const struct core_latency_collector *self)
{
    const struct facts *facts = self->env.facts;
    return facts->probe_error_ratio > 0 ? facts->probe_error_ratio * facts->probe_best_seconds
                                        : NAN;
}

static void lane_count(const struct core_latency_collector *self, struct lane *lane)
{
    if (!lane->latency)
        return;
    lane->latency_known = true;
    lane->wait_seconds += lane->estimate.wait_seconds;
    lane->latency_reads += lane->count[C_READS];
    if (!lane->busy)
        return;
    lane->observed_seconds += lane->core.window_seconds;
    lane->over_seconds +=
        limits_over_seconds(&lane->limits, lane->estimate.latency_seconds,
                            lane->core.window_seconds, self->config->threshold_factor);
    if (lane->series[C_HISTOGRAM])
        series_observe(lane->series[C_HISTOGRAM], lane->estimate.latency_seconds);
}

static enum lack lane_lack(const struct core_latency_collector *self, const struct lane *lane)
{
    const struct machine *machine = &self->env.facts->machine;
    if (lane->limits.basis[LIMIT_BASELINE] != BASES || lane->core.base.ending)
        return LACK_NONE;
    if (!lane->core.base.opened)
        return LACK_NOT_COUNTED;
    if (self->group == GROUP_MISSES
            ? !(lane->counted >> C_STALLS & 1)
            : isnan(core_cache_seconds(core_cache_of(machine), machine->base_frequency_hz)))
        return LACK_NO_LATENCY;
    return normal_busy_time(&lane->limits.normal) > 0 ? LACK_LEARNING : LACK_IDLE;
}

static void lane_publish(struct core_latency_collector *self, struct lane *lane,
                         const struct tick *tick)
{
    const struct core_latency_config *config = self->env.config;
    limits_update(&lane->limits, machine_seconds(self, lane), machine_error(self),
                  config->threshold_factor);
    basis_changes_tell(&self->changes, &lane->limits, lane->core.base.container, tick,
                       self->env.log);
    lane_count(self, lane);
    lane->limits.lack = lane_lack(self, lane);
    tell_people(self, lane);
    if (!lane->made)
        return;
    latency_lane_show(lane);
    if (limits_judge(&lane->limits))
        series_set(lane->series[C_OVER], lane->over_seconds);
    series_show(lane->series[C_LATENCY], lane->latency && !lane->core.base.ending,
                lane->estimate.latency_seconds);
    self->status->wants_reconcile |=
        limits_show(&lane->limits, lane->series, lane->core.base.ending);
}

/* What lies inside a container that is counted is in that one's counts. */
static void add_to_node(struct core_latency_collector *self, const struct lane *lane)
{
    if (core_lane_is_included(&lane->core, &self->lanes))
        return;
    for (int n = 0; n < N_COUNTS; n++)
        if (latency_lane_counts(lane, node_count[n]))
            series_add_u64(self->node[n], lane->count[node_count[n]]);
    if (!lane->latency || self->group == GROUP_MISSES)
        return;
    series_add(self->node[N_WAIT], lane->estimate.wait_seconds);
    series_add_u64(self->node[N_LATENCY_READS], lane->count[C_READS]);
    if (lane->busy)
        series_observe(self->node[N_HISTOGRAM], lane->estimate.latency_seconds);
}

static void show_facts(const struct core_latency_collector *self)
{
    const struct machine *machine = &self->env.facts->machine;
    series_show(self->node[N_BASE_FREQUENCY], machine->base_frequency_hz > 0,
                machine->base_frequency_hz);
    series_show(self->node[N_CACHE_CYCLES], machine->cache_cycles > 0, machine->cache_cycles);
    series_show(self->node[N_CACHE_SECONDS], machine->cache_seconds > 0, machine->cache_seconds);
}

/* The counter for memory reads turned out to be dead: nothing we showed of it was true. */
static void switch_off(struct core_latency_collector *self)
{
    core_group_is_filtered(&self->status->verdict);
    log_warn(self->env.log, "core_latency", "%s", self->status->verdict.words);
    lanes_release(&self->lanes);
    node_traffic_close(&self->traffic);
    for (int i = 0; i < N_SUMS; i++)
        series_clear(self->node[i]);
    for (int i = LACK_NONE + 1; i < LACKS; i++)
        series_clear(self->lacks[i]);
    self->off = true;
}

/* Likewise of the other groups, in which cycles and instructions count none the less. */
static void keep_basics(struct core_latency_collector *self)
{
    explain_basics(&self->status->verdict);
    log_warn(self->env.log, "core_latency", "%s", self->status->verdict.words);
    self->basics_only = true;
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        lane->basic = counts_basic(GROUP_CPI);
        lane->counted &= counts_of_any_cpu();
    }
    for (int i = N_READS; i < N_SUMS; i++)
        series_clear(self->node[i]);
}

static int core_latency_collect(void *opaque, const struct tick *tick)
{
    struct core_latency_collector *self = opaque;
    show_facts(self);
    if (self->env.facts->l3_miss_reads_filtered && self->group != GROUP_CORE) {
        if (!self->basics_only)
            keep_basics(self);
    } else if (self->env.facts->l3_miss_reads_filtered && !self->off) {
        switch_off(self);
    }
    if (self->off)
        return -ENODEV;

    int result = 0;
    struct lane *lane;
    node_traffic_begin(&self->traffic, self->env.facts);
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        int err = lane_read(self, lane, tick);
        if (err && !result)
            result = err;
        core_lane_add_up(&lane->core, &self->traffic);
    }
    node_traffic_end(&self->traffic, tick, self->env.facts);

    uint64_t lacking[LACKS] = {0};
    bool reloaded = self->thresholds_version != self->env.thresholds->version;
    self->thresholds_version = self->env.thresholds->version;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        if (reloaded)
            latency_lane_find_threshold(self, lane);
        if (lane->window) {
            add_to_node(self, lane);
            learn_normal(self, lane, tick);
        }
        lane_publish(self, lane, tick);
        if (lane->busy && self->group != GROUP_MISSES)
            tell_collectors(self, lane, tick);
        lacking[lane->limits.lack]++;
        if (lane->core.base.ending && lane_base_is_open(lane)) {
            lane_base_close(&lane->core.base, self->env.sources);
            lanes_closed_one(&self->lanes, self->status);
        }
    }
    self->env.facts->reads.tick = tick->number;
    self->status->wants_reconcile |= core_group_is_left(&self->env, self->group);
    for (int i = LACK_NONE + 1; i < LACKS; i++)
        series_set_u64(self->lacks[i], lacking[i]);
    enum reason reason = self->status->verdict.reason;
    if (reason == REASON_OK || reason == REASON_NMI_WATCHDOG || reason == REASON_NOT_CALIBRATED ||
        (reason == REASON_NO_PMU && self->group != GROUP_CORE))
        refresh_verdict(self);
    return result;
}

/* ---- life ---- */

static void core_latency_save(void *opaque, struct state_writer *out)
{
    struct core_latency_collector *self = opaque;
    node_traffic_save(&self->traffic, latency_lane_ops.collector, out);
    if (!self->fell_back) /* the next start begins with loads in flight */
        lanes_save(&self->lanes, out);
}

static void core_latency_stop(void *opaque)
{
    struct core_latency_collector *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    read_latencies_release(&self->env.facts->reads);
    node_traffic_close(&self->traffic);
    named_series_release(self->node, N_METRICS);
    named_series_release(self->lacks, LACKS);
    basis_changes_release(&self->changes);
    free(self);
}

static int register_lacks(struct core_latency_collector *self, const char *owner)
{
    struct family *family;
    int err = store_family(self->env.store, &core_latency_lacks_desc, owner, &family);
    for (int i = LACK_NONE + 1; i < LACKS && !err; i++) {
        const struct label own = {"reason", lack_name((enum lack)i)};
        err = series_new(family, NULL, &own, 1, &self->lacks[i]);
    }
    return err;
}

static int register_all(struct core_latency_collector *self, const char *owner)
{
    int err = latency_families_register(self);
    /* Nothing was read yet: a recording may not even have counts of reads. */
    for (int i = 0; i < N_METRICS && !err; i++)
        err = named_series_register(self->env.store, &core_latency_node_descs[i], owner,
                                    &self->node[i]);
    if (!err)
        err = register_lacks(self, owner);
    if (!err)
        err = basis_changes_init(&self->changes, self->env.store, owner);
    return err;
}

static int core_latency_start(const struct collector_env *env, struct collector_status *status,
                              void **out);

const struct collector_ops core_latency_collector = {
    .name = "core_latency",
    .summary = "memory read latency per container, from core counters",
    .default_on = COLLECTOR_ON,
    .options = options,
    .metrics = core_latency_metrics,
    .discards = DISCARDS_OF_WINDOWS | DISCARD_BIT(DISCARD_IMPLAUSIBLE),
    .probe = core_latency_probe,
    .start = core_latency_start,
    .reconcile = core_latency_reconcile,
    .collect = core_latency_collect,
    .save = core_latency_save,
    .stop = core_latency_stop,
};

static int core_latency_start(const struct collector_env *env, struct collector_status *status,
                              void **out)
{
    struct core_latency_collector *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->env = *env;
    self->config = env->config;
    lanes_init(&self->lanes, &latency_lane_ops, self);
    lanes_remember(&self->lanes, env->state);
    node_traffic_restore(&self->traffic, latency_lane_ops.collector, env->state);
    self->status = status;
    self->thresholds_version = env->thresholds->version;
    if (!find_group(env, &self->group, &status->verdict))
        self->group = GROUP_CORE;
    int err = register_all(self, core_latency_collector.name);
    if (err) {
        core_latency_stop(self);
        return err;
    }
    node_traffic_open(&self->traffic, env, core_latency_collector.name);
    *out = self;
    return 0;
}
