/*
 * Real memory latency from the pointer chase, and what others learn from it: what memory takes when
 * it is left alone, what a hit in the last-level cache does, and how the core counters do
 * (probe/self_test.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/learned/day_percentile.h"
#include "collectors/learned/hour.h"
#include "collectors/learned/serialise.h"
#include "collectors/parts/probe_latency.h"
#include "collectors/probe/calibration.h"
#include "collectors/probe/self_test.h"
#include "collectors/table.h"

/* Fewer local readings than this have no 5th percentile worth the name. */
enum { CALM_MIN_READINGS = 60 };

/* Memory of today takes 60 ns to 600 ns: there the steps are 5 to 10 %, since a rise of 15 %
 * already slows down what waits for memory. */
static const double latency_edges[] = {
    60e-9,  65e-9,  70e-9,  75e-9,  80e-9,  85e-9,  90e-9,  95e-9,  100e-9, 105e-9, 110e-9,
    115e-9, 120e-9, 130e-9, 140e-9, 150e-9, 160e-9, 170e-9, 180e-9, 190e-9, 200e-9, 215e-9,
    230e-9, 250e-9, 270e-9, 290e-9, 310e-9, 330e-9, 350e-9, 375e-9, 400e-9, 430e-9, 460e-9,
    500e-9, 550e-9, 600e-9, 700e-9, 850e-9, 1e-6,   1.4e-6, 2e-6,
};

static const struct metric_desc latency_desc =
    METRIC(GAUGE, DOUBLE, "interference_memory_probe_latency_seconds",
           "initiator_numa_node, target_numa_node",
           "Measured load-to-use latency of memory: the median of the last tick's bursts of the "
           "pointer chase. High compared with its usual value: the memory of the target node is "
           "contended, or an idle machine clocks its interconnect down. Where DRAM or HBM caches "
           "slower memory (Memory Mode), the few MiB of the chase always hit that cache, unlike "
           "containers.");

static const struct metric_desc histogram_desc = {
    .name = "interference_memory_probe_window_latency_seconds",
    .type = METRIC_HISTOGRAM,
    .labels = "initiator_numa_node, target_numa_node",
    .help = "Measured load-to-use latency of memory, one observation per tick with bursts: their "
            "median. A tail to the right: it is contended at times.",
    .edges = latency_edges,
    .n_edges = sizeof latency_edges / sizeof *latency_edges};

static const struct metric_desc error_desc = METRIC(
    GAUGE, DOUBLE, "interference_core_latency_error_ratio", "numa_node",
    "Error of the estimate from core counters, as a share of the latency that the probe "
    "measured, for the probe's own thread. High: do not trust the estimates of this "
    "machine now. A median of runs is compared with the mean over all reads of the burst, so "
    "a busy memory alone raises it a little. The constants are calibrated once: after a live "
    "migration to another host it stays high until the exporter is restarted, without what "
    "--state.file kept.");

static const struct metric_desc *const metrics[] = {&latency_desc, &histogram_desc, &error_desc,
                                                    NULL};

/* One initiator and target. */
struct pair {
    int initiator, target;
    struct series *latency, *histogram;
    uint64_t last_tick;
};

struct probe_collector {
    struct collector_env env;
    struct collector_status *status;
    struct family *families[3]; /* as in metrics */
    struct pair *pairs;
    size_t n_pairs;
    struct self_test *test;
    uint64_t started_ns; /* the first tick's time, monotonic; 0 before */
    struct hit_calibration hits;
    struct hour_percentile local;    /* latencies of nodes to their own memory */
    struct day_percentile local_day; /* the same */
    size_t n_local;
};

static bool probe_probe(const struct collector_env *env, struct verdict *why)
{
    if (env->facts->probe.reason == REASON_OK)
        return true;
    *why = env->facts->probe;
    return false;
}

/* ---- latency ---- */

/* Allocates the first time a pair is seen, which is not the steady state. */
static struct pair *pair_of(struct probe_collector *self, int initiator, int target)
{
    for (size_t i = 0; i < self->n_pairs; i++)
        if (self->pairs[i].initiator == initiator && self->pairs[i].target == target)
            return &self->pairs[i];
    struct pair *pairs = realloc(self->pairs, (self->n_pairs + 1) * sizeof *pairs);
    if (!pairs)
        return NULL;
    self->pairs = pairs;
    struct pair *pair = &pairs[self->n_pairs];
    *pair = (struct pair){.initiator = initiator, .target = target};
    char from[12], to[12];
    snprintf(from, sizeof from, "%d", initiator);
    snprintf(to, sizeof to, "%d", target);
    const struct label own[] = {{"initiator_numa_node", from}, {"target_numa_node", to}};
    if (series_new(self->families[0], NULL, own, 2, &pair->latency) != 0)
        return NULL;
    if (series_new(self->families[1], NULL, own, 2, &pair->histogram) != 0) {
        series_free(pair->latency);
        return NULL;
    }
    self->n_pairs++;
    return pair;
}

static int take_bursts(struct probe_collector *self, const struct tick *tick,
                       const struct probe_reading *bursts, size_t n)
{
    int err = 0;
    size_t had_local = self->n_local;
    for (size_t i = 0; i < n; i++) {
        int initiator = bursts[i].initiator_numa_node, target = bursts[i].target_numa_node;
        double seconds;
        if (!probe_latency_is_first(bursts, i) ||
            !probe_latency(bursts, n, initiator, target, &seconds))
            continue;
        if (initiator == target) {
            hour_percentile_add(&self->local, tick->mono_ns, seconds);
            day_percentile_add(&self->local_day, tick->mono_ns, (double)tick->interval_ns * 1e-9,
                               seconds);
            self->n_local++;
        }
        struct pair *pair = pair_of(self, initiator, target);
        if (!pair) {
            err = -ENOMEM;
            continue;
        }
        series_set(pair->latency, seconds);
        series_observe(pair->histogram, seconds);
        live_latency(self->env.live, initiator, target, tick, seconds);
        pair->last_tick = tick->number;
    }
    for (size_t i = 0; i < self->n_pairs; i++)
        if (tick->number > self->pairs[i].last_tick + PROBE_STALE_TICKS)
            series_clear(self->pairs[i].latency);
    if (self->n_local > had_local && self->n_local >= CALM_MIN_READINGS) {
        self->env.facts->probe_calm_seconds = hour_percentile_seconds(&self->local, 0.05);
        self->env.facts->probe_best_seconds = day_percentile_seconds(&self->local_day, 0.05);
    }
    return err;
}

/* For those who need to know what a miss costs more than a hit. */
static void learn_hits(struct probe_collector *self, const struct probe_reading *bursts, size_t n)
{
    struct facts *facts = self->env.facts;
    double seconds;
    for (size_t i = 0; i < n; i++) {
        if (!(bursts[i].llc_hit_ns > 0) ||
            !hit_calibration_add(&self->hits, bursts[i].llc_hit_ns * 1e-9, &seconds))
            continue;
        if (!(facts->llc_hit_seconds > 0))
            log_info(self->env.log, "probe", "a hit in the last-level cache takes %.1f ns",
                     seconds * 1e9);
        facts->llc_hit_seconds = seconds;
    }
}

static void count_discards(struct probe_collector *self)
{
    static const enum discard_reason reason[PROBE_DISCARDS] = {
        [PROBE_PREEMPTED] = DISCARD_PREEMPTED,
        [PROBE_MIGRATED] = DISCARD_MIGRATED,
        [PROBE_STOLEN] = DISCARD_STOLEN,
    };
    uint64_t discarded[PROBE_DISCARDS];
    if (!source_set_probe_discards(self->env.sources, discarded))
        return;
    for (int i = 0; i < PROBE_DISCARDS; i++)
        self->status->discarded[reason[i]] = discarded[i];
}

static int probe_collect(void *opaque, const struct tick *tick)
{
    struct probe_collector *self = opaque;
    size_t n;
    const struct probe_reading *bursts = source_set_probes(self->env.sources, &n);
    int err = take_bursts(self, tick, bursts, n);
    learn_hits(self, bursts, n);
    if (!self->started_ns)
        self->started_ns = tick->mono_ns;
    self->env.facts->calibrating_ns = tick->mono_ns - self->started_ns;
    int test_err = self_test_take(self->test, tick, bursts, n);
    count_discards(self);
    return err ? err : test_err;
}

/* ---- across a restart ---- */

static void walk(struct probe_collector *self, struct state_fields *fields)
{
    uint32_t n_local =
        self->n_local < CALM_MIN_READINGS ? (uint32_t)self->n_local : CALM_MIN_READINGS;
    self_test_serialise(self->test, fields);
    state_u32(fields, &n_local, CALM_MIN_READINGS);
    hit_calibration_serialise(&self->hits, fields);
    hour_percentile_serialise(&self->local, fields);
    day_percentile_serialise(&self->local_day, fields);
    if (state_reading(fields))
        self->n_local = n_local;
}

static void probe_save(void *opaque, struct state_writer *out)
{
    state_entry_begin(out, "probe", "");
    walk(opaque, &out->fields);
    state_entry_end(out);
}

static void restore(struct probe_collector *self)
{
    struct state_fields fields;
    if (!state_claim(self->env.state, "probe", "", &fields))
        return;
    walk(self, &fields);
    self_test_recall(self->test, state_fits(&fields));
    if (!state_fits(&fields)) {
        self->n_local = 0;
        self->hits = (struct hit_calibration){0};
        self->local = (struct hour_percentile){0};
        self->local_day = (struct day_percentile){0};
        return;
    }
    if (self->hits.n == CALIBRATION_HITS)
        self->env.facts->llc_hit_seconds = self->hits.lowest[1];
}

/* ---- life ---- */

static void probe_stop(void *opaque)
{
    struct probe_collector *self = opaque;
    if (!self)
        return;
    for (size_t i = 0; i < self->n_pairs; i++) {
        series_free(self->pairs[i].latency);
        series_free(self->pairs[i].histogram);
    }
    self_test_free(self->test);
    free(self->pairs);
    free(self);
}

static int probe_start(const struct collector_env *env, struct collector_status *status, void **out)
{
    int err = 0;
    struct probe_collector *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->env = *env;
    self->status = status;
    for (size_t i = 0; metrics[i] && !err; i++)
        err = store_family(env->store, metrics[i], probe_collector.name, &self->families[i]);
    if (!err)
        err = self_test_new(&self->env, status, self->families[2], &self->test);
    if (err) {
        probe_stop(self);
        return err;
    }
    restore(self);
    *out = self;
    return 0;
}

const struct collector_ops probe_collector = {
    .name = "probe",
    .summary = "real memory latency per NUMA node pair, from a pointer chase",
    .default_on = COLLECTOR_ON,
    .needs = NEEDS_PROBE,
    .metrics = metrics,
    .discards = DISCARD_BIT(DISCARD_PREEMPTED) | DISCARD_BIT(DISCARD_MIGRATED) |
                DISCARD_BIT(DISCARD_STOLEN),
    .probe = probe_probe,
    .start = probe_start,
    .collect = probe_collect,
    .save = probe_save,
    .stop = probe_stop,
};
