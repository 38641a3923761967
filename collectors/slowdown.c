/*
 * How many times slower each container runs because of its neighbours, and whether the cache or the
 * memory is to blame: FORMULAS.md section 3, models asm and passive; and shadow, see
 * formulas/slowdown.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/formulas/slowdown.h"
#include "collectors/learned/unloaded.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/lanes.h"
#include "collectors/parts/window_read.h"
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

/* Counts of a window of the core group; valid with 'window'. */
struct counts {
    uint64_t cycles, ref_cycles, misses, occupancy, accesses, active;
};

/* One container. */
struct lane {
    struct core_lane core;      /* first */
    group_handle epochs;        /* 0: not open */
    struct slowdown_set series; /* made once it is named */

    bool window;  /* counts are valid; else all are 0 */
    bool counted; /* so are llc_reads and l3_miss_read_active */
    uint64_t enabled_ns;
    struct counts counts;

    struct unloaded unloaded;
    enum slowdown_gap gap; /* shown */
    uint64_t observed_cycles;
    double memory_cycles, cache_cycles;

    bool epochs_seen;
    uint64_t epochs_observed_cycles;

    bool shadow_seen;
    uint64_t shadow_observed_cycles, shadow_memory_cycles, shadow_cache_cycles;
};

/* What holds for the node's passive estimates, in words of the verdict. */
enum state { STATE_OK, STATE_UNOPENED, STATE_NOT_COUNTED, STATE_NO_FREQUENCY, STATE_NO_HIT_CYCLES };

struct slowdown_collector {
    struct collector_env env;
    struct collector_status *status;
    struct slowdown_families families;

    struct lanes lanes;

    struct node_peak peak;
    enum state state;
    bool off; /* found out while running that it cannot work */
};

static bool slowdown_probe(const struct collector_env *env, struct verdict *why)
{
    struct verdict ignored;
    return source_set_check(env->sources, SCOPE_CGROUP, GROUP_CORE, why) ||
           source_set_check(env->sources, SCOPE_CGROUP, GROUP_ASM_EPOCHS, &ignored);
}

/* ---- containers ---- */

static void lane_close(struct slowdown_collector *self, struct lane *lane)
{
    core_lane_close(&lane->core, self->env.sources);
    if (lane->epochs)
        source_set_close(self->env.sources, lane->epochs);
    lane->epochs = 0;
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
    struct verdict ignored;
    if (self->families.epochs && !lane->epochs)
        container_group_open(self->env.sources, self->status, lane->core.container,
                             GROUP_ASM_EPOCHS, 0, &lane->epochs, &ignored);
    int err = core_lane_open(&lane->core, &self->env, self->status, "slowdown", "has no estimate");
    if (err && err != -ESRCH)
        self->state = STATE_UNOPENED;
    return err == 0;
}

static bool hit_cycles_known(const struct slowdown_collector *self)
{
    const struct facts *facts = self->env.facts;
    return facts->machine.llc_hit_cycles > 0 ||
           (facts->llc_hit_seconds > 0 && facts->machine.cache_cycles > 0);
}

/* NaN when not known. */
static double hit_cycles(const struct slowdown_collector *self, double frequency_hz)
{
    const struct facts *facts = self->env.facts;
    if (!hit_cycles_known(self))
        return NAN;
    if (facts->machine.llc_hit_cycles > 0)
        return facts->machine.llc_hit_cycles;
    return slowdown_hit_cycles(facts->llc_hit_seconds, facts->machine.cache_cycles, frequency_hz);
}

/* What lasts: counters and notes. */
static void lane_show(const struct slowdown_collector *self, struct lane *lane)
{
    struct slowdown_set *set = &lane->series;
    bool possible =
        lane->core.opened && self->state != STATE_NOT_COUNTED && self->state != STATE_NO_FREQUENCY;
    slowdown_set_count(set, S_OBSERVED, possible, lane->observed_cycles);
    slowdown_set_count(set, S_MEMORY, possible, (uint64_t)lane->memory_cycles);
    slowdown_set_count(set, S_CACHE, possible && hit_cycles_known(self),
                       (uint64_t)lane->cache_cycles);
    slowdown_set_count(set, S_CALM_WINDOWS, true, lane->unloaded.calm_windows);
    slowdown_set_count(set, S_ASM_OBSERVED, lane->epochs_seen, lane->epochs_observed_cycles);
    slowdown_set_count(set, S_SHADOW_OBSERVED, lane->shadow_seen, lane->shadow_observed_cycles);
    slowdown_set_count(set, S_SHADOW_MEMORY, lane->shadow_seen, lane->shadow_memory_cycles);
    slowdown_set_count(set, S_SHADOW_CACHE, lane->shadow_seen, lane->shadow_cache_cycles);
}

static void lane_name(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->core.container);
    if (!labels || lane->series.made)
        return;
    int err = slowdown_set_make(&lane->series, &self->families, labels);
    if (err) {
        log_warn(self->env.log, "slowdown", "no series for %s: error %d",
                 lane->core.container->path, -err);
        return;
    }
    slowdown_set_gap(&lane->series, GAP_NONE, lane->gap);
    lane_show(self, lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    slowdown_set_relabel(&lane->series,
                         container_labels_get(self->env.labels, lane->core.container));
}

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    core_lane_init(&lane->core, container);
    lane->gap = GAP_IDLE;
    return lane;
}

static const struct lane_ops lane_ops = {
    .collector = "slowdown",
    .make = lane_make,
    .open = lane_open,
    .is_open = core_lane_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = core_lane_end,
    .free = lane_free,
};

static void slowdown_reconcile(void *opaque, const struct container_diff *diff)
{
    struct slowdown_collector *self = opaque;
    if (self->off)
        return;
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log) &&
        self->state == STATE_UNOPENED) {
        verdict_clear(&self->status->verdict);
        self->state = STATE_OK;
    }
}

/* ---- a tick: reading ---- */

static void lane_take(struct lane *lane, const struct window_sum *sum, enum window_status status)
{
    struct counts *c = &lane->counts;
    lane->window = true;
    lane->enabled_ns = sum->enabled_ns;
    if (status != WINDOW_OK)
        return;
    window_count(sum, GROUP_CORE, ROLE_CYCLES, &c->cycles);
    window_count(sum, GROUP_CORE, ROLE_REF_CYCLES, &c->ref_cycles);
    window_count(sum, GROUP_CORE, ROLE_L3_MISS_READS, &c->misses);
    window_count(sum, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY, &c->occupancy);
    lane->counted = window_count(sum, GROUP_CORE, ROLE_LLC_READS, &c->accesses) &&
                    window_count(sum, GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE, &c->active);
}

static int lane_read(struct slowdown_collector *self, struct lane *lane, const struct tick *tick)
{
    lane->window = lane->counted = false;
    lane->counts = (struct counts){0};
    struct window_sum sum;
    enum window_status status;
    int err = core_lane_read(&lane->core, self->env.sources, self->status, tick, &sum, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    if (status == WINDOW_OK || status == WINDOW_IDLE)
        lane_take(lane, &sum, status);
    return 0;
}

/* ---- a tick: model passive ---- */

static double unloaded_seconds(const struct slowdown_collector *self, const struct lane *lane,
                               double frequency_hz)
{
    double seconds = unloaded_latency_seconds(&lane->unloaded);
    const struct facts *facts = self->env.facts;
    /* The probe reads local memory. Where there is one NUMA node, so does everyone. */
    if (isnan(seconds) && facts->machine.numa_nodes == 1)
        seconds = slowdown_probe_latency(facts->probe_calm_seconds, facts->machine.cache_cycles,
                                         frequency_hz);
    return seconds;
}

static void count_gap(struct slowdown_collector *self, enum slowdown_gap gap)
{
    static const int discards[GAPS] = {
        [GAP_LEARNING] = DISCARD_LEARNING,     [GAP_NO_UNLOADED_LATENCY] = DISCARD_LEARNING,
        [GAP_NEVER_CALM] = DISCARD_NEVER_CALM, [GAP_NO_ACCESSES] = DISCARD_NO_MISSES,
        [GAP_NO_MISSES] = DISCARD_NO_MISSES,   [GAP_DENOMINATOR] = DISCARD_DENOMINATOR,
    };
    if (discards[gap] > 0)
        self->status->discarded[discards[gap]]++;
}

static enum slowdown_gap lane_estimate(struct slowdown_collector *self, struct lane *lane,
                                       double frequency_hz, struct slowdown_passive *out)
{
    const struct counts *c = &lane->counts;
    const struct slowdown_passive_counts counts = {.cycles = c->cycles,
                                                   .accesses = c->accesses,
                                                   .misses = c->misses,
                                                   .occupancy = c->occupancy,
                                                   .active = c->active};
    double lat0_seconds = unloaded_seconds(self, lane, frequency_hz);
    const struct slowdown_passive_alone alone = {
        .latency_cycles = lat0_seconds * frequency_hz,
        .miss_ratio = unloaded_miss_ratio(&lane->unloaded),
        .hit_cycles = hit_cycles(self, frequency_hz),
    };
    switch (slowdown_passive(&counts, &alone, out)) {
    case SLOWDOWN_OK:
        return isnan(out->ratio) ? GAP_NO_HIT_CYCLES : GAP_NONE;
    case SLOWDOWN_NO_ACCESSES:
        return GAP_NO_ACCESSES;
    case SLOWDOWN_NO_MISSES:
        return GAP_NO_MISSES;
    case SLOWDOWN_DENOMINATOR:
        return GAP_DENOMINATOR;
    default:
        break;
    }
    if (unloaded_never_calm(&lane->unloaded))
        return GAP_NEVER_CALM;
    return isnan(alone.miss_ratio) ? GAP_LEARNING : GAP_NO_UNLOADED_LATENCY;
}

/* What the window teaches, and then what can be said of it. */
static enum slowdown_gap lane_passive(struct slowdown_collector *self, struct lane *lane,
                                      const struct tick *tick, uint64_t node_reads,
                                      struct slowdown_passive *out)
{
    const struct counts *c = &lane->counts;
    if (!lane->window)
        return lane->core.opened ? GAP_IDLE : GAP_NOT_COUNTED;
    double frequency_hz = 0;
    bool clocked =
        core_frequency_hz(c->cycles, c->ref_cycles, self->env.facts->machine.base_frequency_hz,
                          &frequency_hz) == 0;
    const struct unloaded_window window = {
        .calm = core_lane_calm(&lane->core, tick, c->misses, node_reads, &self->peak),
        .accesses = clocked && lane->counted ? c->accesses : 0,
        .misses = c->misses,
        .wait_seconds = clocked ? (double)c->occupancy / frequency_hz : 0,
    };
    unloaded_learn(&lane->unloaded, &window);
    if (c->cycles == 0 && c->misses == 0)
        return GAP_IDLE;
    if (!lane->counted)
        return GAP_NOT_COUNTED;
    if (!clocked && self->env.facts->machine.base_frequency_hz > 0) {
        self->status->discarded[DISCARD_IMPLAUSIBLE]++;
        return GAP_IDLE;
    }
    if (!clocked)
        return GAP_NO_FREQUENCY;
    enum slowdown_gap gap = lane_estimate(self, lane, frequency_hz, out);
    count_gap(self, gap);
    if (gap != GAP_NONE && gap != GAP_NO_HIT_CYCLES)
        return gap;
    lane->observed_cycles += c->cycles;
    lane->memory_cycles += out->memory_excess;
    if (gap == GAP_NONE)
        lane->cache_cycles += out->cache_excess;
    return gap;
}

/* Accesses per second of running time; 'accesses' in the window, slowed down 'ratio' times. */
static double alone_rate_hz(double accesses, uint64_t enabled_ns, double ratio)
{
    return enabled_ns > 0 ? accesses / ((double)enabled_ns * 1e-9) * ratio : NAN;
}

static void lane_publish(struct slowdown_collector *self, struct lane *lane, enum slowdown_gap gap,
                         const struct slowdown_passive *estimate)
{
    struct slowdown_set *set = &lane->series;
    enum slowdown_gap before = lane->gap;
    bool present = gap == GAP_NONE && !lane->core.ending;
    lane->gap = gap;
    if (!set->made)
        return;
    if (gap != before)
        slowdown_set_gap(set, before, gap);
    lane_show(self, lane);
    slowdown_set_gauge(set, S_RATIO, present, estimate->ratio);
    slowdown_set_gauge(
        set, S_ALONE_RATE, present,
        alone_rate_hz((double)lane->counts.accesses, lane->enabled_ns, estimate->ratio));
}

/* ---- a tick: model asm ---- */

/* A constant, which each reading repeats. */
static uint64_t epoch_length(struct slowdown_collector *self, const struct lane *lane)
{
    struct group_window window;
    int index = group_index(GROUP_ASM_EPOCHS, ROLE_EPOCH_LENGTH);
    if (source_set_read(self->env.sources, lane->epochs, &window) != 0)
        return 0;
    for (size_t i = 0; i < window.after->n; i++) {
        const struct reading_row *row = reading_row(window.after, i);
        if (row->present & 1u << index)
            return row->count[index];
    }
    return 0;
}

static bool asm_estimate(struct slowdown_collector *self, struct lane *lane,
                         const struct window_sum *sum, struct slowdown_asm *out)
{
    struct slowdown_asm_counts c = {.epoch_length = epoch_length(self, lane)};
    const struct {
        enum role role;
        uint64_t *count;
    } counts[] = {
        {ROLE_QUANTUM_CYCLES, &c.quantum_cycles},
        {ROLE_ACCESSES, &c.accesses},
        {ROLE_EPOCH_COUNT, &c.epoch_count},
        {ROLE_HITS, &c.hits},
        {ROLE_MISSES, &c.misses},
        {ROLE_HIT_TIME, &c.hit_time},
        {ROLE_MISS_TIME, &c.miss_time},
        {ROLE_ATS_HITS, &c.ats_hits},
        {ROLE_ATS_MISSES, &c.ats_misses},
        {ROLE_QUEUEING_CYCLES, &c.queueing_cycles},
    };
    static const enum discard_reason discards[SLOWDOWN_STATUSES] = {
        [SLOWDOWN_NO_EPOCH] = DISCARD_NO_EPOCH,
        [SLOWDOWN_NO_ACCESSES] = DISCARD_NO_MISSES,
        [SLOWDOWN_NO_MISSES] = DISCARD_NO_MISSES,
        [SLOWDOWN_DENOMINATOR] = DISCARD_DENOMINATOR,
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!window_count(sum, GROUP_ASM_EPOCHS, counts[i].role, counts[i].count))
            return false;
    enum slowdown_status status = slowdown_asm(&c, out);
    if (status != SLOWDOWN_OK) {
        self->status->discarded[discards[status]]++;
        return false;
    }
    lane->epochs_observed_cycles += c.quantum_cycles;
    return true;
}

/* Of the same reading, where the source has shadow clocks. */
static bool shadow_estimate(struct slowdown_collector *self, struct lane *lane,
                            const struct window_sum *sum, struct slowdown_shadow *out)
{
    struct slowdown_shadow_counts c = {0};
    if (!window_count(sum, GROUP_ASM_EPOCHS, ROLE_QUANTUM_CYCLES, &c.cycles) ||
        !window_count(sum, GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES, &c.shadow_cycles) ||
        !window_count(sum, GROUP_ASM_EPOCHS, ROLE_SHADOW_CACHE_CYCLES, &c.shadow_cache_cycles))
        return false;
    lane->shadow_seen = true;
    if (slowdown_shadow(&c, out) != SLOWDOWN_OK) {
        self->status->discarded[DISCARD_DENOMINATOR]++;
        return false;
    }
    lane->shadow_observed_cycles += c.cycles;
    lane->shadow_memory_cycles += (uint64_t)out->memory_excess;
    lane->shadow_cache_cycles += (uint64_t)out->cache_excess;
    return true;
}

static int lane_asm(struct slowdown_collector *self, struct lane *lane)
{
    struct window_sum sum;
    enum window_status status;
    struct slowdown_asm estimate = {0};
    struct slowdown_shadow shadow = {0};
    bool known = false, shadow_known = false;
    if (!lane->epochs)
        return 0;
    int err = window_read(self->env.sources, lane->epochs, self->status, &sum, &status);
    if (!err) {
        lane->epochs_seen = true;
        known = status == WINDOW_OK && asm_estimate(self, lane, &sum, &estimate);
        shadow_known = status == WINDOW_OK && shadow_estimate(self, lane, &sum, &shadow);
    }
    bool present = known && !lane->core.ending;
    double rate = 0;
    if (present) {
        uint64_t cycles = 0;
        window_count(&sum, GROUP_ASM_EPOCHS, ROLE_QUANTUM_CYCLES, &cycles);
        rate = alone_rate_hz((double)cycles, sum.enabled_ns, estimate.alone_rate);
    }
    lane_show(self, lane);
    slowdown_set_gauge(&lane->series, S_SHADOW_RATIO, shadow_known && !lane->core.ending,
                       shadow.ratio);
    slowdown_set_gauge(&lane->series, S_ASM_RATIO, present, estimate.ratio);
    slowdown_set_gauge(&lane->series, S_ASM_ALONE_RATE, present, rate);
    return err == -ENODATA ? 0 : err;
}

/* ---- a tick ---- */

/* The counter for memory reads turned out to be dead. */
static void switch_off(struct slowdown_collector *self)
{
    core_group_is_filtered(&self->status->verdict);
    lanes_release(&self->lanes);
    self->off = true;
}

static void say(struct slowdown_collector *self, enum state state)
{
    struct verdict *verdict = &self->status->verdict;
    struct verdict why = {0};
    switch (state) {
    case STATE_NOT_COUNTED:
        if (source_set_check(self->env.sources, SCOPE_CGROUP, GROUP_CORE, &why) && why.words[0])
            verdict_set(verdict, REASON_NO_PMU, "%s", why.words);
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
    size_t counted = 0, lacking = 0;
    for (size_t i = 0; i < self->lanes.n; i++) {
        const struct lane *lane = lanes_at(&self->lanes, i);
        counted += lane && lane->counted;
        lacking += lane && lane->window && !lane->counted && lane->counts.cycles > 0;
    }
    if (self->lanes.unopened > 0 || counted + lacking == 0)
        return;
    enum state state = STATE_OK;
    if (counted == 0)
        state = STATE_NOT_COUNTED;
    else if (!(self->env.facts->machine.base_frequency_hz > 0))
        state = STATE_NO_FREQUENCY;
    else if (!hit_cycles_known(self))
        state = STATE_NO_HIT_CYCLES;
    if (state != self->state)
        say(self, state);
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
    uint64_t node_reads = 0;
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        note_error(&result, lane_read(self, lane, tick));
        node_reads += lane->counts.misses;
    }
    node_peak_update(&self->peak, tick, node_reads);
    judge(self);
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        struct slowdown_passive estimate = {0};
        if (!lane)
            continue;
        enum slowdown_gap gap = lane_passive(self, lane, tick, node_reads, &estimate);
        lane_publish(self, lane, gap, &estimate);
        note_error(&result, lane_asm(self, lane));
        if (lane->core.ending && (core_lane_is_open(lane) || lane->epochs)) {
            lane_close(self, lane);
            lanes_closed_one(&self->lanes, self->status);
        }
    }
    return result;
}

/* ---- life ---- */

static void slowdown_stop(void *opaque)
{
    struct slowdown_collector *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    free(self);
}

static int slowdown_start(const struct collector_env *env, struct collector_status *status,
                          void **out);

const struct collector_ops slowdown_collector = {
    .name = "slowdown",
    .summary = "how many times slower each container runs because of its neighbours",
    .default_on = COLLECTOR_ON,
    .options = options,
    .metrics = slowdown_metrics,
    .probe = slowdown_probe,
    .start = slowdown_start,
    .reconcile = slowdown_reconcile,
    .collect = slowdown_collect,
    .stop = slowdown_stop,
};

static int slowdown_start(const struct collector_env *env, struct collector_status *status,
                          void **out)
{
    struct slowdown_collector *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->env = *env;
    lanes_init(&self->lanes, &lane_ops, self);
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
    *out = self;
    return 0;
}
