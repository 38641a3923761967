/*
 * amd_l3 from sysfs to published metrics: each CPU with a table, on a kernel whose L3s have six
 * counters and count by AMD's event numbers; what stands in its way; and its recordings.
 */
#include <unistd.h>

#include "collectors/events/events.h"
#include "collectors/formulas/l3_latency.h"
#include "collectors/table.h"
#include "exporter/daemon/sources.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/epyc_machine.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

static const char latency[] = "interference_l3_miss_read_latency_seconds";
static const char reads[] = "interference_l3_miss_read_latency_reads";
static const char wait[] = "interference_l3_miss_read_wait_seconds";

static const char *const l3s[EPYC_L3S] = {"socket=\"0\",l3=\"0\"", "socket=\"0\",l3=\"1\"",
                                          "socket=\"1\",l3=\"8\"", "socket=\"1\",l3=\"9\""};

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= fabs(expected) * 1e-9))
        fail_msg("%.17g instead of %.17g", value, expected);
}

/* ---- the formula ---- */

TEST(the_worked_numbers)
{
    double unit, out = 7;
    assert_int_equal(l3_cycles_unit_seconds(3.2e9, &unit), 0);
    near(unit, 5e-9);
    assert_int_equal(l3_latency_seconds(12500000, 1000000, unit, &out), 0);
    near(out, 62.5e-9);
    assert_int_equal(l3_sampled_unit_seconds(UINT64_C(32) << 20, &unit), 0);
    assert_int_equal(l3_latency_seconds(1200000, 100000, unit, &out), 0);
    near(out, 120e-9);
    assert_int_equal(l3_sampled_unit_seconds(UINT64_C(96) << 20, &unit), 0);
    near(unit, 10e-9);
    assert_int_equal(l3_sampled_unit_seconds((UINT64_C(32) << 20) - 1, &unit), 0);
    near(unit, 30e-9);
    assert_int_equal(l3_sampled_unit_seconds(UINT64_C(16) << 20, &unit), 0);
    assert_int_equal(l3_latency_seconds(1200000, 100000, unit, &out), 0);
    near(out, 360e-9);
}

TEST(what_cannot_be_told_is_not_told)
{
    double out = 7;
    assert_int_equal(l3_cycles_unit_seconds(0, &out), -ENODATA);
    assert_int_equal(l3_cycles_unit_seconds(NAN, &out), -ENODATA);
    assert_int_equal(l3_cycles_unit_seconds(INFINITY, &out), -ENODATA);
    assert_int_equal(l3_sampled_unit_seconds(0, &out), -ENODATA);
    assert_int_equal(l3_latency_seconds(1, 0, 10e-9, &out), -ENODATA);
    assert_int_equal(l3_latency_seconds(1, 1, 0, &out), -ENODATA);
    assert_int_equal(l3_latency_seconds(1, 1, NAN, &out), -ENODATA);
    assert_true(out == 7);
}

/* ---- on a machine ---- */

static struct rig *rig_on(struct perf_fixture *fixture, struct recorder *recorder)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig_init(rig, &amd_l3_collector);
    rig->facts.machine.base_frequency_hz = 2.8e9;
    perf_fixture_start(fixture);
    struct source *source = fixture->source;
    fixture->source = NULL; /* the set's from here on */
    if (recorder)
        assert_int_equal(recorder_wrap(recorder, source, &source), 0);
    for (int group = 0; group < GROUP_COUNT; group++)
        assert_int_equal(source_set_route(rig->sources, SCOPE_UNIT, (enum group)group, source), 0);
    assert_int_equal(units_add(&rig->inventory, &fixture->tree.fs, fixture->config.table, recorder),
                     0);
    return rig;
}

static void rig_end_of(struct rig *rig)
{
    rig_release(rig);
    free(rig);
}

static int second(struct perf_fixture *fixture, struct rig *rig)
{
    for (int i = 0; i < EPYC_CPUS; i += 2)
        fake_pmu_run(&fixture->pmu, 0, 0, i, 1000000000);
    return rig_tick(rig);
}

static void check_source(struct rig *rig, int l3, const char *source, double per_us, double wait_s,
                         double seconds)
{
    char label[32];
    snprintf(label, sizeof label, "source=\"%s\"", source);
    assert_true(rig_value_of(rig, reads, l3s[l3], label) == per_us * 1e6 * seconds);
    near(rig_value_of(rig, wait, l3s[l3], label), wait_s * seconds);
    near(rig_value_of(rig, latency, l3s[l3], label), wait_s / (per_us * 1e6));
}

/* By hand, from the rates in epyc_machine.h: 'unit' is what a count of wait is. */
static void check_sampled(struct rig *rig, double unit, double seconds)
{
    for (int i = 0; i < EPYC_L3S; i++) {
        check_source(rig, i, "near_dram", 10, 10 * (12 + 2 * i) * 1e6 * unit, seconds);
        check_source(rig, i, "far_dram", 4, 80e6 * unit, seconds);
        check_source(rig, i, "other_ccx", 5, 120e6 * unit, seconds);
        check_source(rig, i, "cxl", 2, 60e6 * unit, seconds);
    }
    assert_int_equal(rig_series(rig, "l3="), EPYC_L3S * 4 * 3);
    assert_int_equal(rig_series(rig, "source=\"any\""), 0);
}

/* 16 cycles of 2.4 GHz are 6.67 ns. */
static void check_any(struct rig *rig, double seconds)
{
    for (int i = 0; i < EPYC_L3S; i++)
        check_source(rig, i, "any", 16, 16 * (10 + 2 * i) * 1e6 * 16 / 2.4e9, seconds);
    assert_int_equal(rig_series(rig, "l3="), EPYC_L3S * 3);
}

static void check_machine(struct perf_fixture *fixture, const struct epyc_machine *machine)
{
    epyc_machine_install(machine, EPYC_METAL & ~EPYC_UMC, fixture);
    assert_string_equal(fixture->config.table->microarchitecture, machine->name);
    struct rig *rig = rig_on(fixture, NULL);
    assert_int_equal(rig->inventory.n_units, EPYC_L3S);
    rig_start(rig);
    for (int seconds = 1; seconds <= 2; seconds++) {
        assert_int_equal(second(fixture, rig), 0);
        if (machine->sampled)
            check_sampled(rig, machine->l3_kib >= 32768 ? 10e-9 : 30e-9, seconds);
        else
            check_any(rig, seconds);
        assert_int_equal(rig->status.verdict.reason, REASON_OK);
        assert_false(rig->status.unavailable);
    }
    /* Three of the four sources at a time; Zen 2 and 3 have one, and a clock. */
    assert_int_equal(fixture->pmu.box_peak, machine->sampled ? 6 : 2);
    double share = rig->status.pmu_running_seconds / rig->status.pmu_enabled_seconds;
    near(share, machine->sampled ? 0.75 : 1);
    rig_end_of(rig);
}

TEST_WITH(rome, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &epyc_rome);
}

TEST_WITH(milan, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &epyc_milan);
}

TEST_WITH(genoa, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &epyc_genoa);
}

TEST_WITH(siena, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &epyc_siena);
}

TEST_WITH(turin, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &epyc_turin);
}

/* ---- what stands in its way ---- */

static void expect_reason(struct perf_fixture *fixture, enum reason reason, const char *words)
{
    struct rig *rig = rig_on(fixture, NULL);
    struct verdict why = {0};
    assert_false(amd_l3_collector.probe(&rig->env, &why));
    if (why.reason != reason || !strstr(why.words, words))
        fail_msg("%s: %s", reason_name(why.reason), why.words);
    assert_int_equal(fixture->pmu.open, 0);
    rig_end_of(rig);
}

TEST_WITH(without_the_pmu, perf_fixture_setup, perf_fixture_teardown)
{
    expect_reason(*state, REASON_NO_DEVICE, "no counters of an L3 (amd_l3 in ");
}

PERF_TEST(listed_but_it_cannot_be_opened)
{
    epyc_machine_install(&epyc_turin, EPYC_METAL & ~EPYC_UMC, fixture);
    fixture->pmu.error = -ENOENT;
    expect_reason(fixture, REASON_NO_PMU, "l3_near_dram_wait: this machine has no such hardware");
    fixture->pmu.error = -EINVAL;
    expect_reason(fixture, REASON_UNSUPPORTED_CPU, "l3_near_dram_wait: the kernel rejects");
    fixture->pmu.error = 0;
    fixture->pmu.system_wide_error = -EACCES;
    expect_reason(fixture, REASON_NO_PERMISSION, "CAP_PERFMON");
}

PERF_TEST(a_cpu_of_the_future)
{
    const struct epyc_machine future = {NULL, 0x1c, 0x10, 32768, true};
    epyc_machine_install(&future, EPYC_METAL & ~EPYC_UMC, fixture);
    assert_null(fixture->config.table);
    fixture->config.table = &event_table_generic;
    expect_reason(fixture, REASON_UNSUPPORTED_CPU,
                  "none of its events is verified for the L3 of this CPU");
}

/* A hypervisor lists the PMU, lets it open, and lets it count nothing: a reason, and no zero. */
TEST_WITH(listed_but_it_counts_nothing, perf_fixture_setup, perf_fixture_teardown)
{
    const struct epyc_machine *const machines[] = {&epyc_turin, &epyc_milan};
    for (int i = 0; i < 2; i++) {
        struct perf_fixture *fixture = *state;
        epyc_machine_install(machines[i], EPYC_METAL & ~EPYC_UMC, fixture);
        fixture->pmu.filtered = true;
        struct rig *rig = rig_on(fixture, NULL);
        rig_start(rig);
        for (int seconds = 0; seconds < 3; seconds++) {
            assert_int_equal(second(fixture, rig), 0);
            assert_true(rig->status.unavailable);
            assert_int_equal(rig->status.verdict.reason,
                             i == 0 ? REASON_EVENT_FILTERED : REASON_NO_DEVICE);
            assert_non_null(strstr(rig->status.verdict.words,
                                   i == 0 ? "they count nothing on any L3" : "aperf and mperf"));
            assert_int_equal(rig_series(rig, "l3="), 0);
        }
        rig_end_of(rig);
        if (i == 0) {
            perf_fixture_teardown(state);
            perf_fixture_setup(state);
        }
    }
}

/* Too short a time says nothing yet; and who counts once is believed, also when it is idle. */
PERF_TEST(an_idle_l3_is_no_filtered_one)
{
    epyc_machine_install(&epyc_genoa, EPYC_METAL & ~EPYC_UMC, fixture);
    struct rig *rig = rig_on(fixture, NULL);
    rig_start(rig);
    fixture->pmu.filtered = true;
    fake_pmu_run(&fixture->pmu, 0, 0, 0, 1000000);
    assert_int_equal(rig_tick(rig), 0);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig_series(rig, "l3="), 0);
    second(fixture, rig);
    assert_true(rig->status.unavailable);
    fixture->pmu.filtered = false;
    second(fixture, rig);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    check_sampled(rig, 10e-9, 1);
    fixture->pmu.filtered = true;
    second(fixture, rig);
    assert_false(rig->status.unavailable);
    assert_true(isnan(rig_value_of(rig, latency, l3s[0], "near_dram")));
    assert_true(rig_value_of(rig, reads, l3s[0], "near_dram") == 1e7);
    rig_end_of(rig);
}

PERF_TEST(an_l3_of_unknown_size)
{
    static const char *const sizes[] = {"", "32768\n", "K\n", "99999999999999K\n", "-1K\n"};
    epyc_machine_install(&epyc_genoa, EPYC_METAL & ~EPYC_UMC, fixture);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int cpu = 0; cpu < EPYC_CPUS; cpu++) {
            char path[96];
            snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cache/index3/size", cpu);
            fixture_write(&fixture->tree, path, "%s", sizes[i]);
        }
        struct rig *rig = rig_on(fixture, NULL);
        rig_start(rig);
        second(fixture, rig);
        assert_true(rig->status.unavailable);
        assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
        assert_non_null(strstr(rig->status.verdict.words, "cache/index3/size"));
        assert_int_equal(rig_series(rig, "l3="), 0);
        rig_end_of(rig);
    }
}

/* Another profiler holds the counters: nothing new, and no latency; then both go on. */
PERF_TEST(held_counters)
{
    epyc_machine_install(&epyc_genoa, EPYC_METAL & ~EPYC_UMC, fixture);
    struct rig *rig = rig_on(fixture, NULL);
    rig_start(rig);
    second(fixture, rig);
    fixture->pmu.box_held = 6;
    second(fixture, rig);
    assert_true(isnan(rig_value_of(rig, latency, l3s[0], "near_dram")));
    assert_true(rig_value_of(rig, reads, l3s[0], "near_dram") == 1e7);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], EPYC_L3S * 4);
    assert_false(rig->status.unavailable);
    fixture->pmu.box_held = 0;
    second(fixture, rig);
    check_sampled(rig, 10e-9, 2);
    rig_end_of(rig);
}

/* An L3 of which one event cannot be opened is left out, whole; the others are served. */
PERF_TEST(a_part_of_an_l3_is_not_counted)
{
    epyc_machine_install(&epyc_genoa, EPYC_METAL & ~EPYC_UMC, fixture);
    struct rig *rig = rig_on(fixture, NULL);
    fixture->pmu.fail_open = 2 + 2 + 1; /* the check's two; the second source's first */
    rig_start(rig);
    assert_int_equal(fixture->pmu.open, (EPYC_L3S - 1) * 8);
    assert_int_equal(rig->status.open_failures[REASON_FD_LIMIT], 1);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    second(fixture, rig);
    assert_true(isnan(rig_value(rig, reads, l3s[0])));
    assert_true(rig_value_of(rig, reads, l3s[3], "near_dram") == 1e7);
    rig_end_of(rig);
}

/* ---- recordings ---- */

static void record(struct perf_fixture *fixture, const struct epyc_machine *machine,
                   const char *path)
{
    const struct machine facts = {.base_frequency_hz = 2.8e9, .sockets = 2};
    struct recorder *recorder;
    epyc_machine_install(machine, EPYC_METAL & ~EPYC_UMC, fixture);
    assert_int_equal(recorder_new(path, &facts, 1000000000, NULL, &recorder), 0);
    struct rig *rig = rig_on(fixture, recorder);
    rig_start(rig);
    for (int i = 0; i < 2; i++) {
        const struct tick next = {.number = rig->tick.number + 1,
                                  .mono_ns = rig->tick.mono_ns + 1000000000,
                                  .wall_ns = rig->tick.wall_ns + 1000000000};
        recorder_tick(recorder, &next);
        second(fixture, rig);
        recorder_flush(recorder);
    }
    rig_end_of(rig);
    assert_int_equal(recorder_free(recorder), 0);
}

static struct rig *replay_rig(struct replay *replay)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct source *source;
    size_t n;
    const struct source_unit *units = replay_units(replay, &n);
    assert_non_null(rig);
    rig_init(rig, &amd_l3_collector);
    assert_int_equal(replay_source_new(replay, &source), 0);
    for (int group = 0; group < GROUP_COUNT; group++)
        assert_int_equal(source_set_route(rig->sources, SCOPE_UNIT, (enum group)group, source), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(inventory_add_unit(&rig->inventory, &units[i]), 0);
    rig->facts.machine = *replay_machine(replay);
    return rig;
}

TEST_WITH(recorded_machines_replay_alike, perf_fixture_setup, perf_fixture_teardown)
{
    const struct epyc_machine *const machines[] = {&epyc_milan, &epyc_siena};
    for (int m = 0; m < 2; m++) {
        char path[64];
        struct tick tick;
        if (m > 0) {
            perf_fixture_teardown(state);
            perf_fixture_setup(state);
        }
        recording_temporary(path);
        record(*state, machines[m], path);
        struct replay *replay = recording_open(path);
        struct rig *rig = replay_rig(replay);
        rig_start(rig);
        for (int seconds = 1; recording_next(replay, &tick); seconds++) {
            assert_int_equal(rig_tick(rig), 0);
            if (machines[m]->sampled)
                check_sampled(rig, 30e-9, seconds);
            else
                check_any(rig, seconds);
        }
        assert_false(rig->status.unavailable);
        rig_end_of(rig);
        replay_free(replay);
        unlink(path);
    }
}

PERF_TEST(recordings_without_counts_say_so)
{
    static const char text[] =
        HEADER "{\"unit\":{\"key\":\"u\",\"kind\":\"l3\",\"socket\":0,\"imc\":3}}\n" TICK(1);
    char path[64];
    struct tick tick;
    recording_write(path, text, strlen(text));
    struct replay *replay = recording_open(path);
    struct rig *rig = replay_rig(replay);
    rig_start(rig);
    assert_true(recording_next(replay, &tick));
    assert_int_equal(rig_tick(rig), 0);
    assert_true(rig->status.unavailable);
    assert_string_equal(rig->status.verdict.words, "the recording has no counts of an L3");
    assert_int_equal(rig_series(rig, "l3="), 0);
    rig_end_of(rig);
    replay_free(replay);
    unlink(path);
}
