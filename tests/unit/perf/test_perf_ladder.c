/*
 * The fallback ladder of the perf source: what the PMU refuses, never runs, or filters.
 */
#include "collectors/events/events.h"
#include "exporter/source/perf/ladder.h"
#include "tests/unit/support/perf_fixture.h"
#include "tests/unit/support/unit.h"

#define MS UINT64_C(1000000)

PERF_TEST(test_watchdog_at_start)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t inode;
    fixture->pmu.watchdog = true;
    perf_fixture_start(fixture);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), 0);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_NMI_WATCHDOG);
    assert_non_null(strstr(why.words, "without llc_reads, l3_miss_read_active"));
    assert_non_null(strstr(why.words, "slowdown is off"));
    assert_non_null(strstr(why.words, "kernel.nmi_watchdog=0"));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    assert_int_equal(perf_fixture_logged(fixture, "kernel.nmi_watchdog=0"), 1);
    assert_int_equal(fixture->pmu.open, 0);

    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 50);
    perf_fixture_assert_core(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out),
                             WITHOUT_SLOWDOWN, 50, 50);
    /* Asked again, for another scope too: the same words, no second log line. */
    assert_true(perf_fixture_check(fixture, SCOPE_THREAD, GROUP_CORE, &why));
    assert_non_null(strstr(why.words, "slowdown is off"));
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_non_null(strstr(why.words, "slowdown is off"));
    assert_int_equal(perf_fixture_logged(fixture, "slowdown"), 1);
}

PERF_TEST(test_full_group_says_nothing)
{
    struct verdict why;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_OK);
    assert_string_equal(why.words, "");
    assert_int_equal(perf_fixture_logged(fixture, "perf"), 0);
}

/* The PMU refuses what it can never count together. */
PERF_TEST(test_refused_group)
{
    struct verdict why;
    fixture->pmu.general = 3;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    assert_non_null(strstr(why.words, "too few counters"));

    fixture->pmu.general = 1;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_UNSUPPORTED_CPU, "EINVAL");
}

/* The user names events for the roles that must be; the table's for the others do not exist here.
 */
PERF_TEST(test_roles_that_the_machine_lacks)
{
    uint64_t inode;
    fixture->pmu.no_pmu = true;
    fixture->file.event[ROLE_CYCLES] = "software:cpu-clock";
    fixture->file.event[ROLE_REF_CYCLES] = "software:task-clock";
    fixture->file.event[ROLE_L3_MISS_READS] = "software:page-faults";
    fixture->file.event[ROLE_L3_MISS_READ_OCCUPANCY] = "software:context-switches";
    perf_fixture_start(fixture);
    perf_fixture_allows(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_OK, "");
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), REQUIRED);
    assert_int_equal(perf_fixture_logged(fixture, "role instructions is not counted"), 1);
    assert_int_equal(perf_fixture_logged(fixture, "role l3_miss_read_active is not counted"), 1);
    assert_int_equal(fixture->pmu.open, 0);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fixture->source->ops->close(fixture->source, handle);

    /* One that must be is lacking. */
    fixture->file.event[ROLE_L3_MISS_READS] = NULL;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PMU, "");
}

/* Two sources open the same events: what is wrong with them is said once. */
PERF_TEST(test_said_once)
{
    struct perf_said said = {0};
    struct verdict why;
    fixture->config.said = &said;
    fixture->file.event[ROLE_INSTRUCTIONS] = "software:nothing";
    for (int sources = 0; sources < 2; sources++) {
        perf_fixture_start(fixture);
        assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
        assert_int_equal(perf_fixture_logged(fixture, "role instructions is not counted"), 1);
    }
    fixture->file.event[ROLE_INSTRUCTIONS] = NULL;
    fixture->pmu.watchdog = true;
    for (int sources = 0; sources < 2; sources++) {
        perf_fixture_start(fixture);
        assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
        assert_int_equal(perf_fixture_logged(fixture, "slowdown is off"), 1);
    }
}

/* Other programs hold all counters for now: the smallest group has the best chance later. */
PERF_TEST(test_all_counters_held)
{
    struct verdict why;
    fixture->pmu.held = 4;
    fixture_write(&fixture->tree, "proc/sys/kernel/nmi_watchdog", "0\n");
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), REQUIRED);
    assert_non_null(strstr(why.words, "another program or the NMI watchdog holds a counter"));
}

PERF_TEST(test_filtered)
{
    struct verdict why;
    fixture->pmu.filtered = true;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_EVENT_FILTERED, "hypervisor");
    uint64_t handle = 77;
    struct scope scope = {.kind = SCOPE_CGROUP, .key = "x", .cgroup_fd = -1};
    assert_int_not_equal(
        fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why), 0);
    assert_int_equal(why.reason, REASON_EVENT_FILTERED);
    assert_int_equal(handle, 77);
}

static void run_ticks(struct perf_fixture *fixture, uint64_t handle, uint64_t inode, int ticks,
                      uint64_t ns)
{
    struct perf_reading out;
    for (int i = 0; i < ticks; i++) {
        perf_fixture_begin(fixture);
        fake_pmu_run(&fixture->pmu, inode, 0, 0, ns);
        assert_int_equal(perf_fixture_read(fixture, handle, GROUP_CORE, &out), 0);
    }
}

/* Someone switches the watchdog on while we run. */
PERF_TEST(test_starvation_at_run_time)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t inode, idle;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    uint64_t other = perf_fixture_open(fixture, "idle", GROUP_CORE, &idle);
    run_ticks(fixture, handle, inode, 10, 100 * MS);
    perf_fixture_assert_core(perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out), FULL,
                             1000 * MS, 1000 * MS);

    fixture->pmu.watchdog = true;
    run_ticks(fixture, handle, inode, 5, 100 * MS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
    perf_fixture_begin(fixture);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    assert_int_equal(fixture->pmu.open, 2 * 2 * 5);
    assert_int_equal(perf_fixture_logged(fixture, "kernel.nmi_watchdog=0"), 1);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_non_null(strstr(why.words, "slowdown is off"));

    /* Totals go on from where they stood: 1500 ms enabled, of which 1000 were counted. */
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 7);
    const struct reading_row *row = perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out);
    assert_int_equal(row->enabled_ns, 1500 * MS + 7);
    assert_int_equal(row->running_ns, 1000 * MS + 7);
    assert_int_equal(row->present, WITHOUT_SLOWDOWN);
    for (int role = 0; role <= OCCUPANCY; role++)
        assert_int_equal(row->count[role], (1000 * MS + 7) * perf_fixture_core_rate(role));
    fake_pmu_run(&fixture->pmu, idle, 0, 1, 9);
    perf_fixture_assert_core(perf_fixture_row(fixture, other, GROUP_CORE, 1, &out),
                             WITHOUT_SLOWDOWN, 9, 9);

    /* Down to the last rung, then one line and no more steps. */
    fixture->pmu.held = 4;
    run_ticks(fixture, handle, inode, 6, 100 * MS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), REQUIRED);
    run_ticks(fixture, handle, inode, 30, 100 * MS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), REQUIRED);
    assert_int_equal(perf_fixture_logged(fixture, "never runs"), 1);
}

/* One container that runs, or starving for moments only, is no reason to step down. */
PERF_TEST(test_no_step_down_without_need)
{
    struct perf_reading out;
    uint64_t inode, two;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    uint64_t other = perf_fixture_open(fixture, "b", GROUP_CORE, &two);
    for (int i = 0; i < 30; i++) {
        perf_fixture_begin(fixture);
        fixture->pmu.watchdog = true;
        fake_pmu_run(&fixture->pmu, inode, 0, 0, 100 * MS);
        assert_int_equal(perf_fixture_read(fixture, handle, GROUP_CORE, &out), 0);
        fixture->pmu.watchdog = false;
        fake_pmu_run(&fixture->pmu, two, 0, 0, 1);
        assert_int_equal(perf_fixture_read(fixture, other, GROUP_CORE, &out), 0);
    }
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
    fixture->pmu.watchdog = true;
    run_ticks(fixture, handle, inode, 30, MS); /* 30 ms in all: a few turns of rotation */
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
    run_ticks(fixture, handle, inode, 30, 0); /* idle: says nothing */
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
    run_ticks(fixture, handle, inode, 22, MS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
}

enum { PROBE_TID = 4711 };

static uint64_t open_thread(struct perf_fixture *fixture)
{
    const struct scope scope = {
        .kind = SCOPE_THREAD, .key = "p0", .tid = PROBE_TID, .cgroup_fd = -1};
    struct verdict why;
    uint64_t handle = 0;
    assert_true(perf_fixture_check(fixture, SCOPE_THREAD, GROUP_CORE, &why));
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     0);
    return handle;
}

/* The probe's thread is in a container that is counted, too: both groups need the one counter of
 * ref_cycles, and the CPU's comes first in every burst, which is shorter than a turn. */
PERF_TEST(test_thread_beside_its_own_container)
{
    struct perf_reading out;
    uint64_t own;
    perf_fixture_start(fixture);
    uint64_t container = perf_fixture_open(fixture, "exporter", GROUP_CORE, &own);
    uint64_t thread = open_thread(fixture);
    for (int tick = 0; tick < 20; tick++) {
        perf_fixture_begin(fixture);
        fake_pmu_run(&fixture->pmu, own, PROBE_TID, 0, MS);
        fake_pmu_run(&fixture->pmu, own, 0, 0, 20 * MS);
        perf_fixture_assert_core(perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out), FULL,
                                 (uint64_t)(tick + 1) * MS, (uint64_t)(tick + 1) * MS);
    }
    /* The container's own group waits meanwhile, and only then. */
    const struct reading_row *row = perf_fixture_row(fixture, container, GROUP_CORE, 0, &out);
    assert_int_equal(row->enabled_ns, 20 * 21 * MS);
    assert_int_equal(row->running_ns, 20 * 20 * MS);
}

/* A thread's group that does not fit fails at once: it steps down by itself, while those of the
 * containers do, or do not. */
PERF_TEST(test_thread_without_room_steps_down)
{
    struct perf_reading out;
    perf_fixture_start(fixture);
    uint64_t thread = open_thread(fixture);
    fake_pmu_run(&fixture->pmu, 0, PROBE_TID, 0, MS);
    perf_fixture_assert_core(perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out), FULL, MS, MS);

    fixture->pmu.watchdog = true;
    fake_pmu_run(&fixture->pmu, 0, PROBE_TID, 0, MS);
    const struct reading_row *row = perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out);
    assert_true(row->enabled_ns > MS); /* so that the window is starved, not idle */
    assert_int_equal(row->running_ns, MS);
    perf_fixture_begin(fixture);
    fake_pmu_run(&fixture->pmu, 0, PROBE_TID, 0, MS);
    row = perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out);
    assert_int_equal(row->present, WITHOUT_SLOWDOWN);
    assert_int_equal(row->running_ns, 2 * MS);
    assert_int_equal(row->count[CYCLES], 2 * MS * perf_fixture_core_rate(CYCLES));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);

    /* On the last rung it tries again. */
    fixture->pmu.held = 3;
    for (int tick = 0; tick < 4; tick++) {
        fake_pmu_run(&fixture->pmu, 0, PROBE_TID, 0, MS);
        row = perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out);
        assert_int_equal(row->running_ns, 2 * MS);
        perf_fixture_begin(fixture);
    }
    fixture->pmu.held = 0;
    fixture->pmu.watchdog = false;
    fake_pmu_run(&fixture->pmu, 0, PROBE_TID, 0, MS);
    row = perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out);
    assert_int_equal(row->running_ns, 3 * MS);
    assert_int_equal(row->present, REQUIRED);

    struct tick later = {.mono_ns = 2 * PERF_CLIMB_NS};
    assert_int_equal(fixture->source->ops->begin(fixture->source, &later), 0);
    fake_pmu_run(&fixture->pmu, 0, PROBE_TID, 0, MS);
    row = perf_fixture_row(fixture, thread, GROUP_CORE, -1, &out);
    assert_int_equal(row->present, FULL);
    assert_int_equal(row->running_ns, 4 * MS);
}

/* Who counts a whole CPU while we start shares it by turns later. */
PERF_TEST(test_trial_beside_others)
{
    struct perf_kernel *kernel = &fixture->pmu.kernel;
    struct verdict why;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW, .size = sizeof attr, .config = 0x300, .disabled = 0};
    int other = kernel->event_open(kernel->context, &attr, -1, 0, -1, 0);
    assert_true(other >= 0);
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_string_equal(why.words, "");
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
    kernel->close(kernel->context, other);
}

static void begin_at(struct perf_fixture *fixture, uint64_t mono_ns)
{
    struct tick tick = {.mono_ns = mono_ns};
    assert_int_equal(fixture->source->ops->begin(fixture->source, &tick), 0);
}

PERF_TEST(test_climbs_again)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t inode, now = MS;
    fixture->pmu.watchdog = true;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    begin_at(fixture, now);
    begin_at(fixture, now += PERF_CLIMB_NS); /* it is still on */
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    fixture->pmu.watchdog = false;
    begin_at(fixture, now += PERF_CLIMB_NS - 1);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 100 * MS); /* not to be lost */
    begin_at(fixture, ++now);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
    assert_int_equal(perf_fixture_logged(fixture, "counts all its events again"), 1);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_OK);
    assert_string_equal(why.words, "");
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 100 * MS);
    const struct reading_row *row = perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out);
    assert_int_equal(row->running_ns, 200 * MS);
    assert_int_equal(row->count[READS], 200 * MS * perf_fixture_core_rate(READS));
    assert_int_equal(row->count[ACTIVE], 100 * MS * perf_fixture_core_rate(ACTIVE));

    /* What does not last is tried half as often. */
    fixture->pmu.watchdog = true;
    run_ticks(fixture, handle, inode, 6, 100 * MS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    fixture->pmu.watchdog = false;
    begin_at(fixture, ++now);
    begin_at(fixture, now += PERF_CLIMB_NS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), WITHOUT_SLOWDOWN);
    begin_at(fixture, now += PERF_CLIMB_NS);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);
}

/* ---- AMD: six general counters, nothing else ---- */

enum { FILLS_FULL = 0x7f, FILLS_NO_CPI = 0x7b, FILLS_COUNTS = 0x67 };

static void make_amd(struct perf_fixture *fixture, const struct event_table *table)
{
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/msr/type", "11\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/msr/events/tsc", "event=0x00\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/msr/format/event", "config:0-63\n");
    fixture->config.table = table;
    fixture->pmu.general = 6;
    fixture->pmu.no_fixed = true;
}

PERF_TEST(test_amd)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t inode;
    make_amd(fixture, &event_table_zen4);
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_FILLS, &why));
    assert_string_equal(why.words, "");
    assert_int_equal(perf_source_roles(fixture->source, GROUP_FILLS), FILLS_FULL);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_FILLS, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 50);
    const struct reading_row *row = perf_fixture_row(fixture, handle, GROUP_FILLS, 1, &out);
    assert_int_equal(row->present, FILLS_FULL);
    assert_int_equal(row->running_ns, 50);
    static const uint64_t configs[] = {0x76, 0, 0xc0, 0x5f, 0x144, 0x244, 0xdc44};
    for (size_t i = 0; i < 7; i++) {
        struct perf_event_attr attr = {.config = configs[i]};
        assert_int_equal(row->count[i], 50 * fake_pmu_rate(&attr));
    }
    /* Nothing of Intel's. */
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_UNSUPPORTED_CPU, "");
}

/* The NMI watchdog holds a general counter there. */
PERF_TEST(test_amd_watchdog)
{
    struct verdict why;
    make_amd(fixture, &event_table_zen3);
    fixture->pmu.held = 1;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_FILLS, &why));
    assert_int_equal(why.reason, REASON_OK);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_FILLS), FILLS_NO_CPI);
    assert_non_null(strstr(why.words, "without instructions: "));
    assert_non_null(strstr(why.words, "kernel.nmi_watchdog=0"));
}

/* A hypervisor that gives four counters. */
PERF_TEST(test_amd_four)
{
    struct verdict why;
    make_amd(fixture, &event_table_zen5);
    fixture->pmu.general = 4;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_FILLS, &why));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_FILLS), FILLS_COUNTS);
    assert_non_null(strstr(why.words, "too few counters"));
    assert_non_null(strstr(why.words, "so there is no latency"));
}

/* The TSC counts in the kernel as well, so the group of our own thread does. */
PERF_TEST(test_amd_thread_counts_the_kernel)
{
    struct scope self = {.kind = SCOPE_THREAD, .key = "p0", .cgroup_fd = -1, .tid = 77};
    struct verdict why;
    uint64_t handle;
    make_amd(fixture, &event_table_zen4);
    perf_fixture_start(fixture);
    assert_int_equal(fixture->source->ops->open(fixture->source, &self, GROUP_FILLS, &handle, &why),
                     0);
    for (int i = 0; i < FAKE_PMU_EVENTS; i++)
        assert_false(fixture->pmu.events[i].used && fixture->pmu.events[i].attr.exclude_kernel);
    fixture->source->ops->close(fixture->source, handle);
}

/* The kernel's generic events: cycles and instructions of any CPU. */
PERF_TEST(test_generic)
{
    fixture->config.table = &event_table_generic;
    perf_fixture_start(fixture);
    perf_fixture_allows(fixture, SCOPE_CGROUP, GROUP_CPI, REASON_OK, "");
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CPI), 7);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_UNSUPPORTED_CPU,
                         "Zen 3 to Zen 6");
}
