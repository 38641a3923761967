/*
 * CPUs that go and come: a row keeps its place, its totals never fall, nothing counted is lost.
 */
#include <unistd.h>

#include "tests/unit/support/perf_fixture.h"
#include "tests/unit/support/unit.h"

static void set_online(struct perf_fixture *fixture, const char *list)
{
    fixture_write(&fixture->tree, "sys/devices/system/cpu/online", "%s\n", list);
}

static void assert_total(const struct reading_row *row, uint64_t ns)
{
    perf_fixture_assert_core(row, FULL, ns, ns);
}

PERF_TEST(test_away_and_back)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 100);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 100);

    /* Counts between the last read and the end of the CPU are kept as well. */
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 11);
    fake_pmu_set_online(&fixture->pmu, 1, false);
    set_online(fixture, "0");
    perf_fixture_begin(fixture);
    assert_int_equal(fixture->pmu.open, CORE_ROLES);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 111);
    assert_int_equal(out.reading.n, 2);

    fake_pmu_run(&fixture->pmu, inode, 0, 0, 5);
    perf_fixture_begin(fixture);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 111);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out), 5);

    fake_pmu_set_online(&fixture->pmu, 1, true);
    set_online(fixture, "0-1");
    perf_fixture_begin(fixture);
    assert_int_equal(fixture->pmu.open, 2 * CORE_ROLES);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 111);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 9);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 120);

    /* And a second time, since the base is now in use. */
    fake_pmu_set_online(&fixture->pmu, 1, false);
    set_online(fixture, "0");
    perf_fixture_begin(fixture);
    fake_pmu_set_online(&fixture->pmu, 1, true);
    set_online(fixture, "0-1");
    perf_fixture_begin(fixture);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 30);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 150);
    assert_int_equal(perf_fixture_logged(fixture, "level=warn"), 0);
}

PERF_TEST(test_new_cpu)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 3);
    fake_pmu_set_online(&fixture->pmu, 2, true);
    fake_pmu_set_online(&fixture->pmu, 5, true);
    set_online(fixture, "0-2,5");
    perf_fixture_begin(fixture);
    assert_int_equal(fixture->source->ops->width(fixture->source, handle), 4);
    assert_int_equal(fixture->pmu.open, 4 * CORE_ROLES);
    out.reading =
        (struct reading){.stride_bytes = reading_stride(GROUP_CORE), .rows = out.space, .cap = 2};
    assert_int_equal(fixture->source->ops->read(fixture->source, handle, &out.reading), -ENOSPC);
    fake_pmu_run(&fixture->pmu, inode, 0, 5, 8);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 5, &out), 8);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out), 3);
    /* Rows keep their index. */
    assert_int_equal(reading_row(&out.reading, 0)->cpu, 0);
    assert_int_equal(reading_row(&out.reading, 3)->cpu, 5);
}

/* Off and on again between two ticks: the list looks the same, the groups are in pieces. */
PERF_TEST(test_unnoticed_absence)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 40);
    fake_pmu_set_online(&fixture->pmu, 1, false);
    fake_pmu_set_online(&fixture->pmu, 1, true);
    perf_fixture_begin(fixture);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 40);
    perf_fixture_begin(fixture);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 2);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 42);
    assert_int_equal(fixture->pmu.open, 2 * CORE_ROLES);
}

/* A CPU that goes away while a container's groups are opened. */
PERF_TEST(test_gone_while_opening)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    fake_pmu_set_online(&fixture->pmu, 1, false);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    assert_int_equal(fixture->pmu.open, CORE_ROLES);
    assert_int_equal(perf_fixture_read(fixture, handle, GROUP_CORE, &out), 0);
    assert_int_equal(out.reading.n, 2);
    assert_int_equal(reading_row(&out.reading, 1)->present, 0); /* no reading yet */
    fake_pmu_set_online(&fixture->pmu, 1, true);
    perf_fixture_begin(fixture);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 6);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 6);
}

PERF_TEST(test_no_descriptors_for_a_new_cpu)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t one = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    perf_fixture_open(fixture, "b", GROUP_CORE, &inode);
    fake_pmu_set_online(&fixture->pmu, 2, true);
    set_online(fixture, "0-2");
    fixture->pmu.fail_open = 4;
    perf_fixture_begin(fixture);
    assert_int_equal(fixture->pmu.open, 4 * CORE_ROLES + CORE_ROLES); /* b's new row, not a's */
    assert_int_equal(perf_fixture_logged(fixture, "1 groups do not count everywhere"), 1);
    assert_int_equal(perf_fixture_logged(fixture, "LimitNOFILE"), 1);
    assert_int_equal(perf_fixture_read(fixture, one, GROUP_CORE, &out), 0);
    assert_int_equal(out.reading.n, 3);
    assert_int_equal(reading_row(&out.reading, 2)->present, 0);
}

/* One CPU's events cannot be read: its totals stand still, the others go on. */
PERF_TEST(test_read_error)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 10);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 20);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 20);
    fixture->pmu.fail_read_cpu = 1;
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 10);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 20);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 20);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out), 20);
    fixture->pmu.fail_read_cpu = -1;
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 40);

    fake_pmu_set_online(&fixture->pmu, 0, false);
    set_online(fixture, "1");
    perf_fixture_begin(fixture);
    fixture->pmu.fail_read_cpu = 1;
    assert_int_equal(perf_fixture_read(fixture, handle, GROUP_CORE, &out), -EIO);
}

/* An ended container's groups are not opened again, without a word about it. */
PERF_TEST(test_ended_container)
{
    struct perf_reading out;
    uint64_t inode;
    char path[256];
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 50);
    snprintf(path, sizeof path, "%s/host/cgroup/a/cgroup.procs", fixture->tree.root);
    assert_int_equal(unlink(path), 0);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 50);
    fake_pmu_set_online(&fixture->pmu, 1, false);
    set_online(fixture, "0");
    perf_fixture_begin(fixture);
    fake_pmu_set_online(&fixture->pmu, 1, true);
    fixture->pmu.cgroup_error = -ENOENT;
    set_online(fixture, "0-1");
    perf_fixture_begin(fixture);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 50);
    assert_int_equal(perf_fixture_logged(fixture, "level=warn"), 0);
}

/* A list that cannot be understood is reported, and what is open stays open. */
PERF_TEST(test_broken_list)
{
    struct perf_reading out;
    struct tick tick = {.number = 1};
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    set_online(fixture, "0-");
    assert_int_equal(fixture->source->ops->begin(fixture->source, &tick), -EINVAL);
    fake_pmu_run(&fixture->pmu, inode, 0, 1, 4);
    assert_total(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), 4);
    set_online(fixture, "0-1");
    assert_int_equal(fixture->source->ops->begin(fixture->source, &tick), 0);
}
