/*
 * Real memory latency from the pointer chase, and what it tells about the core counters: it
 * calibrates c_cache once, then says how wrong the estimate is (FORMULAS.md section 1,
 * "Calibration").
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/learned/day_percentile.h"
#include "collectors/learned/hour.h"
#include "collectors/learned/keep.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/fill_counts.h"
#include "collectors/parts/probe_latency.h"
#include "collectors/parts/window_read.h"
#include "collectors/probe/calibration.h"
#include "collectors/table.h"

/* The counter must have been dead beside this many bursts before it is called filtered. */
enum { FILTERED_BURSTS = 3 };
/* A gauge without a new burst for this many ticks is stale, and goes. */
enum { STALE_TICKS = 60 };
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
           "pointer chase. High "
           "compared with its usual value: the memory of the target node is contended, or an idle "
           "machine clocks its interconnect down. Where DRAM or HBM caches slower memory (Memory "
           "Mode), the few MiB of the chase always hit that cache, unlike containers.");

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
    struct series *latency;
    struct series *histogram;
    uint64_t last_tick;
};

/* One probe thread whose own counters are read. */
struct counted_thread {
    int numa_node;
    group_handle core;
    struct series *error;
    uint64_t last_tick;
    unsigned dead_bursts;
};

struct probe_collector {
    struct collector_env env;
    struct collector_status *status;
    struct family *latency_family, *histogram_family, *error_family;
    struct pair *pairs;
    size_t n_pairs;
    struct counted_thread *threads;
    size_t n_threads;
    enum group group;    /* of the threads' counters, as core_group_find() has it */
    uint64_t started_ns; /* the first tick's time, monotonic; 0 before */
    struct cache_calibration cache;
    struct hit_calibration hits;
    struct hit_calibration l2_fills, l3_fills; /* in cycles */
    bool fills_measured;                       /* here, not by --events.file */
    struct hour_percentile local;              /* latencies of nodes to their own memory */
    struct day_percentile local_day;           /* the same */
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
    if (series_new(self->latency_family, NULL, own, 2, &pair->latency) != 0)
        return NULL;
    if (series_new(self->histogram_family, NULL, own, 2, &pair->histogram) != 0) {
        series_free(pair->latency);
        return NULL;
    }
    self->n_pairs++;
    return pair;
}

static int show_bursts(struct probe_collector *self, const struct tick *tick,
                       const struct probe_reading *bursts, size_t n)
{
    int err = 0;
    for (size_t i = 0; i < n; i++) {
        int initiator = bursts[i].initiator_numa_node, target = bursts[i].target_numa_node;
        double seconds;
        if (!probe_latency_is_first(bursts, i) ||
            !probe_latency(bursts, n, initiator, target, &seconds))
            continue;
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
        if (tick->number > self->pairs[i].last_tick + STALE_TICKS)
            series_clear(self->pairs[i].latency);
    return err;
}

/* For those who need to know what memory takes when it is left alone. */
static void learn_calm(struct probe_collector *self, const struct tick *tick,
                       const struct probe_reading *bursts, size_t n)
{
    bool added = false;
    for (size_t i = 0; i < n; i++) {
        int node = bursts[i].initiator_numa_node;
        double seconds;
        if (bursts[i].target_numa_node != node || !probe_latency_is_first(bursts, i) ||
            !probe_latency(bursts, n, node, node, &seconds))
            continue;
        hour_percentile_add(&self->local, tick->mono_ns, seconds);
        day_percentile_add(&self->local_day, tick->mono_ns, (double)tick->interval_ns * 1e-9,
                           seconds);
        self->n_local++;
        added = true;
    }
    if (!added || self->n_local < CALM_MIN_READINGS)
        return;
    self->env.facts->probe_calm_seconds = hour_percentile_seconds(&self->local, 0.05);
    self->env.facts->probe_best_seconds = day_percentile_seconds(&self->local_day, 0.05);
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

/* ---- the estimate against the truth ---- */

static void calibrate(struct probe_collector *self, double latency, struct core_cache cache)
{
    struct facts *facts = self->env.facts;
    struct machine *machine = &facts->machine;
    bool two_parts = facts->cache_core_cycles > 0;
    if (!cache_calibration_add(&self->cache, latency, two_parts ? cache.seconds : cache.cycles,
                               two_parts ? &machine->cache_seconds : &machine->cache_cycles))
        return;
    if (two_parts)
        machine->cache_cycles = facts->cache_core_cycles;
    facts->cache_cycles_final = true;
    log_info(self->env.log, "probe",
             "a look through the caches takes %.1f core cycles and %.1f ns, as calibrated; the "
             "value no longer changes",
             machine->cache_cycles, machine->cache_seconds * 1e9);
}

/* What this node's bursts of the tick took if all of them went to its own memory, and nowhere else:
 * the thread's counters do not tell targets apart, nor misses from hits. */
static bool only_local_bursts(const struct probe_reading *bursts, size_t n, int node,
                              double *seconds)
{
    for (size_t i = 0; i < n; i++)
        if (bursts[i].initiator_numa_node == node &&
            (bursts[i].target_numa_node != node || bursts[i].llc_hit_ns > 0))
            return false;
    return probe_latency(bursts, n, node, node, seconds);
}

/* Hypervisors filter each event by itself. A read is outstanding for many cycles. */
static void judge_counters(struct probe_collector *self, struct counted_thread *counted,
                           const struct core_latency_counts *counts)
{
    struct facts *facts = self->env.facts;
    if (counts->reads > 0 && counts->occupancy >= counts->reads)
        counted->dead_bursts = 0;
    else if (facts->chase_must_miss && ++counted->dead_bursts >= FILTERED_BURSTS)
        facts->l3_miss_reads_filtered = true;
}

static void show_error(struct counted_thread *counted, struct facts *facts, const struct tick *tick,
                       const struct core_latency_counts *counts, double true_latency)
{
    const struct machine *machine = &facts->machine;
    struct core_latency estimate;
    double ratio;
    if (core_latency_estimate(counts, machine->base_frequency_hz, core_cache_of(machine),
                              &estimate) != 0 ||
        core_latency_error_ratio(estimate.latency_seconds, true_latency, &ratio) != 0)
        return;
    series_set(counted->error, ratio);
    facts->probe_error_ratio = ratio;
    counted->last_tick = tick->number;
}

/* Whether the event of misses in flight counts what it says (fill_latency.h). */
static void judge_in_flight(struct probe_collector *self, struct counted_thread *counted,
                            const struct fills *fills, double true_latency, double frequency_hz)
{
    struct facts *facts = self->env.facts;
    double share = 0;
    bool loads = self->group == GROUP_IN_FLIGHT;
    bool reads = fills_self_test(fills, true_latency, frequency_hz, &share) == 0;
    if (reads && share >= (loads ? LOADS_SELF_TEST_LEAST : FILLS_SELF_TEST_LEAST) &&
        share <= (loads ? LOADS_SELF_TEST_MOST : FILLS_SELF_TEST_MOST)) {
        counted->dead_bursts = 0;
    } else if (facts->chase_must_miss && ++counted->dead_bursts >= FILTERED_BURSTS) {
        facts->in_flight_untrue = reads;
        facts->l3_miss_reads_filtered = !reads;
    }
}

static void judge_fills(struct probe_collector *self, struct counted_thread *counted,
                        const struct tick *tick, const struct window_sum *sum, double true_latency)
{
    const struct machine *machine = &self->env.facts->machine;
    struct core_latency_counts counts = {0};
    struct fills fills;
    double frequency_hz, beyond;
    if (!window_count(sum, self->group, ROLE_CYCLES, &counts.cycles) ||
        !window_count(sum, self->group, ROLE_REF_CYCLES, &counts.ref_cycles) ||
        !window_count(sum, self->group, core_group_reads(self->group), &counts.reads) ||
        core_frequency_hz(counts.cycles, counts.ref_cycles, machine->base_frequency_hz,
                          &frequency_hz) != 0)
        return;
    int err = fill_counts(sum, self->group, &fills);
    if (err == -ENODATA)
        return;
    if (err) /* more misses than accesses: dead, or not what they are taken for */
        fills = (struct fills){.memory = (double)counts.reads};
    judge_in_flight(self, counted, &fills, true_latency, frequency_hz);
    if (err || fills_beyond(&fills, fill_times_of(self->env.facts), &beyond) != 0)
        return;
    counts.occupancy = (uint64_t)beyond;
    show_error(counted, self->env.facts, tick, &counts, true_latency);
}

/* Hits in the L2 and the L3 that the thread measured, in cycles: its counters of the same window
 * tell its frequency. The times no longer change once both are known. */
static void learn_fills(struct probe_collector *self, const struct counted_thread *counted,
                        const struct window_sum *sum, const struct probe_reading *bursts, size_t n)
{
    struct facts *facts = self->env.facts;
    struct machine *machine = &facts->machine;
    uint64_t cycles = 0, ref_cycles = 0;
    double hz, l2 = 0, l3 = 0;
    window_count(sum, self->group, ROLE_CYCLES, &cycles);
    window_count(sum, self->group, ROLE_REF_CYCLES, &ref_cycles);
    if (facts->cache_cycles_final || !(facts->l1d_hit_cycles > 0) ||
        core_frequency_hz(cycles, ref_cycles, machine->base_frequency_hz, &hz) != 0)
        return;
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        if (bursts[i].initiator_numa_node != counted->numa_node || !(bursts[i].l2_hit_ns > 0) ||
            !(bursts[i].llc_hit_ns > 0))
            continue;
        known = hit_calibration_add(&self->l2_fills, bursts[i].l2_hit_ns * 1e-9 * hz, &l2);
        hit_calibration_add(&self->l3_fills, bursts[i].llc_hit_ns * 1e-9 * hz, &l3);
    }
    if (!known || !(l2 > facts->l1d_hit_cycles) || !(l3 > l2))
        return;
    double before = facts->l1d_hits_in_flight ? 0 : facts->l1d_hit_cycles;
    machine->l2_fill_cycles = l2 - before;
    machine->l3_fill_cycles = l3 - before;
    facts_settle_fills(facts);
    self->fills_measured = true;
    log_info(self->env.log, "probe",
             "a load that hits the L2 takes %.1f cycles, one that hits the L3 %.1f, as measured; "
             "the values no longer change",
             l2, l3);
}

/* Where nothing is counted that tells a latency: whether the chase's misses are. */
static void judge_misses(struct probe_collector *self, struct counted_thread *counted,
                         const struct window_sum *sum)
{
    struct facts *facts = self->env.facts;
    uint64_t reads;
    if (window_count(sum, GROUP_MISSES, ROLE_L3_MISS_READS, &reads) && reads > 0)
        counted->dead_bursts = 0;
    else if (facts->chase_must_miss && ++counted->dead_bursts >= FILTERED_BURSTS)
        facts->l3_miss_reads_filtered = true;
}

static void judge_window(struct probe_collector *self, struct counted_thread *counted,
                         const struct tick *tick, const struct window_sum *sum, double true_latency)
{
    if (self->group == GROUP_FILLS || self->group == GROUP_IN_FLIGHT) {
        judge_fills(self, counted, tick, sum, true_latency);
        return;
    }
    struct core_latency_counts counts = {0};
    if (self->group == GROUP_MISSES) {
        judge_misses(self, counted, sum);
        return;
    }
    if (!window_count(sum, GROUP_CORE, ROLE_CYCLES, &counts.cycles) ||
        !window_count(sum, GROUP_CORE, ROLE_REF_CYCLES, &counts.ref_cycles) ||
        !window_count(sum, GROUP_CORE, ROLE_L3_MISS_READS, &counts.reads) ||
        !window_count(sum, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY, &counts.occupancy))
        return;
    judge_counters(self, counted, &counts);

    struct facts *facts = self->env.facts;
    double base = facts->machine.base_frequency_hz;
    struct core_cache cache;
    if (!facts->cache_cycles_final) {
        int err =
            core_latency_calibrate(&counts, base, true_latency, facts->cache_core_cycles, &cache);
        facts->calibration_refused = err == -ERANGE;
        if (!err)
            calibrate(self, true_latency, cache);
        return;
    }
    show_error(counted, facts, tick, &counts, true_latency);
}

static int read_counted_threads(struct probe_collector *self, const struct tick *tick,
                                const struct probe_reading *bursts, size_t n)
{
    int result = 0;
    for (size_t i = 0; i < self->n_threads; i++) {
        struct counted_thread *counted = &self->threads[i];
        struct window_sum sum;
        enum window_status status;
        double true_latency = 0;
        int err = window_read(self->env.sources, counted->core, self->status, &sum, &status);
        if (err && err != -ENODATA && !result)
            result = err;
        if (!err && status == WINDOW_OK && self->env.facts->l1d_hit_cycles > 0)
            learn_fills(self, counted, &sum, bursts, n);
        if (!err && status == WINDOW_OK &&
            only_local_bursts(bursts, n, counted->numa_node, &true_latency))
            judge_window(self, counted, tick, &sum, true_latency);
        if (tick->number > counted->last_tick + STALE_TICKS)
            series_clear(counted->error);
    }
    return result;
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
    int err = show_bursts(self, tick, bursts, n);
    learn_calm(self, tick, bursts, n);
    learn_hits(self, bursts, n);
    if (!self->started_ns)
        self->started_ns = tick->mono_ns;
    self->env.facts->calibrating_ns = tick->mono_ns - self->started_ns;
    int threads_err = read_counted_threads(self, tick, bursts, n);
    count_discards(self);
    return err ? err : threads_err;
}

/* ---- across a restart ---- */

/* What is kept beside the statistics. */
struct kept {
    bool calibrated; /* not where --events.file gives c_cache */
    double cache_cycles, cache_seconds;
    bool fills_measured; /* likewise */
    double l2_fill_cycles, l3_fill_cycles;
    uint32_t n_local;
};

static void walk_fills(struct probe_collector *self, struct kept *kept, struct state_fields *fields)
{
    state_bool(fields, &kept->fills_measured);
    state_double(fields, &kept->l2_fill_cycles, 0, 1e4);
    state_double(fields, &kept->l3_fill_cycles, 0, 1e4);
    if (kept->fills_measured)
        state_check(fields, self->env.facts->l1d_hit_cycles > 0 && kept->l2_fill_cycles > 0 &&
                                kept->l3_fill_cycles > kept->l2_fill_cycles);
}

/* Reading: only what this machine's calibration could have found. */
static void walk(struct probe_collector *self, struct kept *kept, struct state_fields *fields)
{
    double core_cycles = self->env.facts->cache_core_cycles;
    state_bool(fields, &kept->calibrated);
    state_double(fields, &kept->cache_cycles, 0, 1e4);
    state_double(fields, &kept->cache_seconds, 0, 1e-5);
    if (kept->calibrated && core_cycles > 0)
        state_check(fields, kept->cache_cycles == core_cycles && kept->cache_seconds > 0);
    else if (kept->calibrated)
        state_check(fields, kept->cache_cycles > 0 && kept->cache_seconds == 0);
    walk_fills(self, kept, fields);
    state_u32(fields, &kept->n_local, CALM_MIN_READINGS);
    hit_calibration_keep(&self->hits, fields);
    hour_percentile_keep(&self->local, fields);
    day_percentile_keep(&self->local_day, fields);
}

static void probe_save(void *opaque, struct state_writer *out)
{
    struct probe_collector *self = opaque;
    const struct machine *machine = &self->env.facts->machine;
    struct kept kept = {
        .calibrated = self->cache.n == CALIBRATION_BURSTS,
        .cache_cycles = machine->cache_cycles,
        .cache_seconds = machine->cache_seconds,
        .fills_measured = self->fills_measured,
        .l2_fill_cycles = machine->l2_fill_cycles,
        .l3_fill_cycles = machine->l3_fill_cycles,
        .n_local = self->n_local < CALM_MIN_READINGS ? (uint32_t)self->n_local : CALM_MIN_READINGS,
    };
    state_entry_begin(out, "probe", "");
    walk(self, &kept, &out->fields);
    state_entry_end(out);
}

static void restore(struct probe_collector *self)
{
    struct facts *facts = self->env.facts;
    struct state_fields fields;
    struct kept kept = {0};
    if (!state_claim(self->env.state, "probe", "", &fields))
        return;
    walk(self, &kept, &fields);
    if (!state_fits(&fields)) {
        self->hits = (struct hit_calibration){0};
        self->local = (struct hour_percentile){0};
        self->local_day = (struct day_percentile){0};
        return;
    }
    self->n_local = kept.n_local;
    if (self->hits.n == CALIBRATION_HITS)
        facts->llc_hit_seconds = self->hits.lowest[1];
    if (facts->cache_cycles_final)
        return;
    if (kept.calibrated) {
        facts->machine.cache_cycles = kept.cache_cycles;
        facts->machine.cache_seconds = kept.cache_seconds;
        facts->cache_cycles_final = true;
        self->cache.n = CALIBRATION_BURSTS;
    } else if (kept.fills_measured) {
        facts->machine.l2_fill_cycles = kept.l2_fill_cycles;
        facts->machine.l3_fill_cycles = kept.l3_fill_cycles;
        facts_settle_fills(facts);
        self->fills_measured = true;
    }
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
    for (size_t i = 0; i < self->n_threads; i++) {
        source_set_close(self->env.sources, self->threads[i].core);
        series_free(self->threads[i].error);
    }
    free(self->pairs);
    free(self->threads);
    free(self);
}

/* Counters of the probe's own threads: a machine without them still has the probe. */
static int open_counted_threads(struct probe_collector *self)
{
    size_t n = self->env.inventory->n_threads;
    const struct source_thread *threads = self->env.inventory->threads;
    struct verdict why, *blocked = &self->env.facts->calibration_blocked;
    verdict_set(blocked, REASON_NO_DEVICE, "no counters of the probe's threads are known");
    if (n == 0)
        return 0;
    if (!core_group_find(self->env.sources, SCOPE_THREAD, &self->group, &why)) {
        *blocked = why;
        return 0;
    }
    self->threads = calloc(n, sizeof *self->threads);
    if (!self->threads)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct scope scope = {
            .kind = SCOPE_THREAD, .key = threads[i].key, .tid = threads[i].tid, .cgroup_fd = -1};
        struct counted_thread *counted = &self->threads[self->n_threads];
        if (source_set_open(self->env.sources, &scope, self->group, &counted->core, &why) != 0) {
            self->status->open_failures[why.reason]++;
            log_warn(self->env.log, "probe", "thread %s cannot calibrate: %s", threads[i].key,
                     why.words);
            *blocked = why;
            continue;
        }
        counted->numa_node = threads[i].initiator_numa_node;
        char node[12];
        snprintf(node, sizeof node, "%d", counted->numa_node);
        const struct label own = {"numa_node", node};
        int err = series_new(self->error_family, NULL, &own, 1, &counted->error);
        if (err) {
            source_set_close(self->env.sources, counted->core);
            return err;
        }
        self->n_threads++;
    }
    if (self->n_threads > 0)
        verdict_clear(blocked);
    return 0;
}

static int probe_start(const struct collector_env *env, struct collector_status *status,
                       void **out);

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

static int probe_start(const struct collector_env *env, struct collector_status *status, void **out)
{
    struct probe_collector *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->env = *env;
    self->status = status;
    restore(self);
    const char *owner = probe_collector.name;
    int err = store_family(env->store, &latency_desc, owner, &self->latency_family);
    if (!err)
        err = store_family(env->store, &histogram_desc, owner, &self->histogram_family);
    if (!err)
        err = store_family(env->store, &error_desc, owner, &self->error_family);
    if (!err)
        err = open_counted_threads(self);
    if (err) {
        probe_stop(self);
        return err;
    }
    *out = self;
    return 0;
}
