/*
 * How many times slower each container runs because of its neighbours, and whether the cache or the
 * memory is to blame: FORMULAS.md section 3, models asm and passive.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/formulas/core_latency.h"
#include "collectors/formulas/slowdown.h"
#include "collectors/lanes.h"
#include "collectors/unloaded.h"
#include "collectors/window_read.h"

/* 'epochs', which steers resctrl, will be a program of its own that hands its estimates in here. */
enum model { MODEL_ASM, MODEL_EPOCHS, MODEL_PASSIVE, MODELS };
static const char *const model_names[MODELS] = {"asm", "epochs", "passive"};

/* Why a container has no estimate by model passive at the moment; the label of the note. */
enum gap {
    GAP_NONE,
    GAP_IDLE,                /* nothing ran in the window, or it was discarded */
    GAP_NOT_COUNTED,         /* llc_reads or l3_miss_read_active are missing */
    GAP_NO_FREQUENCY,        /* base frequency unknown */
    GAP_LEARNING,            /* too few calm windows so far */
    GAP_NEVER_CALM,          /* no calm window at all */
    GAP_NO_UNLOADED_LATENCY, /* calm windows without reads, and no probe that may stand in */
    GAP_NO_HIT_CYCLES,       /* llc_hit_cycles unknown: only the memory's part is estimated */
    GAP_NO_ACCESSES,
    GAP_NO_MISSES,
    GAP_DENOMINATOR,
    GAPS
};
static const char *const gap_names[GAPS] = {
    [GAP_NONE] = "",
    [GAP_IDLE] = "idle",
    [GAP_NOT_COUNTED] = "not_counted",
    [GAP_NO_FREQUENCY] = "no_frequency",
    [GAP_LEARNING] = "learning",
    [GAP_NEVER_CALM] = "never_calm",
    [GAP_NO_UNLOADED_LATENCY] = "no_unloaded_latency",
    [GAP_NO_HIT_CYCLES] = "no_hit_cycles",
    [GAP_NO_ACCESSES] = "no_accesses",
    [GAP_NO_MISSES] = "no_misses",
    [GAP_DENOMINATOR] = "denominator",
};

/* ---- metrics ---- */

enum metric { M_RATIO, M_OBSERVED, M_INTERFERENCE, M_ALONE_RATE, M_CALM_WINDOWS, M_GAP, METRICS };

#define CONTAINER(n) "interference_container_" n
static const struct metric_desc descs[METRICS] = {
    [M_RATIO] = {.name = CONTAINER("slowdown_ratio"),
                 .type = METRIC_GAUGE,
                 .number = METRIC_DOUBLE,
                 .labels = "container, model",
                 .help = "How many times slower the container ran in the last window than it would "
                         "have alone, estimated. 1: its neighbours do not hurt it; high: they do. "
                         "Absent where there is no estimate; /api/v1/containers says why."},
    [M_OBSERVED] = {.name = CONTAINER("slowdown_observed_cycles"),
                    .type = METRIC_COUNTER,
                    .number = METRIC_U64,
                    .labels = "container, model",
                    .help = "Cycles of the windows with an estimate. A rate near that of "
                            "cpu_cycles: nearly every window has one. interference_cycles divided "
                            "by this is the share of time lost to neighbours."},
    [M_INTERFERENCE] = {.name = CONTAINER("interference_cycles"),
                        .type = METRIC_COUNTER,
                        .number = METRIC_U64,
                        .labels = "container, model, resource",
                        .help = "Cycles lost to neighbours in windows with an estimate, by what "
                                "was contended: cache (they evicted its lines) or memory (they "
                                "kept it busy). Rising fast: that resource hurts."},
    [M_ALONE_RATE] = {.name = CONTAINER("alone_llc_access_rate_hertz"),
                      .type = METRIC_GAUGE,
                      .number = METRIC_DOUBLE,
                      .labels = "container, model",
                      .help = "Accesses to the last-level cache per second of its running time "
                              "that the container would make alone, estimated; only with "
                              "--collector.slowdown.alone-rate. High: it depends on that cache."},
    [M_CALM_WINDOWS] = {.name = "slowdown_calm_windows",
                        .type = METRIC_NOTE,
                        .number = METRIC_U64,
                        .labels = "container",
                        .help = "Calm windows that the model passive has learned from. High: its "
                                "estimate stands on much."},
    [M_GAP] = {.name = "slowdown_no_estimate",
               .type = METRIC_NOTE,
               .number = METRIC_U64,
               .labels = "container, model, reason",
               .help = "1 with the reason why there is no estimate by this model at the moment."},
};

static const struct metric_desc *const metrics[] = {&descs[M_RATIO],
                                                    &descs[M_OBSERVED],
                                                    &descs[M_INTERFERENCE],
                                                    &descs[M_ALONE_RATE],
                                                    &descs[M_CALM_WINDOWS],
                                                    &descs[M_GAP],
                                                    NULL};

/* A container's series, and what each is. */
enum lane_series {
    S_RATIO,
    S_OBSERVED,
    S_MEMORY,
    S_CACHE,
    S_ALONE_RATE,
    S_CALM_WINDOWS,
    S_ASM_RATIO,
    S_ASM_OBSERVED,
    S_ASM_ALONE_RATE,
    S_GAPS, /* one per reason, GAP_NONE's is never made */
    LANE_SERIES = S_GAPS + GAPS
};

static const struct {
    enum metric metric;
    enum model model;
    const char *resource;
} series_defs[S_GAPS] = {
    [S_RATIO] = {M_RATIO, MODEL_PASSIVE, NULL},
    [S_OBSERVED] = {M_OBSERVED, MODEL_PASSIVE, NULL},
    [S_MEMORY] = {M_INTERFERENCE, MODEL_PASSIVE, "memory"},
    [S_CACHE] = {M_INTERFERENCE, MODEL_PASSIVE, "cache"},
    [S_ALONE_RATE] = {M_ALONE_RATE, MODEL_PASSIVE, NULL},
    [S_CALM_WINDOWS] = {M_CALM_WINDOWS, MODELS, NULL},
    [S_ASM_RATIO] = {M_RATIO, MODEL_ASM, NULL},
    [S_ASM_OBSERVED] = {M_OBSERVED, MODEL_ASM, NULL},
    [S_ASM_ALONE_RATE] = {M_ALONE_RATE, MODEL_ASM, NULL},
};

/* ---- state ---- */

/* Counts of a window of the core group; valid with 'window'. */
struct counts {
    uint64_t cycles, ref_cycles, misses, occupancy, accesses, active;
};

/* One container. */
struct lane {
    const struct container *container;
    group_handle core, epochs; /* 0: not open */
    bool ending;               /* its next reading is its last */
    bool named;
    struct series *series[LANE_SERIES]; /* NULL: not named, or not wanted */

    uint64_t last_mono_ns; /* where the current window began */
    bool read_once;

    bool window;  /* counts are valid; else all are 0 */
    bool counted; /* so are llc_reads and l3_miss_read_active */
    double window_seconds;
    uint64_t enabled_ns;
    struct counts counts;

    struct unloaded unloaded;
    enum gap gap; /* shown */
    uint64_t observed_cycles;
    double memory_cycles, cache_cycles;

    bool epochs_seen;
    uint64_t epochs_observed_cycles;
};

/* What holds for the node's passive estimates, in words of the verdict. */
enum state { STATE_OK, STATE_UNOPENED, STATE_NOT_COUNTED, STATE_NO_FREQUENCY, STATE_NO_HIT_CYCLES };

struct slowdown_collector {
    struct collector_env env;
    struct collector_status *status;
    struct family *family[METRICS];
    bool epochs_possible;

    struct lanes lanes;

    uint64_t last_mono_ns;
    double node_peak_rate; /* reads per second, highest ever */
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
    if (lane->core)
        source_set_close(self->env.sources, lane->core);
    if (lane->epochs)
        source_set_close(self->env.sources, lane->epochs);
    lane->core = lane->epochs = 0;
}

static void lane_drop_series(struct lane *lane)
{
    for (int i = 0; i < LANE_SERIES; i++) {
        series_free(lane->series[i]);
        lane->series[i] = NULL;
    }
    lane->named = false;
}

static void lane_free(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    lane_close(self, lane);
    lane_drop_series(lane);
    free(lane);
}

static bool lane_open(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    const struct scope scope = {
        .kind = SCOPE_CGROUP,
        .key = lane->container->key,
        .cgroup_fd = lane->container->cgroup_fd,
    };
    struct verdict why;
    if (self->epochs_possible && !lane->epochs &&
        source_set_open(self->env.sources, &scope, GROUP_ASM_EPOCHS, &lane->epochs, &why) != 0)
        self->status->open_failures[why.reason]++;
    if (source_set_open(self->env.sources, &scope, GROUP_CORE, &lane->core, &why) == 0)
        return true;
    if (self->status->open_failures[why.reason]++ == 0)
        log_warn(self->env.log, "slowdown", "%s has no estimate: %s", lane->container->path,
                 why.words);
    if (why.reason != REASON_NO_DEVICE) { /* that is only a container that is gone already */
        self->status->verdict = why;
        self->state = STATE_UNOPENED;
    }
    return false;
}

static bool wanted(const struct slowdown_collector *self, int i)
{
    if (i >= S_GAPS)
        return i > S_GAPS + GAP_NONE;
    if (series_defs[i].metric == M_ALONE_RATE && !self->env.config->slowdown_alone_rate)
        return false;
    return series_defs[i].model != MODEL_ASM || self->epochs_possible;
}

static int lane_series(struct slowdown_collector *self, struct labelset *labels, int i,
                       struct series **out)
{
    struct label own[2] = {{"model", model_names[MODEL_PASSIVE]}};
    if (i >= S_GAPS) {
        own[1] = (struct label){"reason", gap_names[i - S_GAPS]};
        return series_new(self->family[M_GAP], labels, own, 2, out);
    }
    size_t n = 0;
    if (series_defs[i].model != MODELS)
        own[n++].value = model_names[series_defs[i].model];
    if (series_defs[i].resource)
        own[n++] = (struct label){"resource", series_defs[i].resource};
    return series_new(self->family[series_defs[i].metric], labels, own, n, out);
}

static void set_or_clear(struct series *series, bool present, double value)
{
    if (!series)
        return;
    if (present)
        series_set(series, value);
    else
        series_clear(series);
}

static void set_count(struct series *series, bool present, uint64_t value)
{
    if (present)
        series_set_u64(series, value);
    else
        series_clear(series);
}

static bool hit_cycles_known(const struct slowdown_collector *self)
{
    return self->env.facts->machine.llc_hit_cycles > 0;
}

/* What lasts: counters and notes. */
static void lane_show(const struct slowdown_collector *self, const struct lane *lane)
{
    bool possible = self->state != STATE_NOT_COUNTED && self->state != STATE_NO_FREQUENCY;
    set_count(lane->series[S_OBSERVED], possible, lane->observed_cycles);
    set_count(lane->series[S_MEMORY], possible, (uint64_t)lane->memory_cycles);
    set_count(lane->series[S_CACHE], possible && hit_cycles_known(self),
              (uint64_t)lane->cache_cycles);
    series_set_u64(lane->series[S_CALM_WINDOWS], lane->unloaded.calm_windows);
    if (lane->series[S_ASM_OBSERVED])
        set_count(lane->series[S_ASM_OBSERVED], lane->epochs_seen, lane->epochs_observed_cycles);
}

static void lane_name(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    if (!labels || lane->named)
        return;
    for (int i = 0; i < LANE_SERIES; i++) {
        int err = wanted(self, i) ? lane_series(self, labels, i, &lane->series[i]) : 0;
        if (err) {
            log_warn(self->env.log, "slowdown", "no series for %s: error %d", lane->container->path,
                     -err);
            lane->series[i] = NULL;
            lane_drop_series(lane);
            return;
        }
    }
    lane->named = true;
    if (lane->gap != GAP_NONE)
        series_set_u64(lane->series[S_GAPS + lane->gap], 1);
    lane_show(self, lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct slowdown_collector *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    for (int i = 0; i < LANE_SERIES && lane->named; i++)
        if (lane->series[i] && (!labels || series_relabel(lane->series[i], labels) != 0))
            lane_drop_series(lane);
}

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->container = container;
    lane->last_mono_ns = container->found_mono_ns;
    lane->gap = GAP_IDLE;
    return lane;
}

static bool lane_is_open(const void *lane)
{
    return ((const struct lane *)lane)->core != 0;
}

static void lane_end(void *lane)
{
    ((struct lane *)lane)->ending = true;
}

static const struct lane_ops lane_ops = {
    .collector = "slowdown",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_open,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_end,
    .free = lane_free,
};

static void slowdown_reconcile(void *opaque, const struct container_diff *diff)
{
    struct slowdown_collector *self = opaque;
    if (self->off)
        return;
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log) &&
        self->state == STATE_UNOPENED) {
        self->status->verdict = (struct verdict){.reason = REASON_OK};
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
    if (!lane->core)
        return 0;
    struct window_sum sum;
    enum window_status status;
    int err = window_read(self->env.sources, lane->core, self->status, &sum, &status);
    if (err == -ENODATA)
        return 0;
    uint64_t length_ns = tick->mono_ns - lane->last_mono_ns;
    if (tick->mono_ns <= lane->last_mono_ns || (!lane->read_once && length_ns > tick->interval_ns))
        length_ns = tick->interval_ns;
    lane->window_seconds = (double)length_ns * 1e-9;
    lane->last_mono_ns = tick->mono_ns;
    if (err)
        return err;
    lane->read_once = true;
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

static void count_gap(struct slowdown_collector *self, enum gap gap)
{
    static const int discards[GAPS] = {
        [GAP_LEARNING] = DISCARD_LEARNING,     [GAP_NO_UNLOADED_LATENCY] = DISCARD_LEARNING,
        [GAP_NEVER_CALM] = DISCARD_NEVER_CALM, [GAP_NO_ACCESSES] = DISCARD_NO_MISSES,
        [GAP_NO_MISSES] = DISCARD_NO_MISSES,   [GAP_DENOMINATOR] = DISCARD_DENOMINATOR,
    };
    if (discards[gap] > 0)
        self->status->discarded[discards[gap]]++;
}

static enum gap lane_estimate(struct slowdown_collector *self, struct lane *lane,
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
        .hit_cycles = hit_cycles_known(self) ? self->env.facts->machine.llc_hit_cycles : NAN,
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
static enum gap lane_passive(struct slowdown_collector *self, struct lane *lane,
                             const struct tick *tick, uint64_t node_reads,
                             struct slowdown_passive *out)
{
    const struct counts *c = &lane->counts;
    if (!lane->window)
        return GAP_IDLE;
    double frequency_hz = 0;
    bool clocked =
        core_frequency_hz(c->cycles, c->ref_cycles, self->env.facts->machine.base_frequency_hz,
                          &frequency_hz) == 0;
    const struct unloaded_window window = {
        .mono_ns = tick->mono_ns,
        .corunner_rate = (double)(node_reads - c->misses) / lane->window_seconds,
        .node_peak_rate = self->node_peak_rate,
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
    enum gap gap = lane_estimate(self, lane, frequency_hz, out);
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

static void lane_publish(struct slowdown_collector *self, struct lane *lane, enum gap gap,
                         const struct slowdown_passive *estimate)
{
    if (lane->named && gap != lane->gap) {
        if (lane->gap != GAP_NONE)
            series_clear(lane->series[S_GAPS + lane->gap]);
        if (gap != GAP_NONE)
            series_set_u64(lane->series[S_GAPS + gap], 1);
    }
    lane->gap = gap;
    if (!lane->named)
        return;
    bool present = gap == GAP_NONE && !lane->ending;
    lane_show(self, lane);
    set_or_clear(lane->series[S_RATIO], present, estimate->ratio);
    set_or_clear(lane->series[S_ALONE_RATE], present,
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
    static const enum discard discards[SLOWDOWN_STATUSES] = {
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

static int lane_asm(struct slowdown_collector *self, struct lane *lane)
{
    struct window_sum sum;
    enum window_status status;
    struct slowdown_asm estimate = {0};
    bool known = false;
    if (!lane->epochs)
        return 0;
    int err = window_read(self->env.sources, lane->epochs, self->status, &sum, &status);
    if (!err) {
        lane->epochs_seen = true;
        known = status == WINDOW_OK && asm_estimate(self, lane, &sum, &estimate);
    }
    if (lane->named) {
        bool present = known && !lane->ending;
        uint64_t cycles = 0;
        if (known)
            window_count(&sum, GROUP_ASM_EPOCHS, ROLE_QUANTUM_CYCLES, &cycles);
        set_count(lane->series[S_ASM_OBSERVED], lane->epochs_seen, lane->epochs_observed_cycles);
        set_or_clear(lane->series[S_ASM_RATIO], present, estimate.ratio);
        if (present)
            set_or_clear(lane->series[S_ASM_ALONE_RATE], true,
                         alone_rate_hz((double)cycles, sum.enabled_ns, estimate.alone_rate));
        else
            set_or_clear(lane->series[S_ASM_ALONE_RATE], false, 0);
    }
    return err == -ENODATA ? 0 : err;
}

/* ---- a tick ---- */

static void drop_all(struct slowdown_collector *self)
{
    lanes_release(&self->lanes);
}

/* The counter for memory reads turned out to be dead. */
static void switch_off(struct slowdown_collector *self)
{
    verdict_set(&self->status->verdict, REASON_EVENT_FILTERED,
                "the counter of memory reads opens but counts nothing while the probe reads "
                "memory: the hypervisor filters it; use an instance type that exposes it (bare "
                "metal does)");
    drop_all(self);
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
                    "slowdown is off: the base frequency is not known; give it as "
                    "machine.base_frequency_hz in --events.file");
        break;
    case STATE_NO_HIT_CYCLES:
        verdict_set(verdict, REASON_UNSUPPORTED_CPU,
                    "only the memory's part is estimated: for the cache's part and the slowdown "
                    "give the cycles that a hit in this CPU's last-level cache costs, "
                    "machine.llc_hit_cycles in --events.file");
        break;
    default:
        *verdict = (struct verdict){.reason = REASON_OK};
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

static void update_peak(struct slowdown_collector *self, const struct tick *tick,
                        uint64_t node_reads)
{
    uint64_t length_ns =
        self->last_mono_ns ? tick->mono_ns - self->last_mono_ns : tick->interval_ns;
    self->last_mono_ns = tick->mono_ns;
    double rate = length_ns ? (double)node_reads / ((double)length_ns * 1e-9) : 0;
    if (rate > self->node_peak_rate)
        self->node_peak_rate = rate;
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
    update_peak(self, tick, node_reads);
    judge(self);
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        struct slowdown_passive estimate = {0};
        if (!lane)
            continue;
        enum gap gap = lane_passive(self, lane, tick, node_reads, &estimate);
        lane_publish(self, lane, gap, &estimate);
        note_error(&result, lane_asm(self, lane));
        if (lane->ending && lane->core) {
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
    drop_all(self);
    free(self);
}

static int slowdown_start(const struct collector_env *env, struct collector_status *status,
                          void **out);

const struct collector_ops slowdown_collector = {
    .name = "slowdown",
    .summary = "how many times slower each container runs because of its neighbours",
    .default_on = COLLECTOR_ON,
    .metrics = metrics,
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
    self->epochs_possible =
        source_set_check(env->sources, SCOPE_CGROUP, GROUP_ASM_EPOCHS, &ignored);
    for (int i = 0; i < METRICS; i++) {
        int err = store_family(env->store, &descs[i], slowdown_collector.name, &self->family[i]);
        if (err) {
            slowdown_stop(self);
            return err;
        }
    }
    *out = self;
    return 0;
}
