/*
 * placement: the worked numbers of its formula through the collector; where memory is, by pages and
 * by loads; windows that have no prediction, and why; containers that come, are renamed and end.
 */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define C(name) "interference_container_" name
#define SERIAL C("memory_serial_reads")
#define OBSERVED C("placement_observed_seconds")
#define PREDICTED C("placement_predicted_seconds")
#define LATENCY "interference_placement_target_latency_seconds"
#define TARGET(name) "target=\"" name "\""

/* T of the formula's worked window, 1e9 cycles at 2.1 GHz, and its N. */
static const double worked_seconds = 1e9 / 2.1e9, worked_serial = 1271186.4407;

static void start(void **state, const char *flag, int numa_nodes)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &placement_collector);
    rig->facts.machine.numa_nodes = numa_nodes;
    rig->facts.cache_cycles_final = true;
    if (flag)
        rig_flag(rig, flag);
    rig_start(rig);
    *state = rig;
}

static int one_node(void **state)
{
    start(state, "--collector.placement.tier=cxl=250ns", 1);
    return 0;
}

static int two_nodes(void **state)
{
    start(state, NULL, 2);
    return 0;
}

static int sixteen_nodes(void **state)
{
    start(state, NULL, 16);
    return 0;
}

static int two_nodes_by_loads(void **state)
{
    start(state, "--collector.placement.loads", 2);
    return 0;
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

static void probe(struct rig *rig, int initiator, int target, double ns)
{
    rig->fake.probes[rig->fake.n_probes++] = (struct probe_reading){
        .initiator_numa_node = initiator, .target_numa_node = target, .latency_ns = ns, .cpu = -1};
}

/* The paper's machine: 88.8 ns near, 148.4 ns far. */
static void probe_both(struct rig *rig)
{
    probe(rig, 0, 0, 88.8);
    probe(rig, 0, 1, 148.4);
}

static void work_on(struct rig *rig, const char *key, int cpu, uint64_t reads, uint64_t occupancy,
                    uint64_t active)
{
    struct fake_group *group = fake_group(&rig->fake, key, GROUP_CORE);
    fake_window(group, cpu, 500000000, {ROLE_CYCLES, 1000000000}, {ROLE_REF_CYCLES, 1000000000},
                {ROLE_L3_MISS_READS, reads}, {ROLE_L3_MISS_READ_OCCUPANCY, occupancy},
                {ROLE_L3_MISS_READ_ACTIVE, active});
}

static void work(struct rig *rig, const char *key)
{
    work_on(rig, key, 0, 2000000, 600000000, 400000000);
}

static void work_a_tick(struct rig *rig, const char *key)
{
    work(rig, key);
    rig_tick(rig);
}

/* A reading of where the memory is; at other ticks there is none. */
static void place(struct rig *rig, const char *key, uint64_t near, uint64_t far)
{
    struct fake_group *group = fake_group(&rig->fake, key, GROUP_PAGES);
    group->no_reading = false;
    group->count[0][0] = near;
    group->count[1][0] = far;
}

static double ratio(struct rig *rig, const char *target)
{
    return rig_value(rig, PREDICTED, target) / rig_value(rig, OBSERVED, "");
}

static uint64_t discarded(const struct rig *rig)
{
    uint64_t sum = 0;
    for (int i = 0; i < DISCARD_COUNT; i++)
        sum += rig->status.discarded[i];
    return sum;
}

/* ---- numbers ---- */

RIG_TEST(the_worked_window, one_node)
{
    rig_container(rig, "a");
    for (int i = 1; i <= 2; i++) {
        probe(rig, 0, 0, 88.8);
        work(rig, "a");
        assert_int_equal(rig_tick(rig), 0);
        assert_near(rig_value(rig, SERIAL, ""), i * worked_serial, 1e-3);
        assert_near(rig_value(rig, OBSERVED, ""), i * worked_seconds, 1e-9);
        assert_near(ratio(rig, TARGET("node0")), 1, 1e-12);
        assert_near(ratio(rig, TARGET("cxl")), 1.430322, 5e-7);
    }
    assert_int_equal(rig_series(rig, "target="), 2 + 2);
    assert_near(rig_value_of(rig, LATENCY, "initiator_numa_node=\"0\"", TARGET("node0")), 88.8e-9,
                1e-15);
    assert_near(rig_value_of(rig, LATENCY, "initiator_numa_node=\"0\"", TARGET("cxl")), 250e-9,
                1e-15);
    assert_int_equal(discarded(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* Each CPU by its own frequency: the second at 4.2 GHz, whose cycles take half of the time. */
RIG_TEST(seconds_are_of_each_cpus_own_frequency, one_node)
{
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    work(rig, "a");
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_CORE);
    fake_window(group, 1, 500000000, {ROLE_CYCLES, 2000000000}, {ROLE_REF_CYCLES, 1000000000},
                {ROLE_L3_MISS_READS, 2000000}, {ROLE_L3_MISS_READ_OCCUPANCY, 1200000000},
                {ROLE_L3_MISS_READ_ACTIVE, 800000000});
    rig_tick(rig);
    /* In both, a read takes 300 cycles of 2.1 GHz; the caches take 44 of the one, or of the other:
     * 33 on average. */
    assert_near(rig_value(rig, SERIAL, ""), 8e8 / (300 + 33 / 3.), 1e-3);
    assert_near(rig_value(rig, OBSERVED, ""), 2 * worked_seconds, 1e-9);
}

RIG_TEST(turns_are_scaled_for, one_node)
{
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    work(rig, "a");
    fake_group(&rig->fake, "a", GROUP_CORE)->enabled_ns[0] += 500000000;
    rig_tick(rig);
    assert_near(rig_value(rig, SERIAL, ""), 2 * worked_serial, 1e-3);
    assert_near(rig_value(rig, OBSERVED, ""), 2 * worked_seconds, 1e-9);
}

RIG_TEST(who_reads_nothing_loses_nothing, two_nodes)
{
    rig_container(rig, "a");
    probe_both(rig);
    work_on(rig, "a", 0, 0, 0, 0); /* nor is it asked where its memory is */
    fake_group(&rig->fake, "a", GROUP_PAGES)->no_reading = true;
    rig_tick(rig);
    assert_true(rig_value(rig, SERIAL, "") == 0);
    assert_near(ratio(rig, TARGET("node0")), 1, 0);
    assert_near(ratio(rig, TARGET("node1")), 1, 0);
    assert_int_equal(discarded(rig), 0);
}

/* ---- where it is ---- */

RIG_TEST(by_pages, two_nodes)
{
    rig_container(rig, "a");
    place(rig, "a", 700 << 20, 300 << 20);
    for (int i = 1; i <= 3; i++) {
        probe_both(rig);
        work_a_tick(rig, "a");
        assert_near(ratio(rig, TARGET("node0")), 0.952269, 5e-7);
        assert_near(ratio(rig, TARGET("node1")), 1.111371, 5e-7);
        fake_group(&rig->fake, "a", GROUP_PAGES)->no_reading = true; /* what was known holds */
    }
    assert_int_equal(discarded(rig), 0);
    /* Moved by somebody: now it would gain nothing at node 0. */
    double before[] = {rig_value(rig, PREDICTED, TARGET("node0")), rig_value(rig, OBSERVED, "")};
    place(rig, "a", 1 << 20, 0);
    work_a_tick(rig, "a");
    assert_near(rig_value(rig, PREDICTED, TARGET("node0")) - before[0],
                rig_value(rig, OBSERVED, "") - before[1], 1e-12);
}

RIG_TEST(by_loads, two_nodes_by_loads)
{
    rig_container(rig, "a");
    struct fake_group *loads = fake_group(&rig->fake, "a", GROUP_STALLS);
    fake_window(loads, 0, 1000000, {ROLE_LOADS_LOCAL_DRAM, 7}, {ROLE_LOADS_REMOTE_DRAM, 3});
    for (int i = 1; i <= 2; i++) { /* the second window has no loads: what was known holds */
        probe_both(rig);
        work_a_tick(rig, "a");
        assert_near(ratio(rig, TARGET("node0")), 0.952269, 5e-7);
        assert_near(ratio(rig, TARGET("node1")), 1.111371, 5e-7);
    }
    assert_false(fake_group(&rig->fake, "a", GROUP_PAGES)->open);
    assert_near(rig->status.pmu_running_seconds, 1e-3, 1e-12); /* that of the loads only */
    /* Loads of persistent memory, to which no node is without CPUs as far as is known. */
    fake_group_run(loads, 0, 1000000);
    fake_group_add(loads, 0, ROLE_LOADS_LOCAL_PMM, 3);
    work_a_tick(rig, "a");
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 1);
    assert_int_equal(discarded(rig), 1);
}

/* Node 2 has no CPUs: what is counted as persistent memory. */
TEST(loads_of_a_node_without_cpus)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &placement_collector);
    rig->facts.machine.numa_nodes = 3;
    rig->facts.cache_cycles_final = true;
    machine_place_cpu_on_node(&rig->facts.machine, 0, 0);
    machine_place_cpu_on_node(&rig->facts.machine, 1, 1);
    rig_flag(rig, "--collector.placement.loads");
    rig_start(rig);
    rig_container(rig, "a");
    struct fake_group *loads = fake_group(&rig->fake, "a", GROUP_STALLS);
    fake_group_run(loads, 0, 1000000);
    fake_group_add(loads, 0, ROLE_LOADS_LOCAL_PMM, 3);
    probe_both(rig);
    probe(rig, 0, 2, 174.5);
    work_a_tick(rig, "a");
    assert_near(ratio(rig, TARGET("node2")), 1, 1e-12);
    assert_near(ratio(rig, TARGET("node0")), 1 - worked_serial * 85.7e-9 / worked_seconds, 1e-6);
    rig_release(rig);
    free(rig);
}

/* CPU 0 on node 0, CPU 1 on node 1, all memory on node 0: one half of the time would gain from
 * what the other half would lose. */
RIG_TEST(each_cpu_from_its_own_node, two_nodes)
{
    machine_place_cpu_on_node(&rig->facts.machine, 0, 0);
    machine_place_cpu_on_node(&rig->facts.machine, 1, 1);
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    probe(rig, 0, 0, 90);
    probe(rig, 0, 1, 150);
    probe(rig, 1, 0, 150);
    probe(rig, 1, 1, 100);
    work(rig, "a");
    work_on(rig, "a", 1, 1000000, 124500000, 124500000); /* a chase: all of 1e6 reads serial */
    rig_tick(rig);
    assert_near(rig_value(rig, SERIAL, ""), worked_serial + 1e6, 1e-3);
    assert_near(ratio(rig, TARGET("node0")), 1, 1e-12);
    assert_near(rig_value(rig, PREDICTED, TARGET("node1")) - rig_value(rig, OBSERVED, ""),
                worked_serial * 60e-9 - 1e6 * 50e-9, 1e-8);
}

/* Without nodes of the CPUs: the mean over the initiators, 125 ns here and 155 ns there. */
RIG_TEST(from_anywhere_it_is_the_mean, two_nodes)
{
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    probe(rig, 0, 0, 90);
    probe(rig, 0, 1, 150);
    probe(rig, 1, 0, 160);
    probe(rig, 1, 1, 100);
    work_a_tick(rig, "a");
    assert_near(rig_value(rig, PREDICTED, TARGET("node1")) - rig_value(rig, OBSERVED, ""), 0,
                1e-12);
    probe(rig, 1, 0, 180); /* the mean of two readings: 170, so 130 ns here */
    work_a_tick(rig, "a");
    assert_near(rig_value(rig, PREDICTED, TARGET("node1")) - rig_value(rig, OBSERVED, ""),
                -worked_serial * 5e-9, 1e-8);
}

RIG_TEST(the_last_sixty_readings, one_node)
{
    for (int i = 0; i < 60; i++) {
        probe(rig, 0, 0, 100);
        rig_tick(rig);
    }
    probe(rig, 0, 0, 160);
    probe(rig, 0, 0, 220); /* one tick's bursts are one reading: their median */
    rig_tick(rig);
    assert_near(rig_value(rig, LATENCY, TARGET("node0")), 101.5e-9, 1e-15);
    for (int i = 0; i < 59; i++) {
        probe(rig, 0, 0, 40);
        rig_tick(rig);
    }
    assert_near(rig_value(rig, LATENCY, TARGET("node0")), (59 * 40e-9 + 190e-9) / 60, 1e-15);
}

/* A minute without a reading: its latency is not shown any more, but the windows that are observed
 * are predicted on, with the last. With the next reading it begins anew. */
RIG_TEST(a_target_without_readings, two_nodes)
{
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    for (int i = 0; i <= 61; i++) {
        probe(rig, 0, 0, 88.8);
        if (i == 0)
            probe(rig, 0, 1, 148.4);
        work_a_tick(rig, "a");
        assert_near(ratio(rig, TARGET("node0")), 1, 1e-12);
        assert_near(ratio(rig, TARGET("node1")), 1.159102, 5e-7);
        assert_true(isnan(rig_value(rig, LATENCY, TARGET("node1"))) == (i == 61));
    }
    assert_int_equal(discarded(rig), 0);
    probe(rig, 0, 1, 200);
    rig_tick(rig);
    assert_near(rig_value(rig, LATENCY, TARGET("node1")), 200e-9, 1e-15);
}

/* Sixteen nodes: the probe is back at a far one after 90 intervals. */
RIG_TEST(a_target_among_many, sixteen_nodes)
{
    for (int i = 0; i <= 193; i++) {
        if (i == 0)
            probe(rig, 0, 15, 148.4);
        rig_tick(rig);
        assert_true(isnan(rig_value(rig, LATENCY, TARGET("node15"))) == (i == 193));
    }
}

/* ---- windows without a prediction ---- */

RIG_TEST(where_it_is_now_is_not_known, two_nodes)
{
    rig_container(rig, "a");
    work(rig, "a"); /* no reading of the probe */
    fake_group(&rig->fake, "a", GROUP_PAGES)->no_reading = true;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 1);
    probe_both(rig);
    work(rig, "a"); /* nor of its pages */
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 2);
    place(rig, "a", 0, 0);
    work(rig, "a"); /* which say nothing */
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 3);
    fake_group(&rig->fake, "a", GROUP_PAGES)->cpus = 3;
    fake_group(&rig->fake, "a", GROUP_PAGES)->count[2][0] = 1;
    work(rig, "a"); /* a node that the probe does not reach */
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 4);
    assert_int_equal(discarded(rig), 4);
    assert_true(rig_value(rig, SERIAL, "") == 0);
    assert_true(rig_value(rig, OBSERVED, "") == 0);
}

/* All targets or none: else the totals would be of different windows. */
RIG_TEST(a_target_that_only_others_know, two_nodes)
{
    machine_place_cpu_on_node(&rig->facts.machine, 0, 0);
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    probe(rig, 0, 0, 90);
    probe(rig, 1, 1, 100);
    work_a_tick(rig, "a");
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 1);
    assert_true(rig_value(rig, OBSERVED, "") == 0);
    assert_true(rig_value(rig, PREDICTED, TARGET("node0")) == 0);
}

/* No thread of the probe on node 1, as in a cpuset without its CPUs: said once it lasts, also of
 * who reads now and then, and until a minute after the last who did. */
RIG_TEST(from_a_node_without_a_probe, two_nodes)
{
    machine_place_cpu_on_node(&rig->facts.machine, 0, 0);
    machine_place_cpu_on_node(&rig->facts.machine, 1, 1);
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    for (int i = 1; i <= 61 + 61; i++) {
        probe_both(rig);
        if (i <= 61 && i % 3 == 1)
            work_on(rig, "a", 1, 1000000, 124500000, 124500000);
        else
            work(rig, "a"); /* on CPU 0 */
        rig_tick(rig);
        bool said = rig->status.verdict.reason == REASON_NOT_CALIBRATED;
        assert_int_equal(said, i >= 61 && i <= 61 + 60);
        if (said)
            assert_non_null(strstr(rig->status.verdict.words, "NUMA node 1:"));
        else
            assert_string_equal(rig->status.verdict.words, "");
    }
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 21);
    assert_int_equal(discarded(rig), 21);
}

RIG_TEST(a_probe_that_comes_late, one_node)
{
    rig_container(rig, "a");
    for (int i = 1; i <= 61; i++) {
        assert_int_equal(rig->status.verdict.reason, REASON_OK);
        work_a_tick(rig, "a");
    }
    assert_int_equal(rig->status.verdict.reason, REASON_NOT_CALIBRATED);
    assert_non_null(strstr(rig->status.verdict.words, "no predictions: the probe runs"));
    probe(rig, 0, 0, 88.8);
    work_a_tick(rig, "a");
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

RIG_TEST(counts_that_cannot_be, one_node)
{
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    work_on(rig, "a", 0, 2000000, 0, 0);
    rig_tick(rig);
    work_on(rig, "a", 0, 2000000, 1100000000, 1100000000); /* of 1e9 cycles */
    rig_tick(rig);
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_CORE);
    fake_group_run(group, 0, 500000000);
    fake_group_add(group, 0, ROLE_L3_MISS_READS, 5); /* reads without cycles */
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 3);
    assert_int_equal(discarded(rig), 3);
    assert_true(rig_value(rig, OBSERVED, "") == 0);
}

RIG_TEST(more_than_all_of_its_time_cannot_be_gained, two_nodes)
{
    rig_container(rig, "a");
    place(rig, "a", 0, 1);
    probe(rig, 0, 0, 10);
    probe(rig, 0, 1, 1000);
    work_on(rig, "a", 0, 1000000, 900000000, 900000000); /* 429 ns a read by the counters */
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 0);
    assert_near(ratio(rig, TARGET("node0")), .1, 1e-9); /* what waits: 9e8 of 1e9 cycles */
    assert_near(ratio(rig, TARGET("node1")), 1, 1e-12); /* nor are other targets lost */
}

RIG_TEST(starved_and_reset_windows, one_node)
{
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_CORE);
    group->enabled_ns[0] += 1000000000;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);
    work_a_tick(rig, "a");
    group->count[0][0] -= 1;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_RESET], 1);
    group->read_error = -EIO;
    assert_int_equal(rig_tick(rig), -EIO);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 1);
    assert_near(rig_value(rig, SERIAL, ""), worked_serial, 1e-3);
}

/* ---- machines ---- */

RIG_TEST(until_the_caches_are_calibrated, one_node)
{
    double cycles = rig->facts.machine.cache_cycles;
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_cycles_final = false;
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    work_a_tick(rig, "a");
    assert_true(isnan(rig_value(rig, SERIAL, "")) && isnan(rig_value(rig, OBSERVED, "")));
    assert_true(isnan(rig_value(rig, PREDICTED, TARGET("cxl"))));
    assert_int_equal(discarded(rig), 0);
    assert_non_null(strstr(rig->status.verdict.words, "waits for the probe's calibration"));
    rig->facts.machine.cache_cycles = cycles;
    rig->facts.cache_cycles_final = true;
    work_a_tick(rig, "a");
    assert_near(rig_value(rig, SERIAL, ""), worked_serial, 1e-3);
    assert_string_equal(rig->status.verdict.words, "");
}

/* As with the NMI watchdog on. */
RIG_TEST(without_the_active_cycles, one_node)
{
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    work(rig, "a");
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_CORE);
    group->present = group_descs[GROUP_CORE].required;
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, SERIAL, "")));
    assert_int_equal(rig->status.verdict.reason, REASON_NO_PMU);
    verdict_set(&rig->fake.check, REASON_NMI_WATCHDOG, "kernel.nmi_watchdog=0 gives it back");
    work_a_tick(rig, "a");
    assert_int_equal(rig->status.verdict.reason, REASON_NMI_WATCHDOG);
    assert_non_null(strstr(rig->status.verdict.words, "kernel.nmi_watchdog=0"));
    rig_tick(rig); /* while nothing runs, nothing new is known */
    assert_int_equal(rig->status.verdict.reason, REASON_NMI_WATCHDOG);
    assert_int_equal(discarded(rig), 0);
}

RIG_TEST(a_dead_counter_ends_it, one_node)
{
    rig_container(rig, "a");
    probe(rig, 0, 0, 88.8);
    work_a_tick(rig, "a");
    rig->facts.l3_miss_reads_filtered = true;
    assert_int_equal(rig_tick(rig), -ENODEV);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_true(isnan(rig_value(rig, SERIAL, "")));
    rig_container(rig, "b");
    assert_int_equal(rig->fake.n_open, 0);
}

RIG_TEST(pages_that_cannot_be_read, two_nodes)
{
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "no memory.numa_stat");
    rig->fake.open_error_of = GROUP_PAGES;
    rig_container(rig, "a");
    probe_both(rig);
    work_a_tick(rig, "a");
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 1);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_string_equal(rig->status.verdict.words, "no memory.numa_stat");
}

static void pages_fail(struct rig *rig, const char *key, int err)
{
    fake_group(&rig->fake, key, GROUP_PAGES)->read_error = err;
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "no file descriptors left");
    rig->fake.open_error_of = GROUP_PAGES;
}

static void works_and_is_predicted(struct rig *rig, const char *key, bool predicted)
{
    double before = rig_value(rig, OBSERVED, "container=\"a\"");
    probe_both(rig);
    work_a_tick(rig, key);
    assert_near(rig_value(rig, OBSERVED, "container=\"a\""),
                before + (predicted ? worked_seconds : 0), 1e-9);
}

/* Counters needed its descriptor: what was known holds no longer, and why is said; until somebody
 * ends. One that had none from the start has one then, too. */
RIG_TEST(where_it_is_is_lost_and_found, two_nodes)
{
    rig_container(rig, "a");
    struct container *ends = rig_container(rig, "ends");
    place(rig, "a", 700 << 20, 300 << 20);
    rig_tick(rig);
    works_and_is_predicted(rig, "a", true);
    pages_fail(rig, "a", -EMFILE);
    rig_container(rig, "late");
    works_and_is_predicted(rig, "a", false);
    works_and_is_predicted(rig, "a", false);
    assert_false(fake_group(&rig->fake, "a", GROUP_PAGES)->open);
    assert_int_equal(rig->status.discarded[DISCARD_NO_TARGET], 2);
    assert_int_equal(discarded(rig), 2);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);

    fake_group(&rig->fake, "a", GROUP_PAGES)->read_error = 0;
    verdict_clear(&rig->fake.open_error);
    works_and_is_predicted(rig, "a", false); /* nothing has become free */
    rig_end(rig, ends);
    works_and_is_predicted(rig, "a", true);
    assert_true(fake_group(&rig->fake, "late", GROUP_PAGES)->open);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* The descriptors of one that ends are free only once its last counts were read. */
RIG_TEST(what_ends_makes_room_when_it_is_closed, two_nodes)
{
    rig_container(rig, "a");
    struct container *ends = rig_container(rig, "ends");
    pages_fail(rig, "a", -EMFILE);
    rig_tick(rig);
    assert_false(fake_group(&rig->fake, "a", GROUP_PAGES)->open);
    rig_end(rig, ends);
    fake_group(&rig->fake, "a", GROUP_PAGES)->read_error = 0;
    verdict_clear(&rig->fake.open_error);
    rig_tick(rig);
    assert_true(fake_group(&rig->fake, "a", GROUP_PAGES)->open);
}

RIG_TEST(a_reading_that_fails_is_tried_anew, two_nodes)
{
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    rig_tick(rig);
    works_and_is_predicted(rig, "a", true);
    fake_group(&rig->fake, "a", GROUP_PAGES)->read_error = -EIO;
    works_and_is_predicted(rig, "a", false);
    fake_group(&rig->fake, "a", GROUP_PAGES)->read_error = 0;
    works_and_is_predicted(rig, "a", true);
    pages_fail(rig, "a", -ESRCH); /* its cgroup is gone: the last counts are of the last mix */
    works_and_is_predicted(rig, "a", true);
    assert_false(fake_group(&rig->fake, "a", GROUP_PAGES)->open);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_int_equal(discarded(rig), 1);
}

TEST(machines_on_which_it_cannot_work)
{
    struct rig *rig = malloc(sizeof *rig);
    struct verdict why;
    rig_init(rig, &placement_collector);
    rig->fake.lacks = 1u << GROUP_CORE;
    assert_false(placement_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "AMD"));
    rig->fake.lacks |= 1u << GROUP_FILLS;
    assert_false(placement_collector.probe(&rig->env, &why));
    assert_null(strstr(why.words, "AMD"));
    rig->fake.lacks = 0;
    assert_true(placement_collector.probe(&rig->env, &why));
    verdict_set(&rig->facts.probe, REASON_DISABLED, "switched off by a flag");
    assert_false(placement_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_DISABLED);
    rig_release(rig);
    free(rig);
}

/* ---- containers ---- */

RIG_TEST(names_and_ends, one_node)
{
    struct container *a = rig_unnamed(rig, "a");
    probe(rig, 0, 0, 88.8);
    work_a_tick(rig, "a");
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    rig_name(rig, a);
    work_a_tick(rig, "a");
    assert_near(rig_value_of(rig, SERIAL, "container=\"a\"", ""), 2 * worked_serial, 1e-3);
    rig_rename(rig, a, "c");
    work_a_tick(rig, "a");
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_near(rig_value_of(rig, SERIAL, "container=\"c\"", ""), 3 * worked_serial, 1e-3);
    work(rig, "a"); /* its last counts */
    rig_end(rig, a);
    rig_tick(rig);
    assert_int_equal(rig->fake.n_open, 0);
    rig_tick(rig);
    assert_near(rig_value_of(rig, SERIAL, "container=\"c\"", ""), 4 * worked_serial, 1e-3);
    rig_forget(rig, a);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, "container=\"c\""), 0);
}

RIG_TEST(a_name_that_is_taken, one_node)
{
    struct container *a = rig_unnamed(rig, "a");
    rig_take_name(rig, PREDICTED, a, "a");
    rig_name(rig, a);
    probe(rig, 0, 0, 88.8);
    work(rig, "a");
    assert_int_equal(rig_tick(rig), 0);
}

RIG_TEST(targets_that_come_later, two_nodes)
{
    rig_container(rig, "a");
    place(rig, "a", 1, 0);
    probe(rig, 0, 0, 88.8);
    work_a_tick(rig, "a");
    assert_true(isnan(rig_value(rig, PREDICTED, TARGET("node1"))));
    double observed = rig_value(rig, OBSERVED, "");
    probe_both(rig);
    work_a_tick(rig, "a");
    assert_near(rig_value(rig, PREDICTED, TARGET("node1")) / observed, 1.159102, 5e-7);
}

RIG_TEST(a_steady_tick_allocates_nothing, two_nodes)
{
    rig_container(rig, "a");
    rig_container(rig, "b");
    if (!malloc_count_works())
        skip();
    for (int i = 0; i < 3; i++) {
        place(rig, "a", 7, 3);
        place(rig, "b", 3, 7);
        probe_both(rig);
        work(rig, "a");
        work(rig, "b");
        uint64_t before = malloc_count();
        rig_tick(rig);
        if (i > 1)
            assert_int_equal(malloc_count(), before);
    }
    assert_int_equal(discarded(rig), 0);
}
