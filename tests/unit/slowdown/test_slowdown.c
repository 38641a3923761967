/* The slowdown collector on windows made by hand; the worked numbers are FORMULAS.md section 3. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"

#define C(n) "interference_container_" n
#define A "container=\"a\""
#define M 1000000u

static double passive(struct rig *rig, const char *family)
{
    return rig_value(rig, family, "model=\"passive\"");
}

static double interference(struct rig *rig, const char *resource)
{
    char label[64];
    snprintf(label, sizeof label, "resource=\"%s\"", resource);
    return rig_value(rig, C("interference_cycles"), label);
}

static bool gap_is(struct rig *rig, const char *reason)
{
    char label[64];
    snprintf(label, sizeof label, "reason=\"%s\"", reason);
    return rig_value(rig, "slowdown_no_estimate", label) == 1;
}

static bool no_gap(struct rig *rig)
{
    return isnan(rig_value(rig, "slowdown_no_estimate", "reason="));
}

static int setup_with(void **state, bool alone_rate)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &slowdown_collector);
    rig->facts.machine.llc_hit_cycles = 20;
    rig->facts.machine.numa_nodes = 2;
    if (alone_rate)
        rig_flag(rig, "--collector.slowdown.alone-rate");
    rig_start(rig);
    fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS)->no_reading = true;
    fake_group(&rig->fake, "hog", GROUP_ASM_EPOCHS)->no_reading = true;
    *state = rig;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, true);
}

static int setup_default(void **state)
{
    return setup_with(state, false);
}

static int teardown(void **state)
{
    rig_release(*state);
    free(*state);
    return 0;
}

struct load {
    uint64_t cycles, ref_cycles, accesses, misses, occupancy, active;
};

static void work(struct rig *rig, const char *key, struct load load)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_CORE);
    fake_group_run(g, 0, 1000000000u);
    fake_group_add(g, 0, ROLE_CYCLES, load.cycles);
    fake_group_add(g, 0, ROLE_REF_CYCLES, load.ref_cycles);
    fake_group_add(g, 0, ROLE_LLC_READS, load.accesses);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, load.misses);
    fake_group_add(g, 0, ROLE_L3_MISS_READ_OCCUPANCY, load.occupancy);
    fake_group_add(g, 0, ROLE_L3_MISS_READ_ACTIVE, load.active);
}

/* Alone: 200 cycles a miss, 0.4 of the accesses miss. */
static const struct load alone = {1000 * M, 1000 * M, 4 * M, 1600000, 320 * M, 320 * M};
/* Disturbed: the worked number. */
static const struct load disturbed = {1000 * M, 1000 * M, 4 * M, 2 * M, 600 * M, 400 * M};
static const struct load hog = {1000 * M, 1000 * M, 60 * M, 50 * M, 3000u * M, 900 * M};

static void learn(struct rig *rig, int windows)
{
    for (int i = 0; i < windows; i++) {
        work(rig, "a", alone);
        rig_tick(rig);
    }
}

static void disturb(struct rig *rig, struct load load)
{
    work(rig, "a", load);
    work(rig, "hog", hog);
    rig_tick(rig);
}

/* Nine windows until calm ones can be recognised, then ten calm ones. */
static void know(struct rig *rig)
{
    rig_container(rig, "a");
    learn(rig, 19);
    rig_container(rig, "hog");
}

/* ---- passive ---- */

/* As passive(), of "a" where "hog" has series, too. */
static double of_a(struct rig *rig, const char *family, const char *own)
{
    struct snapshot *snapshot = store_acquire(rig->store);
    size_t n;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    double value = NAN;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(families[i].desc->name, family) != 0)
            continue;
        for (size_t k = 0; k < families[i].n; k++) {
            const struct sample *s = &families[i].samples[k];
            size_t len;
            if (strstr(labelset_text(s->common, &len), A) && strstr(s->own, own))
                value = families[i].desc->number == METRIC_U64 ? (double)s->u64 : s->number;
        }
    }
    snapshot_release(snapshot);
    return value;
}

static void the_worked_number(void **state)
{
    struct rig *rig = *state;
    know(rig);
    double cycles_before = of_a(rig, C("slowdown_observed_cycles"), "passive");
    disturb(rig, disturbed);
    assert_true(fabs(of_a(rig, C("slowdown_ratio"), "passive") - 1.217532) < 5e-7);
    assert_true(fabs(of_a(rig, C("interference_cycles"), "memory") - 1.3333333e8) < 10);
    assert_true(fabs(of_a(rig, C("interference_cycles"), "cache") - 4.5333333e7) < 10);
    assert_true(of_a(rig, C("slowdown_observed_cycles"), "passive") - cycles_before == 1e9);
    /* 4e6 accesses in a second of running, 1.217532 times as many alone. */
    double rate = of_a(rig, C("alone_llc_access_rate_hertz"), "passive");
    assert_true(fabs(rate - 4e6 * 1.217532) < 5);
    assert_true(isnan(of_a(rig, "slowdown_no_estimate", "")));
    assert_true(of_a(rig, "slowdown_calm_windows", "") == 10);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

static void left_alone_nothing_is_lost(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 30);
    assert_true(fabs(passive(rig, C("slowdown_ratio")) - 1) < 1e-9);
    assert_true(interference(rig, "memory") < 1);
    assert_true(interference(rig, "cache") == 0);
    /* Estimates from the tenth calm window on: the 19th to the 30th. */
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 12e9);
}

/* Half the frequency: the same memory takes half the cycles, and no more seconds. */
static void another_frequency_is_no_interference(void **state)
{
    struct rig *rig = *state;
    know(rig);
    struct load slow = alone;
    slow.cycles /= 2;
    slow.occupancy /= 2;
    slow.active /= 2;
    disturb(rig, slow);
    assert_true(fabs(of_a(rig, C("slowdown_ratio"), "passive") - 1) < 1e-9);
    /* And 100 cycles a miss at full frequency are as good as alone, while 300 at half are not:
     * active 2e8 * (1 - 100/300) of 5e8 -> 1.363636. */
    slow.occupancy = slow.misses * 300;
    slow.active = 200 * M;
    disturb(rig, slow);
    assert_true(fabs(of_a(rig, C("slowdown_ratio"), "passive") - 1.363636) < 5e-7);
}

static void no_estimate_until_enough_calm_windows(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 18);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
    assert_true(gap_is(rig, "learning"));
    assert_true(rig_value(rig, "slowdown_calm_windows", A) == 9);
    assert_int_equal(rig->status.discarded[DISCARD_LEARNING], 18);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 0);
    learn(rig, 1);
    assert_false(isnan(passive(rig, C("slowdown_ratio"))));
    assert_true(no_gap(rig));
    assert_int_equal(rig->status.discarded[DISCARD_LEARNING], 18);
}

static void a_node_that_is_never_calm_gives_no_estimate(void **state)
{
    struct rig *rig = *state;
    rig->facts.machine.numa_nodes = 1;
    rig->facts.probe_calm_seconds = 80e-9; /* the probe does not help: what of the cache? */
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 50; i++)
        disturb(rig, disturbed);
    assert_true(isnan(of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(of_a(rig, "slowdown_no_estimate", "never_calm") == 1);
    assert_true(of_a(rig, "slowdown_calm_windows", "") == 0);
    assert_true(of_a(rig, C("slowdown_observed_cycles"), "passive") == 0);
    assert_true(of_a(rig, C("interference_cycles"), "memory") == 0);
    /* Nine windows to tell calm ones; "hog", beside which "a" is nothing, learns from ten more. */
    assert_int_equal(rig->status.discarded[DISCARD_LEARNING], 9 + 18);
    assert_int_equal(rig->status.discarded[DISCARD_NEVER_CALM], 41);
}

static void windows_without_misses_are_counted_as_such(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 19);
    struct load quiet = alone;
    quiet.misses = quiet.occupancy = quiet.active = 0;
    work(rig, "a", quiet);
    rig_tick(rig);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
    assert_true(gap_is(rig, "no_misses"));
    quiet.accesses = 0;
    work(rig, "a", quiet);
    rig_tick(rig);
    assert_true(gap_is(rig, "no_accesses"));
    assert_int_equal(rig->status.discarded[DISCARD_NO_MISSES], 2);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 1e9);
}

/* Waits 20 times as long as alone, all the time and more: 1e9 - 0.95 * 1.1e9 <= 0. */
static void more_interference_than_cycles_is_no_estimate(void **state)
{
    struct rig *rig = *state;
    know(rig);
    struct load broken = disturbed;
    broken.occupancy = broken.misses * 4000ull;
    broken.active = 1100 * M;
    disturb(rig, broken);
    assert_true(isnan(of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(of_a(rig, "slowdown_no_estimate", "denominator") == 1);
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 1);
}

static void idle_starved_and_reset_windows_have_no_estimate(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 19);
    rig_tick(rig);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
    assert_true(gap_is(rig, "idle"));
    fake_group(&rig->fake, "a", GROUP_CORE)->enabled_ns[0] += 1000;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    memset(g->count, 0, sizeof g->count);
    fake_group_run(g, 0, 1000);
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_RESET], 1);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 1e9);
    learn(rig, 1);
    assert_true(fabs(passive(rig, C("slowdown_ratio")) - 1) < 1e-9);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 2e9);
}

static void misses_without_cycles_are_implausible(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 19);
    work(rig, "a", (struct load){.misses = 5, .accesses = 10, .occupancy = 100});
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 1);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
}

static void where_the_ladder_dropped_events_slowdown_is_off(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    uint32_t all = g->present;
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_LLC_READS));
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE));
    learn(rig, 1);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_PMU);
    assert_non_null(strstr(rig->status.verdict.words, "slowdown is off"));
    assert_true(gap_is(rig, "not_counted"));
    assert_true(isnan(passive(rig, C("slowdown_observed_cycles"))));
    assert_true(isnan(interference(rig, "memory")));
    g->present = all;
    learn(rig, 2); /* a window is between two readings with the count */
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 0);
}

static void without_hit_cycles_only_the_memory_part_is_there(void **state)
{
    struct rig *rig = *state;
    rig->facts.machine.llc_hit_cycles = 0;
    know(rig);
    disturb(rig, disturbed);
    assert_true(isnan(of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(isnan(of_a(rig, C("interference_cycles"), "cache")));
    assert_true(fabs(of_a(rig, C("interference_cycles"), "memory") - 1.3333333e8) < 10);
    assert_true(of_a(rig, C("slowdown_observed_cycles"), "passive") == 2e9);
    assert_true(of_a(rig, "slowdown_no_estimate", "no_hit_cycles") == 1);
    assert_int_equal(rig->status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(rig->status.verdict.words, "llc_hit_cycles"));
}

/* 64 cycles at 2.1 GHz, minus c_cache: the 20 that the machine's constant would otherwise say. */
static void the_probe_may_know_what_a_hit_costs(void **state)
{
    struct rig *rig = *state;
    know(rig);
    disturb(rig, disturbed);
    double ratio = of_a(rig, C("slowdown_ratio"), "passive");
    double cycles = of_a(rig, C("interference_cycles"), "cache");
    assert_false(isnan(ratio));

    rig->facts.machine.llc_hit_cycles = 0;
    disturb(rig, disturbed);
    assert_true(isnan(of_a(rig, C("slowdown_ratio"), "passive")));
    assert_non_null(strstr(rig->status.verdict.words, "until the probe has measured"));
    rig->facts.llc_hit_seconds = 64 / 2.1e9;
    disturb(rig, disturbed);
    assert_true(fabs(of_a(rig, C("slowdown_ratio"), "passive") - ratio) < 1e-9);
    assert_true(fabs(of_a(rig, C("interference_cycles"), "cache") - 2 * cycles) < 2);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    rig->facts.machine.cache_cycles = 0; /* not calibrated yet */
    disturb(rig, disturbed);
    assert_true(isnan(of_a(rig, C("slowdown_ratio"), "passive")));
}

static void without_the_base_frequency_slowdown_is_off(void **state)
{
    struct rig *rig = *state;
    rig->facts.machine.base_frequency_hz = 0;
    rig_container(rig, "a");
    learn(rig, 20);
    assert_int_equal(rig->status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_true(gap_is(rig, "no_frequency"));
    assert_true(isnan(passive(rig, C("slowdown_observed_cycles"))));
}

/* Alone "a" stays in the cache: its calm windows tell the ratio, but not what a read takes. */
static void the_probe_is_the_second_choice(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    struct load cached = alone;
    cached.misses = 10;
    cached.occupancy = cached.active = 2000;
    for (int i = 0; i < 19; i++) {
        work(rig, "a", cached);
        rig_tick(rig);
    }
    rig_container(rig, "hog");
    rig->facts.probe_calm_seconds = 244 / 2.1e9; /* c_cache 44: 200 cycles beyond the caches */
    disturb(rig, disturbed);
    assert_true(of_a(rig, "slowdown_no_estimate", "no_unloaded_latency") == 1);
    rig->facts.machine.numa_nodes = 1; /* now every read is known to be local */
    disturb(rig, disturbed);
    /* memory 1.3333e8; nearly all of the 2e6 misses are contention: (2e6 - 10) * 113.33. */
    assert_true(fabs(of_a(rig, C("slowdown_ratio"), "passive") -
                     1e9 / (1e9 - 4e8 / 3 - 1999990 * (400.0 / 3 - 20))) < 1e-6);
    rig->facts.probe_calm_seconds = 0;
    disturb(rig, disturbed);
    assert_true(isnan(of_a(rig, C("slowdown_ratio"), "passive")));
}

/* ---- asm ---- */

struct quantum {
    uint64_t epochs, accesses, queueing;
    uint64_t shadow, shadow_cache; /* 0: the source has no shadow clocks */
};

/* The worked number, changed where asked for. */
static void quantum(struct rig *rig, struct quantum q)
{
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS);
    g->no_reading = false;
    fake_group_run(g, 0, 1000000);
    fake_group_add(g, 0, ROLE_QUANTUM_CYCLES, 5000000);
    fake_group_add(g, 0, ROLE_ACCESSES, q.accesses);
    fake_group_add(g, 0, ROLE_EPOCH_COUNT, q.epochs);
    fake_group_add(g, 0, ROLE_HITS, 5000);
    fake_group_add(g, 0, ROLE_MISSES, 2500);
    fake_group_add(g, 0, ROLE_HIT_TIME, 75000);
    fake_group_add(g, 0, ROLE_MISS_TIME, 375000);
    fake_group_add(g, 0, ROLE_ATS_HITS, 160);
    fake_group_add(g, 0, ROLE_ATS_MISSES, 40);
    fake_group_add(g, 0, ROLE_QUEUEING_CYCLES, q.queueing);
    fake_group_add(g, 0, ROLE_SHADOW_CYCLES, q.shadow);
    fake_group_add(g, 0, ROLE_SHADOW_CACHE_CYCLES, q.shadow_cache);
    g->present = group_descs[GROUP_ASM_EPOCHS].required;
    if (q.shadow_cache)
        g->present |= 1U << group_index(GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES) |
                      1U << group_index(GROUP_ASM_EPOCHS, ROLE_SHADOW_CACHE_CYCLES);
    g->count[0][group_index(GROUP_ASM_EPOCHS, ROLE_EPOCH_LENGTH)] = 10000;
    rig_tick(rig);
}

static const struct quantum worked_quantum = {.epochs = 125, .accesses = 27000, .queueing = 25000};

static double asm_ratio(struct rig *rig)
{
    return rig_value(rig, C("slowdown_ratio"), "model=\"asm\"");
}

static void the_worked_number_of_asm(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    quantum(rig, worked_quantum);
    assert_true(fabs(asm_ratio(rig) - 1.2626263) < 1e-6);
    /* 6.8182e-3 per cycle at 5 million cycles in a millisecond. */
    double rate = rig_value(rig, C("alone_llc_access_rate_hertz"), "model=\"asm\"");
    assert_true(fabs(rate - 7500.0 / 1100000 * 5e9) < 1);
    assert_true(rig_value(rig, C("slowdown_observed_cycles"), "model=\"asm\"") == 5e6);
    quantum(rig, (struct quantum){.epochs = 125,
                                  .accesses = 54000,
                                  .queueing = 25000}); /* the next quantum stands for itself */
    assert_true(asm_ratio(rig) == 1);
    quantum(rig, worked_quantum);
    assert_true(fabs(asm_ratio(rig) - 1.2626263) < 1e-6);
    assert_true(rig_value(rig, C("slowdown_observed_cycles"), "model=\"asm\"") == 15e6);
}

static void quanta_without_an_estimate_are_counted(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    quantum(rig, (struct quantum){.accesses = 27000, .queueing = 25000});
    assert_true(isnan(asm_ratio(rig)));
    assert_int_equal(rig->status.discarded[DISCARD_NO_EPOCH], 1);
    quantum(rig, (struct quantum){.epochs = 125, .queueing = 25000});
    assert_int_equal(rig->status.discarded[DISCARD_NO_MISSES], 1);
    quantum(rig, (struct quantum){.epochs = 125, .accesses = 27000, .queueing = 5000000});
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 1);
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS);
    memset(g->count, 0, sizeof g->count);
    quantum(rig, worked_quantum);
    assert_int_equal(rig->status.discarded[DISCARD_RESET], 1);
    assert_true(isnan(asm_ratio(rig)));
    assert_true(rig_value(rig, C("slowdown_observed_cycles"), "model=\"asm\"") == 0);
    quantum(rig, worked_quantum);
    assert_true(fabs(asm_ratio(rig) - 1.2626263) < 1e-6);
    g->no_reading = true;
    rig_tick(rig);
    assert_true(isnan(asm_ratio(rig)));
}

/* ---- shadow ---- */

static double shadow(struct rig *rig, const char *name)
{
    return rig_value(rig, name, "model=\"shadow\"");
}

static double shadow_lost(struct rig *rig, const char *resource)
{
    char more[64];
    snprintf(more, sizeof more, "model=\"shadow\",resource=\"%s\"", resource);
    return rig_value(rig, C("interference_cycles"), more);
}

static void the_worked_number_of_shadow(void **state)
{
    struct rig *rig = *state;
    struct quantum q = worked_quantum;
    rig_container(rig, "a");
    q.shadow = 2000000;
    q.shadow_cache = 3500000;
    quantum(rig, q);
    assert_true(shadow(rig, C("slowdown_ratio")) == 2.5);
    assert_true(shadow(rig, C("slowdown_observed_cycles")) == 5e6);
    assert_true(shadow_lost(rig, "cache") == 1.5e6 && shadow_lost(rig, "memory") == 1.5e6);
    assert_true(fabs(asm_ratio(rig) - 1.2626263) < 1e-6); /* beside it */
    quantum(rig, q);
    assert_true(shadow(rig, C("slowdown_observed_cycles")) == 10e6);
    q.shadow = 0; /* a clock that stands still says nothing */
    quantum(rig, q);
    assert_true(isnan(shadow(rig, C("slowdown_ratio"))));
    assert_true(shadow(rig, C("slowdown_observed_cycles")) == 10e6);
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 1);
}

/* As recordings were before there was this model. */
static void epochs_without_shadow_clocks_give_asm_alone(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    quantum(rig, worked_quantum);
    assert_true(fabs(asm_ratio(rig) - 1.2626263) < 1e-6);
    assert_true(isnan(shadow(rig, C("slowdown_ratio"))));
    assert_true(isnan(shadow(rig, C("slowdown_observed_cycles"))));
    assert_true(isnan(shadow_lost(rig, "cache")));
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 0);
}

/* ---- containers and series ---- */

static void a_default_container_has_four_series(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 20);
    assert_false(isnan(passive(rig, C("slowdown_ratio"))));
    assert_int_equal(rig_series(rig, A), 4 + 1); /* and interference_container_info */
}

static void an_ended_container_keeps_its_counters_only(void **state)
{
    struct rig *rig = *state;
    struct container *a = rig_container(rig, "a");
    learn(rig, 20);
    work(rig, "a", alone);
    rig_end(rig, a);
    rig_tick(rig);
    assert_true(isnan(passive(rig, C("slowdown_ratio"))));
    assert_true(isnan(passive(rig, C("alone_llc_access_rate_hertz"))));
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 3e9);
    assert_int_equal(rig->fake.n_open, 0);
    rig_tick(rig);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 3e9);
    rig_forget(rig, a);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, A), 0);
}

static void new_names_keep_the_numbers(void **state)
{
    struct rig *rig = *state;
    struct container *a = rig_container(rig, "a");
    learn(rig, 20);
    rig_rename(rig, a, "b");
    learn(rig, 1);
    assert_int_equal(rig_series(rig, A), 0);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 3e9);
    assert_true(fabs(rig_value(rig, C("slowdown_ratio"), "container=\"b\"") - 1) < 1e-9);
}

static void names_may_come_late(void **state)
{
    struct rig *rig = *state;
    struct container *a = rig_unnamed(rig, "a");
    learn(rig, 20);
    assert_int_equal(rig_series(rig, A), 0);
    rig_name(rig, a);
    learn(rig, 1);
    assert_true(passive(rig, C("slowdown_observed_cycles")) == 3e9);
}

static void a_dead_counter_switches_the_collector_off(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    learn(rig, 1);
    rig->facts.l3_miss_reads_filtered = true;
    assert_int_not_equal(rig_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_int_equal(rig_series(rig, A), 0);
    assert_int_equal(rig->fake.n_open, 0);
    rig_container(rig, "b"); /* and stays off */
    assert_int_not_equal(rig_tick(rig), 0);
}

static void without_file_descriptors_it_says_so_and_tries_again(void **state)
{
    struct rig *rig = *state;
    struct container *hogger = rig_container(rig, "hog");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "a");
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, A), 0); /* no zeros for what was never counted */
    assert_true(of_a(rig, "slowdown_no_estimate", "not_counted") == 1);
    rig->fake.open_error.reason = REASON_OK;
    rig_end(rig, hogger);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    learn(rig, 20);
    assert_true(fabs(of_a(rig, C("slowdown_ratio"), "passive") - 1) < 1e-9);
}

/* Containers that end while they are opened are common, and no user can act on that. */
static void one_that_is_gone_already_is_not_worth_a_line(void **state)
{
    struct rig *rig = *state;
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    rig->log.fd = pipes[1];
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "cgroup c0.1 is gone");
    rig->fake.open_errno = -ESRCH;
    rig_container(rig, "a");
    char text[256];
    assert_int_equal(read(pipes[0], text, sizeof text), -1);
    assert_true(rig->status.open_failures[REASON_NO_DEVICE] > 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);

    /* What cannot be counted at all has the same reason, and is one. */
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "perf cannot count per cgroup");
    rig->fake.open_errno = -ENOENT;
    rig_container(rig, "b");
    assert_true(read(pipes[0], text, sizeof text) > 0);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    rig->log.fd = -1;
    close(pipes[0]);
    close(pipes[1]);
}

static void what_an_ended_container_frees_is_used_at_once(void **state)
{
    struct rig *rig = *state;
    struct container *hogger = rig_container(rig, "hog");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "a");
    rig_end(rig, hogger);
    rig_tick(rig);
    rig->fake.open_error.reason = REASON_OK;
    rig_nothing_changed(rig);
    assert_true(rig->fake.n_open > 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_false(rig->status.wants_reconcile);
}

static void a_failed_read_is_reported(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_CORE)->read_error = -EIO;
    assert_int_equal(rig_tick(rig), -EIO);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 1);
}

/* The window after a failed read is as long as what it counted: beside a neighbour that reads as
 * much as ever it is calm. */
static void a_failed_read_lengthens_the_next_window(void **state)
{
    struct rig *rig = *state;
    const struct load light = {1000 * M, 1000 * M, 2000, 1000, 100000, 100000};
    struct fake_group *groups[] = {fake_group(&rig->fake, "a", GROUP_CORE),
                                   fake_group(&rig->fake, "hog", GROUP_CORE)};
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 2; k++)
            groups[k]->read_error = i == 10 ? -EIO : 0;
        work(rig, "a", alone);
        work(rig, "hog", light);
        rig_tick(rig);
    }
    /* The tenth is the first that can be called calm; the eleventh was not read. */
    assert_true(of_a(rig, "slowdown_calm_windows", "") == 2);
}

static void a_steady_tick_allocates_nothing(void **state)
{
    struct rig *rig = *state;
    if (!malloc_count_works())
        skip();
    know(rig);
    disturb(rig, disturbed);
    quantum(rig, worked_quantum);
    uint64_t before = malloc_count();
    for (int i = 0; i < 20; i++) {
        work(rig, "a", disturbed);
        work(rig, "hog", hog);
        quantum(rig, worked_quantum);
    }
    assert_int_equal(malloc_count() - before, 0);
    assert_false(isnan(asm_ratio(rig)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(the_worked_number),
        T(left_alone_nothing_is_lost),
        T(another_frequency_is_no_interference),
        T(no_estimate_until_enough_calm_windows),
        T(a_node_that_is_never_calm_gives_no_estimate),
        T(windows_without_misses_are_counted_as_such),
        T(more_interference_than_cycles_is_no_estimate),
        T(idle_starved_and_reset_windows_have_no_estimate),
        T(misses_without_cycles_are_implausible),
        T(where_the_ladder_dropped_events_slowdown_is_off),
        T(without_hit_cycles_only_the_memory_part_is_there),
        T(the_probe_may_know_what_a_hit_costs),
        T(without_the_base_frequency_slowdown_is_off),
        T(the_probe_is_the_second_choice),
        T(the_worked_number_of_asm),
        T(the_worked_number_of_shadow),
        T(epochs_without_shadow_clocks_give_asm_alone),
        T(quanta_without_an_estimate_are_counted),
        cmocka_unit_test_setup_teardown(a_default_container_has_four_series, setup_default,
                                        teardown),
        T(an_ended_container_keeps_its_counters_only),
        T(new_names_keep_the_numbers),
        T(names_may_come_late),
        T(a_dead_counter_switches_the_collector_off),
        T(without_file_descriptors_it_says_so_and_tries_again),
        T(what_an_ended_container_frees_is_used_at_once),
        T(one_that_is_gone_already_is_not_worth_a_line),
        T(a_failed_read_is_reported),
        T(a_failed_read_lengthens_the_next_window),
        T(a_steady_tick_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
