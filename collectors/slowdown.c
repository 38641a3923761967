/*
 * How many times as long the work of each container takes as it would take alone, and whether the
 * cache or the memory is to blame: FORMULAS.md section 3, models passive and asm
 * (slowdown/passive.h, epochs.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/learned/serialise.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/lanes.h"
#include "collectors/slowdown/epochs.h"
#include "collectors/slowdown/passive.h"
#include "collectors/slowdown/series.h"
#include "collectors/table.h"

/* What the flags say. */
struct slowdown_config {
    bool alone_rate;
};

_Static_assert(sizeof(struct slowdown_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");

static const struct option_flag options[] = {
    {.name = "collector.slowdown.alone-rate",
     .type = FLAG_BOOL,
     .offset = offsetof(struct slowdown_config, alone_rate),
     .help = "Also export, per container, the rate at which it would access the last-level cache "
             "if it ran alone."},
    {.name = NULL},
};

/* ---- state ---- */

struct lane {
    struct core_lane core;      /* first */
    struct slowdown_set series; /* made once it is named */
    double limit;               /* of its own, for people; NaN: it has none */
    struct epochs epochs;
    struct passive passive; /* behind what each tick touches: what is remembered, and is large */
    struct calm calm;
};

/* What holds for the node's passive estimates, in words of the verdict. */
enum node_state {
    STATE_OK,
    STATE_UNOPENED,
    STATE_NOT_COUNTED,
    STATE_NO_FREQUENCY,
    STATE_NO_HIT_CYCLES
};

struct slowdown_collector {
    struct collector_env env;
    struct collector_status *status;
    struct slowdown_families families;

    struct lanes lanes;
    enum group group; /* of each container */

    struct node_traffic traffic;
    size_t counted, lacking; /* of this tick: containers that have their counts, and that do not */
    enum node_state state;
    unsigned thresholds_version;
    bool off; /* found out while running that it cannot work */
};

/* On AMD's and Arm's CPUs, what core_latency says: the PMU is hidden, a permission is missing, or
 * it counts something else. */
static void explain_others(const struct collector_env *env, struct verdict *why)
{
    enum group group;
    struct verdict theirs;
    if (why->reason != REASON_UNSUPPORTED_CPU)
        return;
    if (!core_group_find(env->sources, SCOPE_CGROUP, &group, &theirs)) {
        if (theirs.reason != REASON_UNSUPPORTED_CPU)
            *why = theirs;
        return;
    }
    verdict_set(why, REASON_UNSUPPORTED_CPU,
                "slowdown needs the cycles with at least one read of memory outstanding, which %s; "
                "core_latency works",
                group == GROUP_FILLS
                    ? "no event of AMD's CPUs counts: Zen 3's pending fills are hits in the L2 and "
                      "L3, too, and later ones have no such event"
                    : "no event of this CPU counts, nor is there room for that of stalls");
}

/* Arm's cores whose stalls are counted with each container's reads. */
static bool counts_stalls(const struct collector_env *env)
{
    enum group group;
    struct verdict why;
    return !env->facts->no_stalls && core_group_find(env->sources, SCOPE_CGROUP, &group, &why) &&
           group == GROUP_MISSES;
}

static bool slowdown_probe(const struct collector_env *env, struct verdict *why)
{
    if (source_set_check(env->sources, SCOPE_CGROUP, GROUP_CORE, why) ||
        source_set_check(env->sources, SCOPE_CGROUP, GROUP_ASM_EPOCHS, NULL))
        return true;
    if (counts_stalls(env)) {
        verdict_set(why, REASON_OK,
                    "from cycles stalled for memory: what neighbours cost in the cache and in "
                    "memory is one number, shown as memory's");
        return true;
    }
    explain_others(env, why);
    return false;
}

/* ---- containers ---- */

static void lane_close(struct slowdown_collector *self, struct lane *lane)
{
    lane_base_close(&lane->core.base, self->env.sources);
    epochs_close(&lane->epochs, self->env.sources);
}

static void lane_free(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    lane_close(self, lane);
    slowdown_set_release(&lane->series);
    free(lane);
}

static bool lane_open(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    if (self->families.epochs)
        epochs_open(&lane->epochs, self->env.sources, self->status, lane->core.base.container);
    int err =
        lane_base_open(&lane->core.base, &self->env, self->status, "slowdown", "has no estimate");
    if (err && err != -ESRCH)
        self->state = STATE_UNOPENED;
    return err == 0;
}

/* What lasts: counters and notes. */
static void lane_show(const struct slowdown_collector *self, struct lane *lane)
{
    struct slowdown_set *set = &lane->series;
    bool possible = lane->core.base.opened && self->state != STATE_NOT_COUNTED &&
                    self->state != STATE_NO_FREQUENCY;
    passive_show(&lane->passive, set, possible,
                 self->group == GROUP_CORE && passive_knows_hits(self->env.facts));
}

static void lane_find_limit(const struct slowdown_collector *self, struct lane *lane)
{
    const struct container *c = lane->core.base.container;
    if (!thresholds_find_slowdown(self->env.thresholds, c->namespace_, c->pod, c->name,
                                  &lane->limit))
        lane->limit = NAN;
}

static void lane_name(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->core.base.container);
    lane_find_limit(self, lane);
    if (!labels || lane->series.made)
        return;
    if (lane_base_named(&lane->core.base, &self->env, "slowdown",
                        slowdown_set_make(&lane->series, &self->families, labels)) != 0)
        return;
    lane_show(self, lane);
    epochs_show(&lane->epochs, &lane->series);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    slowdown_set_relabel(&lane->series,
                         container_labels_get(self->env.labels, lane->core.base.container));
    lane_find_limit(self, lane);
}

static void *lane_make(void *collector, const struct container *container)
{
    const struct slowdown_collector *self = collector;
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    core_lane_init(&lane->core, container, self->group);
    passive_init(&lane->passive);
    lane->limit = NAN;
    return lane;
}

static void lane_serialise(void *opaque, struct state_fields *fields)
{
    struct lane *lane = opaque;
    core_lane_serialise(&lane->core, &lane->calm, fields);
    unloaded_serialise(&lane->passive.unloaded, fields);
}

static const struct lane_ops lane_ops = {
    .collector = "slowdown",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_base_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_base_end,
    .free = lane_free,
    .serialise = lane_serialise,
};

static void slowdown_reconcile(void *opaque, const struct container_diff *diff)
{
    struct slowdown_collector *self = opaque;
    if (self->off)
        return;
    bool all_open = lanes_reconcile(&self->lanes, diff, self->status, self->env.log);
    core_lanes_nest(&self->lanes, diff);
    if (all_open && self->state == STATE_UNOPENED) {
        verdict_clear(&self->status->verdict);
        self->state = STATE_OK;
    }
}

/* ---- what holds for the node ---- */

/* The counter for memory reads turned out to be dead. */
static void switch_off(struct slowdown_collector *self)
{
    core_group_is_filtered(&self->status->verdict);
    lanes_release(&self->lanes);
    node_traffic_close(&self->traffic);
    self->off = true;
}

static void say(struct slowdown_collector *self, enum node_state state)
{
    struct verdict *verdict = &self->status->verdict;
    struct verdict why = {0};
    switch (state) {
    case STATE_NOT_COUNTED:
        if (source_set_check(self->env.sources, SCOPE_CGROUP, GROUP_CORE, &why) && why.words[0])
            verdict_set(verdict, why.reason == REASON_OK ? REASON_NO_PMU : why.reason, "%s",
                        why.words);
        else
            verdict_set(verdict, REASON_NO_PMU,
                        "slowdown is off: the source does not count llc_reads and "
                        "l3_miss_read_active");
        break;
    case STATE_NO_FREQUENCY:
        verdict_set(verdict, REASON_UNSUPPORTED_CPU,
                    "slowdown is off: the base frequency is unknown; set machine.base_frequency_hz "
                    "in --events.file");
        break;
    case STATE_NO_HIT_CYCLES:
        verdict_set(verdict, REASON_UNSUPPORTED_CPU,
                    "only the cycles lost to memory are estimated %s what a hit in this CPU's "
                    "last-level cache costs; machine.llc_hit_cycles in --events.file sets it too",
                    self->env.facts->probe.reason == REASON_OK
                        ? "until the probe has measured (some minutes after the start)"
                        : "since there is no probe to measure");
        break;
    default:
        verdict_clear(verdict);
        break;
    }
    self->state = state;
}

/* Once a window told, what holds for all containers: they are counted by one CPU's events. */
static void judge(struct slowdown_collector *self)
{
    if (self->lanes.unopened > 0 || self->counted + self->lacking == 0)
        return;
    enum node_state state = STATE_OK;
    if (self->counted == 0)
        state = STATE_NOT_COUNTED;
    else if (!(self->env.facts->machine.base_frequency_hz > 0))
        state = STATE_NO_FREQUENCY;
    else if (self->group == GROUP_CORE && !passive_knows_hits(self->env.facts))
        state = STATE_NO_HIT_CYCLES;
    if (state != self->state)
        say(self, state);
}

/* ---- a tick ---- */

static int lane_read(struct slowdown_collector *self, struct lane *lane, const struct tick *tick)
{
    const struct window_sum *sum;
    enum window_status window;
    passive_begin(&lane->passive);
    int err = core_lane_read(&lane->core, &self->env, self->status, tick, &sum, &window);
    if (!err)
        passive_take(&lane->passive, self->group, sum, window);
    core_lane_settle(&lane->core, lane->passive.window, lane->passive.counts.misses);
    core_lane_add_up(&lane->core, &self->traffic);
    self->counted += lane->passive.counted;
    self->lacking +=
        lane->passive.window && !lane->passive.counted && lane->passive.counts.cycles > 0;
    return err == -ENODATA ? 0 : err;
}

static int lane_tell(struct slowdown_collector *self, struct lane *lane, const struct tick *tick)
{
    struct passive *passive = &lane->passive;
    struct passive_tick surroundings = {.mono_ns = tick->mono_ns};
    if (passive->window) {
        struct corunners corunners;
        core_lane_corunners(&lane->core, &self->lanes, &self->traffic, &corunners);
        surroundings.length_seconds = lane->core.window_seconds;
        surroundings.calm = core_lane_calm(&lane->calm, tick, &corunners);
        surroundings.corunners_known = corunners.known;
        surroundings.measure = corunners.measure;
        surroundings.corunner_rate = corunners.rate;
    }
    passive_estimate(passive, lane->core.base.opened, &surroundings, self->env.facts, self->status);
    lane_show(self, lane);
    passive_publish(passive, &lane->series, lane->core.base.ending);
    if (passive->gap == GAP_NONE)
        live_put(self->env.live, lane->core.base.container, LIVE_SLOWDOWN_RATIO,
                 passive->estimate.ratio);
    live_put(self->env.live, lane->core.base.container, LIVE_SLOWDOWN_LIMIT, lane->limit);
    live_lacks_slowdown(self->env.live, lane->core.base.container,
                        passive->gap == GAP_NONE ? NULL : slowdown_gap_name(passive->gap));
    return epochs_collect(&lane->epochs, self->env.sources, self->status, &lane->series,
                          lane->core.base.ending);
}

static void find_limits_again(struct slowdown_collector *self)
{
    if (self->thresholds_version == self->env.thresholds->version)
        return;
    self->thresholds_version = self->env.thresholds->version;
    struct lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        lane_find_limit(self, lane);
}

static void note_error(int *result, int err)
{
    if (err && !*result)
        *result = err;
}

static int slowdown_collect(void *opaque, const struct tick *tick)
{
    struct slowdown_collector *self = opaque;
    if (self->env.facts->l3_miss_reads_filtered && !self->off)
        switch_off(self);
    if (self->off)
        return -ENODEV;

    int result = 0;
    find_limits_again(self);
    struct lane *lane;
    self->counted = self->lacking = 0;
    node_traffic_begin(&self->traffic, self->env.facts);
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        note_error(&result, lane_read(self, lane, tick));
    node_traffic_end(&self->traffic, tick, self->env.facts);
    judge(self);
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        note_error(&result, lane_tell(self, lane, tick));
        if (lane->core.base.ending && (lane_base_is_open(lane) || lane->epochs.handle)) {
            lane_close(self, lane);
            lanes_closed_one(&self->lanes, self->status);
        }
    }
    return result;
}

/* ---- life ---- */

static void slowdown_save(void *opaque, struct state_writer *out)
{
    struct slowdown_collector *self = opaque;
    node_traffic_save(&self->traffic, lane_ops.collector, out);
    lanes_save(&self->lanes, out);
}

static void slowdown_stop(void *opaque)
{
    struct slowdown_collector *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    node_traffic_close(&self->traffic);
    free(self);
}

static int slowdown_start(const struct collector_env *env, struct collector_status *status,
                          void **out);

const struct collector_ops slowdown_collector = {
    .name = "slowdown",
    .summary = "how many times as long the work of each container takes as it would take alone",
    .default_on = COLLECTOR_ON,
    .options = options,
    .metrics = slowdown_metrics,
    .discards = DISCARDS_OF_WINDOWS | DISCARD_BIT(DISCARD_IMPLAUSIBLE) |
                DISCARD_BIT(DISCARD_LEARNING) | DISCARD_BIT(DISCARD_NEVER_CALM) |
                DISCARD_BIT(DISCARD_NO_MISSES) | DISCARD_BIT(DISCARD_DENOMINATOR),
    .probe = slowdown_probe,
    .start = slowdown_start,
    .reconcile = slowdown_reconcile,
    .collect = slowdown_collect,
    .save = slowdown_save,
    .stop = slowdown_stop,
};

static int slowdown_start(const struct collector_env *env, struct collector_status *status,
                          void **out)
{
    struct slowdown_collector *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->env = *env;
    self->group = counts_stalls(env) ? GROUP_MISSES : GROUP_CORE;
    lanes_init(&self->lanes, &lane_ops, self);
    lanes_remember(&self->lanes, env->state);
    node_traffic_restore(&self->traffic, lane_ops.collector, env->state);
    self->status = status;
    struct verdict ignored;
    const struct slowdown_config *config = env->config;
    self->families.alone_rate = config->alone_rate;
    self->families.epochs =
        source_set_check(env->sources, SCOPE_CGROUP, GROUP_ASM_EPOCHS, &ignored);
    int err = slowdown_families_register(&self->families, env->store, slowdown_collector.name);
    if (err) {
        slowdown_stop(self);
        return err;
    }
    node_traffic_open(&self->traffic, env, slowdown_collector.name);
    *out = self;
    return 0;
}
