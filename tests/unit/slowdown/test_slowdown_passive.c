/* Model passive on windows made by hand; the worked numbers are FORMULAS.md section 3. */
#include "tests/unit/support/draw.h"
#include "tests/unit/support/slowdown_rig.h"
#include "tests/unit/support/unit.h"

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

/* This one, and no other; "": none. */
static bool basis_is(struct rig *rig, const char *quantity, const char *basis)
{
    static const char *const all[] = {"file", "calm", "extrapolated", "usual", "machine"};
    for (int i = 0; i < 5; i++) {
        char label[64];
        snprintf(label, sizeof label, "quantity=\"%s\",basis=\"%s\"", quantity, all[i]);
        bool shown = rig_of_a(rig, "slowdown_basis", label) == 1;
        if (shown != (strcmp(all[i], basis) == 0))
            return false;
    }
    return true;
}

RIG_TEST(the_worked_number, slowdown_rig_setup)
{
    rig_know(rig);
    double cycles_before = rig_of_a(rig, C("slowdown_observed_cycles"), "passive");
    rig_disturb(rig, load_disturbed);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - 1.217532) < 5e-7);
    assert_true(fabs(rig_of_a(rig, C("interference_cycles"), "memory") - 1.3333333e8) < 10);
    assert_true(fabs(rig_of_a(rig, C("interference_cycles"), "cache") - 4.5333333e7) < 10);
    assert_true(rig_of_a(rig, C("slowdown_observed_cycles"), "passive") - cycles_before == 1e9);
    /* 4e6 accesses in a second of running, 1.217532 times as many alone. */
    double rate = rig_of_a(rig, C("alone_llc_access_rate_hertz"), "passive");
    assert_true(fabs(rate - 4e6 * 1.217532) < 5);
    assert_true(isnan(rig_of_a(rig, "slowdown_no_estimate", "")));
    assert_true(rig_of_a(rig, "slowdown_calm_windows", "") == 10);
    assert_true(basis_is(rig, "latency", "calm"));
    assert_true(basis_is(rig, "miss_ratio", "calm"));
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

RIG_TEST(left_alone_nothing_is_lost, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_learn(rig, 30);
    assert_true(fabs(rig_passive(rig, C("slowdown_ratio")) - 1) < 1e-9);
    assert_true(rig_interference(rig, "memory") < 1);
    assert_true(rig_interference(rig, "cache") == 0);
    /* Estimates from the tenth calm window on: the 19th to the 30th. */
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 12e9);
}

/* Half the frequency: the same memory takes half the cycles, and no more seconds. */
RIG_TEST(another_frequency_is_no_interference, slowdown_rig_setup)
{
    rig_know(rig);
    struct load slow = load_alone;
    slow.cycles /= 2;
    slow.occupancy /= 2;
    slow.active /= 2;
    rig_disturb(rig, slow);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - 1) < 1e-9);
    /* And 100 cycles a miss at full frequency are as good as alone, while 300 at half are not:
     * active 2e8 * (1 - 100/300) of 5e8 -> 1.363636. */
    slow.occupancy = slow.misses * 300;
    slow.active = 200 * M;
    rig_disturb(rig, slow);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - 1.363636) < 5e-7);
}

/* A second thread that only spins, at a third of the first one's frequency: the mean frequency
 * falls, the first one's reads take what they took. */
RIG_TEST(a_slow_cpu_beside_is_no_interference, slowdown_rig_setup)
{
    rig_know(rig);
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    fake_window(g, 1, 1000000000u, {ROLE_CYCLES, load_alone.cycles / 3},
                {ROLE_REF_CYCLES, load_alone.ref_cycles});
    rig_disturb(rig, load_alone);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - 1) < 1e-6);
}

RIG_TEST(no_estimate_until_enough_calm_windows, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_learn(rig, 18);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_true(gap_is(rig, "learning"));
    assert_true(rig_value(rig, "slowdown_calm_windows", A) == 9);
    assert_int_equal(rig->status.discarded[DISCARD_LEARNING], 18);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 0);
    rig_learn(rig, 1);
    assert_false(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_true(no_gap(rig));
    assert_int_equal(rig->status.discarded[DISCARD_LEARNING], 18);
}

RIG_TEST(a_node_that_is_never_calm_gives_no_estimate, slowdown_rig_setup)
{
    rig->facts.machine.numa_nodes = 1;
    rig->facts.probe_calm_seconds = 80e-9; /* the probe does not help: what of the cache? */
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 50; i++)
        rig_disturb(rig, load_disturbed);
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(rig_of_a(rig, "slowdown_no_estimate", "never_calm") == 1);
    assert_true(rig_of_a(rig, "slowdown_calm_windows", "") == 0);
    assert_true(rig_of_a(rig, C("slowdown_observed_cycles"), "passive") == 0);
    assert_true(rig_of_a(rig, C("interference_cycles"), "memory") == 0);
    /* Nine windows to tell calm ones; "hog", beside which "a" is nothing, learns from ten more. */
    assert_int_equal(rig->status.discarded[DISCARD_LEARNING], 9 + 18);
    assert_int_equal(rig->status.discarded[DISCARD_NEVER_CALM], 41);
}

static uint64_t random_state = DRAW_SEED;

/* Around 1. */
static double noise(double share)
{
    return 1 + share * (draw_unit(&random_state) - 0.5);
}

/* Three quarters of an hour beside a hog that reads between a fifth and all that it can, so that no
 * window is calm. The more it reads, the longer "a" waits, 200 cycles and up to 100 more, and the
 * more of its accesses miss, 0.4 of them and up to 0.1 more. With 'phases' that share is another
 * one every minute, whatever the hog does. */
static void live_beside_a_busy_hog(struct rig *rig, bool phases)
{
    rig_container(rig, "a");
    rig_container(rig, "hog");
    double phase = 1;
    for (int t = 0; t < 45 * 60; t++) {
        double pressure = 0.6 + 0.4 * sin(2 * M_PI * t / 600);
        if (phases && t % 60 == 0)
            phase = noise(1.5);
        double wait = (200 + 100 * pressure) * noise(0.1);
        double think = 1e9 / 4e6 - 100; /* cycles for each access, besides its misses */
        double ratio = (0.4 + 0.1 * pressure) * phase * noise(0.1);
        double accesses = 1e9 / (think + ratio * wait);
        struct load load = load_alone, hog = load_hog;
        load.accesses = (uint64_t)accesses;
        load.misses = (uint64_t)(accesses * ratio);
        load.occupancy = (uint64_t)(accesses * ratio * wait);
        load.active = (uint64_t)(accesses * ratio * wait);
        hog.misses = (uint64_t)((double)hog.misses * pressure * noise(0.04));
        rig_work(rig, "a", load);
        rig_work(rig, "hog", hog);
        rig_tick(rig);
    }
}

RIG_TEST(on_a_node_that_is_busy_all_day_it_is_extrapolated, slowdown_rig_setup)
{
    live_beside_a_busy_hog(rig, false);
    assert_true(rig_of_a(rig, "slowdown_calm_windows", "") == 0);
    assert_true(basis_is(rig, "latency", "extrapolated"));
    assert_true(basis_is(rig, "miss_ratio", "extrapolated"));
    double memory = rig_of_a(rig, C("interference_cycles"), "memory");
    double cache = rig_of_a(rig, C("interference_cycles"), "cache");
    rig_disturb(rig, load_disturbed);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - 1.217532) < 0.012);
    memory = rig_of_a(rig, C("interference_cycles"), "memory") - memory;
    cache = rig_of_a(rig, C("interference_cycles"), "cache") - cache;
    assert_true(fabs(memory / 1.3333333e8 - 1) < 0.03);
    assert_true(fabs(cache / 4.5333333e7 - 1) < 0.08);
}

RIG_TEST(what_misses_alone_may_not_be_known_when_the_latency_is, slowdown_rig_setup)
{
    live_beside_a_busy_hog(rig, true);
    rig_disturb(rig, load_disturbed);
    assert_true(basis_is(rig, "latency", "extrapolated"));
    assert_true(basis_is(rig, "miss_ratio", ""));
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(isnan(rig_of_a(rig, C("interference_cycles"), "cache")));
    assert_true(rig_of_a(rig, C("interference_cycles"), "memory") > 1.3e8);
    assert_true(rig_of_a(rig, C("slowdown_observed_cycles"), "passive") > 1e9);
    assert_true(rig_of_a(rig, "slowdown_no_estimate", "no_miss_ratio") == 1);
}

/* An unseen container may read anything. */
RIG_TEST(nothing_is_extrapolated_blindly, slowdown_rig_setup)
{
    rig->facts.containers_unseen = 1;
    live_beside_a_busy_hog(rig, false);
    assert_true(basis_is(rig, "latency", ""));
    assert_true(basis_is(rig, "miss_ratio", ""));
    assert_true(rig_of_a(rig, C("slowdown_observed_cycles"), "passive") == 0);
}

RIG_TEST(windows_without_misses_are_counted_as_such, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_learn(rig, 19);
    struct load quiet = load_alone;
    quiet.misses = quiet.occupancy = quiet.active = 0;
    rig_work(rig, "a", quiet);
    rig_tick(rig);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_true(gap_is(rig, "no_misses"));
    quiet.accesses = 0;
    rig_work(rig, "a", quiet);
    rig_tick(rig);
    assert_true(gap_is(rig, "no_accesses"));
    assert_int_equal(rig->status.discarded[DISCARD_NO_MISSES], 2);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 1e9);
}

/* Waits 20 times as long as alone, all the time and more: 1e9 - 0.95 * 1.1e9 <= 0. */
RIG_TEST(more_interference_than_cycles_is_no_estimate, slowdown_rig_setup)
{
    rig_know(rig);
    struct load broken = load_disturbed;
    broken.occupancy = broken.misses * 4000ull;
    broken.active = 1100 * M;
    rig_disturb(rig, broken);
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(rig_of_a(rig, "slowdown_no_estimate", "denominator") == 1);
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 1);
}

RIG_TEST(idle_starved_and_reset_windows_have_no_estimate, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_learn(rig, 19);
    rig_tick(rig);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_true(gap_is(rig, "idle"));
    fake_group(&rig->fake, "a", GROUP_CORE)->enabled_ns[0] += 1000;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    memset(g->count, 0, sizeof g->count);
    fake_group_run(g, 0, 1000);
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_RESET], 1);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 1e9);
    rig_learn(rig, 1);
    assert_true(fabs(rig_passive(rig, C("slowdown_ratio")) - 1) < 1e-9);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 2e9);
}

RIG_TEST(misses_without_cycles_are_implausible, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_learn(rig, 19);
    rig_work(rig, "a", (struct load){.misses = 5, .accesses = 10, .occupancy = 100});
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 1);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
}

RIG_TEST(where_the_ladder_dropped_events_slowdown_is_off, slowdown_rig_setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    uint32_t all = g->present;
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_LLC_READS));
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE));
    rig_learn(rig, 1);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_PMU);
    assert_non_null(strstr(rig->status.verdict.words, "slowdown is off"));
    assert_true(gap_is(rig, "not_counted"));
    assert_true(isnan(rig_passive(rig, C("slowdown_observed_cycles"))));
    assert_true(isnan(rig_interference(rig, "memory")));
    g->present = all;
    rig_learn(rig, 2); /* a window is between two readings with the count */
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 0);
}

/* The kernel's own watchdog has a reason of its own, since it has a remedy. */
RIG_TEST(where_the_watchdog_took_a_counter_that_is_the_reason, slowdown_rig_setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_LLC_READS));
    verdict_set(&rig->fake.check, REASON_NMI_WATCHDOG, "slowdown is off: kernel.nmi_watchdog=0");
    rig_learn(rig, 1);
    assert_int_equal(rig->status.verdict.reason, REASON_NMI_WATCHDOG);
    assert_non_null(strstr(rig->status.verdict.words, "kernel.nmi_watchdog=0"));
}

RIG_TEST(without_hit_cycles_only_the_memory_part_is_there, slowdown_rig_setup)
{
    rig->facts.machine.llc_hit_cycles = 0;
    rig_know(rig);
    rig_disturb(rig, load_disturbed);
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(isnan(rig_of_a(rig, C("interference_cycles"), "cache")));
    assert_true(fabs(rig_of_a(rig, C("interference_cycles"), "memory") - 1.3333333e8) < 10);
    assert_true(rig_of_a(rig, C("slowdown_observed_cycles"), "passive") == 2e9);
    assert_true(rig_of_a(rig, "slowdown_no_estimate", "no_hit_cycles") == 1);
    assert_int_equal(rig->status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(rig->status.verdict.words, "llc_hit_cycles"));
}

/* 64 cycles at 2.1 GHz, minus c_cache: the 20 that the machine's constant would otherwise say. */
RIG_TEST(the_probe_may_know_what_a_hit_costs, slowdown_rig_setup)
{
    rig_know(rig);
    rig_disturb(rig, load_disturbed);
    double ratio = rig_of_a(rig, C("slowdown_ratio"), "passive");
    double cycles = rig_of_a(rig, C("interference_cycles"), "cache");
    assert_false(isnan(ratio));

    rig->facts.machine.llc_hit_cycles = 0;
    rig_disturb(rig, load_disturbed);
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
    assert_non_null(strstr(rig->status.verdict.words, "until the probe has measured"));
    rig->facts.llc_hit_seconds = 64 / 2.1e9;
    rig_disturb(rig, load_disturbed);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - ratio) < 1e-9);
    assert_true(fabs(rig_of_a(rig, C("interference_cycles"), "cache") - 2 * cycles) < 2);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    rig->facts.machine.cache_cycles = 0; /* not calibrated yet */
    rig_disturb(rig, load_disturbed);
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
}

RIG_TEST(without_the_base_frequency_slowdown_is_off, slowdown_rig_setup)
{
    rig->facts.machine.base_frequency_hz = 0;
    rig_container(rig, "a");
    rig_learn(rig, 20);
    assert_int_equal(rig->status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_true(gap_is(rig, "no_frequency"));
    assert_true(isnan(rig_passive(rig, C("slowdown_observed_cycles"))));
}

/* Alone "a" stays in the cache: its calm windows tell the ratio, but not what a read takes. */
RIG_TEST(the_probe_is_the_second_choice, slowdown_rig_setup)
{
    rig_container(rig, "a");
    struct load cached = load_alone;
    cached.misses = 10;
    cached.occupancy = cached.active = 2000;
    for (int i = 0; i < 19; i++) {
        rig_work(rig, "a", cached);
        rig_tick(rig);
    }
    rig_container(rig, "hog");
    rig->facts.probe_calm_seconds = 244 / 2.1e9; /* c_cache 44: 200 cycles beyond the caches */
    rig_disturb(rig, load_disturbed);
    assert_true(rig_of_a(rig, "slowdown_no_estimate", "no_unloaded_latency") == 1);
    rig->facts.machine.numa_nodes = 1; /* now every read is known to be local */
    rig_disturb(rig, load_disturbed);
    /* memory 1.3333e8; nearly all of the 2e6 misses are contention: (2e6 - 10) * 113.33. */
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") -
                     1e9 / (1e9 - 4e8 / 3 - 1999990 * (400.0 / 3 - 20))) < 1e-6);
    assert_true(basis_is(rig, "latency", "machine"));
    assert_true(basis_is(rig, "miss_ratio", "calm"));
    rig->facts.probe_calm_seconds = 0;
    rig_disturb(rig, load_disturbed);
    assert_true(isnan(rig_of_a(rig, C("slowdown_ratio"), "passive")));
    assert_true(basis_is(rig, "latency", ""));
}

/* The window after a failed read is as long as what it counted: beside a neighbour that reads as
 * much as ever it is calm. */
RIG_TEST(a_failed_read_lengthens_the_next_window, slowdown_rig_setup)
{
    const struct load light = {1000 * M, 1000 * M, 2000, 1000, 100000, 100000};
    struct fake_group *groups[] = {fake_group(&rig->fake, "a", GROUP_CORE),
                                   fake_group(&rig->fake, "hog", GROUP_CORE)};
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 2; k++)
            groups[k]->read_error = i == 10 ? -EIO : 0;
        rig_work(rig, "a", load_alone);
        rig_work(rig, "hog", light);
        rig_tick(rig);
    }
    /* The tenth is the first that can be called calm; the eleventh was not read. */
    assert_true(rig_of_a(rig, "slowdown_calm_windows", "") == 2);
}
