#include "collectors/probe/self_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/fill_counts.h"
#include "collectors/parts/probe_latency.h"
#include "collectors/parts/window_read.h"
#include "collectors/probe/calibration.h"

/* The counter must have been dead beside this many bursts before it is called filtered. */
enum { FILTERED_BURSTS = 3 };

/* One probe thread whose own counters are read. */
struct counted_thread {
    int numa_node;
    group_handle core;
    struct series *error;
    uint64_t tick, last_tick; /* this one; the last with an error */
    double latency_seconds;   /* of its bursts of this tick, to its own memory */
    unsigned dead_bursts;
};

struct self_test {
    const struct collector_env *env;
    struct collector_status *status;
    struct counted_thread *threads;
    size_t n_threads;
    enum group group; /* of the threads' counters, as core_group_find() has it */
    struct cache_calibration cache;
    struct hit_calibration l2_fills, l3_fills; /* in cycles */
    bool calibrated, fills_measured;           /* here, not by --events.file */
    struct machine kept;                       /* what self_test_serialise() wrote, or read */
};

/* ---- calibration ---- */

static void calibrate(struct self_test *test, double latency_seconds, struct core_cache cache)
{
    struct facts *facts = test->env->facts;
    struct machine *machine = &facts->machine;
    bool two_parts = facts->cache_core_cycles > 0;
    if (!cache_calibration_add(&test->cache, latency_seconds,
                               two_parts ? cache.seconds : cache.cycles,
                               two_parts ? &machine->cache_seconds : &machine->cache_cycles))
        return;
    if (two_parts)
        machine->cache_cycles = facts->cache_core_cycles;
    facts->cache_cycles_final = test->calibrated = true;
    log_info(test->env->log, "probe",
             "a look through the caches takes %.1f core cycles and %.1f ns, as calibrated; the "
             "value no longer changes",
             machine->cache_cycles, machine->cache_seconds * 1e9);
}

/* Hits in the L2 and the L3 that the thread measured, in cycles: its counters of the same window
 * tell its frequency. The times no longer change once both are known. */
static void learn_fills(struct self_test *test, const struct counted_thread *counted,
                        const struct core_latency_counts *counts,
                        const struct probe_reading *bursts, size_t n)
{
    struct facts *facts = test->env->facts;
    struct machine *machine = &facts->machine;
    double hz, l2 = 0, l3 = 0;
    bool known = false;
    if (facts->cache_cycles_final || !(facts->l1d_hit_cycles > 0) ||
        core_frequency_hz(counts->cycles, counts->ref_cycles, machine->base_frequency_hz, &hz) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (bursts[i].initiator_numa_node != counted->numa_node || !(bursts[i].l2_hit_ns > 0) ||
            !(bursts[i].llc_hit_ns > 0))
            continue;
        known = hit_calibration_add(&test->l2_fills, bursts[i].l2_hit_ns * 1e-9 * hz, &l2);
        hit_calibration_add(&test->l3_fills, bursts[i].llc_hit_ns * 1e-9 * hz, &l3);
    }
    if (!known || !(l2 > facts->l1d_hit_cycles) || !(l3 > l2))
        return;
    double before = facts->l1d_hits_in_flight ? 0 : facts->l1d_hit_cycles;
    machine->l2_fill_cycles = l2 - before;
    machine->l3_fill_cycles = l3 - before;
    facts_settle_fills(facts);
    test->fills_measured = true;
    log_info(test->env->log, "probe",
             "a load that hits the L2 takes %.1f cycles, one that hits the L3 %.1f, as measured; "
             "the values no longer change",
             l2, l3);
}

/* ---- the estimate against the truth ---- */

/* Hypervisors filter each event by itself. */
static bool is_dead(const struct self_test *test, struct counted_thread *counted, bool alive)
{
    if (alive)
        counted->dead_bursts = 0;
    return !alive && test->env->facts->chase_must_miss && ++counted->dead_bursts >= FILTERED_BURSTS;
}

static void show_error(const struct self_test *test, struct counted_thread *counted,
                       const struct core_latency_counts *counts)
{
    struct facts *facts = test->env->facts;
    struct core_latency estimate;
    double ratio;
    if (core_latency_estimate(counts, facts->machine.base_frequency_hz,
                              core_cache_of(&facts->machine), &estimate) != 0 ||
        core_latency_error_ratio(estimate.latency_seconds, counted->latency_seconds, &ratio) != 0)
        return;
    series_set(counted->error, ratio);
    facts->probe_error_ratio = ratio;
    counted->last_tick = counted->tick;
}

/* Whether the event of misses in flight counts what it says (fill_latency.h), and the estimate. */
static void judge_fills(const struct self_test *test, struct counted_thread *counted,
                        const struct window_sum *sum, struct core_latency_counts *counts)
{
    const bool loads = test->group == GROUP_IN_FLIGHT;
    struct facts *facts = test->env->facts;
    struct fills fills;
    double hz, beyond, share = 0;
    int err = fill_counts(sum, test->group, &fills);
    if (err == -ENODATA || core_frequency_hz(counts->cycles, counts->ref_cycles,
                                             facts->machine.base_frequency_hz, &hz) != 0)
        return;
    if (err) /* more misses than accesses: dead, or not what they are taken for */
        fills = (struct fills){.memory = (double)counts->reads};
    bool reads = fills_self_test(&fills, counted->latency_seconds, hz, &share) == 0;
    if (is_dead(test, counted,
                reads && share >= (loads ? LOADS_SELF_TEST_LEAST : FILLS_SELF_TEST_LEAST) &&
                    share <= (loads ? LOADS_SELF_TEST_MOST : FILLS_SELF_TEST_MOST))) {
        facts->in_flight_untrue = reads;
        facts->l3_miss_reads_filtered = !reads;
    }
    if (err || fills_beyond(&fills, fill_times_of(facts), &beyond) != 0)
        return;
    counts->occupancy = (uint64_t)beyond;
    show_error(test, counted, counts);
}

/* A read is outstanding for many cycles. */
static void judge_core(struct self_test *test, struct counted_thread *counted,
                       const struct core_latency_counts *counts)
{
    struct facts *facts = test->env->facts;
    struct core_cache cache;
    if (is_dead(test, counted, counts->reads > 0 && counts->occupancy >= counts->reads))
        facts->l3_miss_reads_filtered = true;
    if (facts->cache_cycles_final) {
        show_error(test, counted, counts);
        return;
    }
    int err = core_latency_calibrate(counts, facts->machine.base_frequency_hz,
                                     counted->latency_seconds, facts->cache_core_cycles, &cache);
    facts->calibration_refused = err == -ERANGE;
    if (!err)
        calibrate(test, counted->latency_seconds, cache);
}

static void judge(struct self_test *test, struct counted_thread *counted,
                  const struct window_sum *sum, bool cycles, struct core_latency_counts *counts)
{
    bool reads = window_count(sum, test->group, core_group_reads(test->group), &counts->reads);
    if (test->group == GROUP_MISSES) { /* no latency: whether the chase's misses are counted */
        if (is_dead(test, counted, reads && counts->reads > 0))
            test->env->facts->l3_miss_reads_filtered = true;
    } else if (!reads || !cycles) {
        return;
    } else if (test->group != GROUP_CORE) {
        judge_fills(test, counted, sum, counts);
    } else if (window_count(sum, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY, &counts->occupancy)) {
        judge_core(test, counted, counts);
    }
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

int self_test_take(struct self_test *test, const struct tick *tick,
                   const struct probe_reading *bursts, size_t n)
{
    int result = 0;
    for (size_t i = 0; i < test->n_threads; i++) {
        struct counted_thread *counted = &test->threads[i];
        struct core_latency_counts counts = {0};
        struct window_sum sum;
        enum window_status status;
        int err = window_read(test->env->sources, counted->core, test->status, &sum, &status);
        if (err && err != -ENODATA && !result)
            result = err;
        counted->tick = tick->number;
        if (!err && status == WINDOW_OK) {
            bool cycles = window_count(&sum, test->group, ROLE_CYCLES, &counts.cycles) &&
                          window_count(&sum, test->group, ROLE_REF_CYCLES, &counts.ref_cycles);
            learn_fills(test, counted, &counts, bursts, n);
            if (only_local_bursts(bursts, n, counted->numa_node, &counted->latency_seconds))
                judge(test, counted, &sum, cycles, &counts);
        }
        if (tick->number > counted->last_tick + PROBE_STALE_TICKS)
            series_clear(counted->error);
    }
    return result;
}

/* ---- across a restart ---- */

/* Reading: only what this machine's calibration could have found. */
void self_test_serialise(struct self_test *test, struct state_fields *fields)
{
    const struct facts *facts = test->env->facts;
    struct machine *kept = &test->kept;
    if (!state_reading(fields))
        *kept = facts->machine;
    state_bool(fields, &test->calibrated);
    state_double(fields, &kept->cache_cycles, 0, 1e4);
    state_double(fields, &kept->cache_seconds, 0, 1e-5);
    if (test->calibrated && facts->cache_core_cycles > 0)
        state_check(fields,
                    kept->cache_cycles == facts->cache_core_cycles && kept->cache_seconds > 0);
    else if (test->calibrated)
        state_check(fields, kept->cache_cycles > 0 && kept->cache_seconds == 0);
    state_bool(fields, &test->fills_measured);
    state_double(fields, &kept->l2_fill_cycles, 0, 1e4);
    state_double(fields, &kept->l3_fill_cycles, 0, 1e4);
    if (test->fills_measured)
        state_check(fields, facts->l1d_hit_cycles > 0 && kept->l2_fill_cycles > 0 &&
                                kept->l3_fill_cycles > kept->l2_fill_cycles);
}

void self_test_recall(struct self_test *test, bool fits)
{
    struct facts *facts = test->env->facts;
    struct machine *machine = &facts->machine;
    test->calibrated &= fits && !facts->cache_cycles_final;
    test->fills_measured &= fits && !facts->cache_cycles_final;
    if (test->calibrated) {
        machine->cache_cycles = test->kept.cache_cycles;
        machine->cache_seconds = test->kept.cache_seconds;
        facts->cache_cycles_final = true;
    } else if (test->fills_measured) {
        machine->l2_fill_cycles = test->kept.l2_fill_cycles;
        machine->l3_fill_cycles = test->kept.l3_fill_cycles;
        facts_settle_fills(facts);
    }
}

/* ---- life ---- */

void self_test_free(struct self_test *test)
{
    if (!test)
        return;
    for (size_t i = 0; i < test->n_threads; i++) {
        source_set_close(test->env->sources, test->threads[i].core);
        series_free(test->threads[i].error);
    }
    free(test->threads);
    free(test);
}

/* Another of the threads, if its counters can be opened. */
static int open_thread(struct self_test *test, const struct source_thread *thread,
                       struct family *errors)
{
    const struct scope scope = {
        .kind = SCOPE_THREAD, .key = thread->key, .tid = thread->tid, .cgroup_fd = -1};
    struct counted_thread *counted = &test->threads[test->n_threads];
    struct verdict why;
    if (source_set_open(test->env->sources, &scope, test->group, &counted->core, &why) != 0) {
        test->status->open_failures[why.reason]++;
        log_warn(test->env->log, "probe", "thread %s cannot calibrate: %s", thread->key, why.words);
        test->env->facts->calibration_blocked = why;
        return 0;
    }
    counted->numa_node = thread->initiator_numa_node;
    char node[12];
    snprintf(node, sizeof node, "%d", counted->numa_node);
    const struct label own = {"numa_node", node};
    int err = series_new(errors, NULL, &own, 1, &counted->error);
    if (err)
        source_set_close(test->env->sources, counted->core);
    else
        test->n_threads++;
    return err;
}

int self_test_new(const struct collector_env *env, struct collector_status *status,
                  struct family *errors, struct self_test **out)
{
    const struct inventory *inventory = env->inventory;
    struct verdict *blocked = &env->facts->calibration_blocked;
    struct self_test *test = calloc(1, sizeof *test);
    if (!test)
        return -ENOMEM;
    *test = (struct self_test){.env = env, .status = status};
    verdict_set(blocked, REASON_NO_DEVICE, "no counters of the probe's threads are known");
    int err = 0;
    if (inventory->n_threads > 0 &&
        core_group_find(env->sources, SCOPE_THREAD, &test->group, blocked)) {
        test->threads = calloc(inventory->n_threads, sizeof *test->threads);
        err = test->threads ? 0 : -ENOMEM;
        for (size_t i = 0; i < inventory->n_threads && !err; i++)
            err = open_thread(test, &inventory->threads[i], errors);
        if (test->n_threads > 0)
            verdict_clear(blocked);
    }
    if (err) {
        self_test_free(test);
        return err;
    }
    *out = test;
    return 0;
}
