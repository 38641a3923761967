#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define LATENCY "interference_memory_probe_latency_seconds"
#define HISTOGRAM "interference_memory_probe_window_latency_seconds"
#define ERROR "interference_core_latency_error_ratio"

static int setup(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &probe_collector);
    const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1};
    assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    rig_start(rig);
    *state = rig;
    return 0;
}

static void burst(struct rig *rig, int initiator, int target, double latency_ns)
{
    rig->fake.probes[rig->fake.n_probes++] = (struct probe_reading){
        .initiator_numa_node = initiator, .target_numa_node = target, .latency_ns = latency_ns};
}

/* What the probe's thread counts beside a burst: 5000 reads at 2.1 GHz. */
static void counts_of_the_thread(struct rig *rig, double occupancy)
{
    struct fake_group *g = fake_group(&rig->fake, "p0", GROUP_CORE);
    fake_window(g, 0, 500000, {ROLE_CYCLES, 1050000}, {ROLE_REF_CYCLES, 1050000},
                {ROLE_L3_MISS_READS, 5000},
                {ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)(5000 * occupancy)});
}

/* 59 bursts are too few; then the lowest of twenty, within its bucket. Remote ones do not count. */
RIG_TEST(local_bursts_tell_what_memory_takes_when_calm, setup)
{
    for (int i = 0; i < 59; i++) {
        burst(rig, 0, 0, i % 10 == 0 ? 80 : 120);
        burst(rig, 1, 0, 50);
        rig_tick(rig);
    }
    assert_true(rig->facts.probe_calm_seconds == 0);
    burst(rig, 0, 0, 120);
    rig_tick(rig);
    assert_true(fabs(rig->facts.probe_calm_seconds / 80e-9 - 1) < 0.011);
    assert_true(fabs(rig->facts.probe_best_seconds / 80e-9 - 1) < 0.04);
}

RIG_TEST(bursts_are_shown_by_pair, setup)
{
    burst(rig, 0, 0, 88.8);
    burst(rig, 1, 0, 148.4);
    assert_int_equal(rig_tick(rig), 0);
    double local = rig_value(rig, LATENCY, "initiator_numa_node=\"0\"");
    double remote = rig_value(rig, LATENCY, "initiator_numa_node=\"1\"");
    assert_true(fabs(local - 88.8e-9) < 1e-15);
    assert_true(fabs(remote - 148.4e-9) < 1e-15);
    burst(rig, 0, 0, 90);
    rig_tick(rig);
    assert_true(rig_value(rig, HISTOGRAM, "initiator_numa_node=\"0\"") == 2);
    assert_true(rig_value(rig, HISTOGRAM, "initiator_numa_node=\"1\"") == 1);
}

/* Of three, one was disturbed; of four, the middle two count by halves. */
RIG_TEST(a_tick_shows_the_median_of_its_bursts, setup)
{
    static const double three[] = {90, 88, 130}, four[] = {100, 88, 92, 88};
    for (size_t i = 0; i < 3; i++) {
        burst(rig, 0, 0, three[i]);
        burst(rig, 0, 1, 150);
    }
    rig_tick(rig);
    assert_true(fabs(rig_value(rig, LATENCY, "target_numa_node=\"0\"") - 90e-9) < 1e-15);
    assert_true(fabs(rig_value(rig, LATENCY, "target_numa_node=\"1\"") - 150e-9) < 1e-15);
    assert_true(rig_value(rig, HISTOGRAM, "target_numa_node=\"0\"") == 1);
    for (size_t i = 0; i < 4; i++)
        burst(rig, 0, 0, four[i]);
    rig_tick(rig);
    assert_true(fabs(rig_value(rig, LATENCY, "target_numa_node=\"0\"") - 90e-9) < 1e-15);
}

/* The counters of a thread whose three bursts went to its own memory have counted all three. */
RIG_TEST(several_local_bursts_judge_a_window, setup)
{
    counts_of_the_thread(rig, 124.5);
    burst(rig, 0, 0, 80.238095);
    burst(rig, 0, 0, 80.238095);
    burst(rig, 0, 0, 200);
    rig_tick(rig);
    assert_true(rig_value(rig, ERROR, "numa_node=\"0\"") < 1e-6);
}

RIG_TEST(without_new_bursts_the_gauge_goes, setup)
{
    burst(rig, 0, 0, 88.8);
    rig_tick(rig);
    for (int i = 0; i < 60; i++)
        rig_tick(rig);
    assert_false(isnan(rig_value(rig, LATENCY, "")));
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, LATENCY, "")));
    assert_true(rig_value(rig, HISTOGRAM, "") == 1);
}

/* The machine of the first worked number: 168.5 cycles at 2.1 GHz; the constant given is right. */
RIG_TEST(a_right_constant_shows_a_small_error, setup)
{
    counts_of_the_thread(rig, 124.5);
    burst(rig, 0, 0, 80.238095);
    rig_tick(rig);
    assert_true(rig_value(rig, ERROR, "numa_node=\"0\"") < 1e-6);
}

RIG_TEST(a_wrong_constant_shows_in_the_error, setup)
{
    rig->facts.machine.cache_cycles = 88; /* twice what is true */
    counts_of_the_thread(rig, 124.5);
    burst(rig, 0, 0, 80.238095);
    rig_tick(rig);
    double error = rig_value(rig, ERROR, "numa_node=\"0\"");
    assert_true(fabs(error - 44 / 168.5) < 1e-6);
    assert_true(rig->facts.machine.cache_cycles == 88);
}

/* Ten idle bursts and twenty under load; only the idle ones may decide. */
RIG_TEST(the_constant_is_calibrated_from_calm_bursts_then_frozen, setup)
{
    rig->facts.machine.cache_cycles = 30;
    rig->facts.cache_cycles_final = false;
    for (int i = 0; i < 30; i++) {
        bool loaded = i % 3 != 0;
        assert_false(rig->facts.cache_cycles_final);
        counts_of_the_thread(rig, loaded ? 200 : 124.5);
        /* Under load the true latency grows by more than the counter shows. */
        burst(rig, 0, 0, (loaded ? 44 + 200 + 60 : 44 + 124.5) / 2.1);
        rig_tick(rig);
        assert_true(isnan(rig_value(rig, ERROR, "")));
    }
    assert_true(rig->facts.cache_cycles_final);
    assert_true(fabs(rig->facts.machine.cache_cycles - 44) < 0.01);
    counts_of_the_thread(rig, 200);
    burst(rig, 0, 0, (44 + 200 + 60) / 2.1);
    rig_tick(rig);
    assert_true(fabs(rig_value(rig, ERROR, "") - 60 / 304.0) < 1e-4);
    assert_true(fabs(rig->facts.machine.cache_cycles - 44) < 0.01);
}

/* The second lowest, once there are eight: neighbours make hits longer, never shorter. */
RIG_TEST(hits_in_the_cache_are_learnt, setup)
{
    static const struct {
        double ns, known_ns;
    } hits[] = {{50, 0}, {33, 0}, {90, 0},  {31, 0},      {70, 0},
                {34, 0}, {60, 0}, {45, 33}, {32.5, 32.5}, {99, 32.5}};
    for (size_t i = 0; i < sizeof hits / sizeof *hits; i++) {
        burst(rig, 0, 0, 80);
        rig->fake.probes[0].llc_hit_ns = hits[i].ns;
        rig_tick(rig);
        burst(rig, 0, 0, 80); /* most bursts do not measure it */
        rig_tick(rig);
        assert_true(fabs(rig->facts.llc_hit_seconds - hits[i].known_ns * 1e-9) < 1e-15);
    }
}

/* The thread's counters are then of misses and of hits. */
RIG_TEST(a_burst_with_hits_judges_nothing, setup)
{
    counts_of_the_thread(rig, 124.5);
    burst(rig, 0, 0, 80.238095);
    rig->fake.probes[0].llc_hit_ns = 30;
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, ERROR, "")));
    assert_true(fabs(rig_value(rig, LATENCY, "") - 80.238095e-9) < 1e-15);
}

RIG_TEST(a_window_with_two_targets_judges_nothing, setup)
{
    counts_of_the_thread(rig, 124.5);
    burst(rig, 0, 0, 200);
    burst(rig, 0, 1, 300);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, ERROR, "")));
}

RIG_TEST(a_counter_that_misses_the_chase_is_called_filtered, setup)
{
    rig->facts.chase_must_miss = true;
    for (int i = 0; i < 3; i++) {
        assert_false(rig->facts.l3_miss_reads_filtered);
        struct fake_group *g = fake_group(&rig->fake, "p0", GROUP_CORE);
        fake_window(g, 0, 500000, {ROLE_CYCLES, 1050000}, {ROLE_REF_CYCLES, 1050000});
        burst(rig, 0, 0, 80);
        rig_tick(rig);
    }
    assert_true(rig->facts.l3_miss_reads_filtered);
}

/* Reads may pass the hypervisor and their occupancy not. */
RIG_TEST(an_occupancy_below_a_cycle_is_called_filtered, setup)
{
    rig->facts.chase_must_miss = true;
    for (int i = 0; i < 3; i++) {
        assert_false(rig->facts.l3_miss_reads_filtered);
        counts_of_the_thread(rig, 0.9);
        burst(rig, 0, 0, 80);
        rig_tick(rig);
    }
    assert_true(rig->facts.l3_miss_reads_filtered);
}

/* Replayed, so not judged: but c_cache would be all of the latency. */
RIG_TEST(counters_that_explain_little_do_not_calibrate, setup)
{
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_cycles_final = false;
    for (int i = 0; i < 40; i++) {
        counts_of_the_thread(rig, 60); /* of 168.5 cycles */
        burst(rig, 0, 0, 80.238095);
        rig_tick(rig);
        assert_true(rig->facts.calibration_refused);
    }
    assert_false(rig->facts.cache_cycles_final);
    assert_true(rig->facts.machine.cache_cycles == 0);
    counts_of_the_thread(rig, 124.5);
    burst(rig, 0, 0, 80.238095);
    rig_tick(rig);
    assert_false(rig->facts.calibration_refused);
}

RIG_TEST(a_role_that_the_user_defined_is_not_judged, setup)
{
    for (int i = 0; i < 5; i++) {
        fake_group_run(fake_group(&rig->fake, "p0", GROUP_CORE), 0, 500000);
        burst(rig, 0, 0, 80);
        rig_tick(rig);
    }
    assert_false(rig->facts.l3_miss_reads_filtered);
}

RIG_TEST(runs_thrown_away_are_counted_by_cause, setup)
{
    rig->fake.probe_discards[PROBE_PREEMPTED] = 3;
    rig->fake.probe_discards[PROBE_MIGRATED] = 5;
    rig->fake.probe_discards[PROBE_STOLEN] = 7;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_PREEMPTED], 3);
    assert_int_equal(rig->status.discarded[DISCARD_MIGRATED], 5);
    assert_int_equal(rig->status.discarded[DISCARD_STOLEN], 7);
}

RIG_TEST(a_machine_without_a_probe_says_why, setup)
{
    struct verdict why;
    verdict_set(&rig->facts.probe, REASON_NO_DEVICE, "no memory to chase");
    assert_false(probe_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_string_equal(why.words, "no memory to chase");
}

RIG_TEST(a_steady_tick_allocates_nothing, setup)
{
    if (!malloc_count_works())
        skip();
    uint64_t before = 0;
    for (int i = 0; i < 40; i++) {
        if (i == 20)
            before = malloc_count();
        counts_of_the_thread(rig, 124.5);
        burst(rig, 0, 0, 80);
        rig_tick(rig);
    }
    assert_int_equal(malloc_count() - before, 0);
}
