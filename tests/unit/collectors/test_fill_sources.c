/*
 * fill_sources: counts by source per container, on CPUs with and without CXL; what counts nothing;
 * containers that come, are renamed and end.
 */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

static const char reads[] = "interference_container_memory_reads_by_source";
static const char *const labels[] = {"source=\"near_dram\"", "source=\"far_dram\"",
                                     "source=\"other_ccx\"", "source=\"cxl\""};

static int setup(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &fill_sources_collector);
    rig_start(rig);
    *state = rig;
    return 0;
}

/* A second of the container: 'n' times 100, 20, 3 and 1 lines. */
static void work(struct rig *rig, const char *key, uint64_t n)
{
    static const uint64_t lines[] = {100, 20, 3, 1};
    struct fake_group *group = fake_group(&rig->fake, key, GROUP_SOURCES);
    fake_group_run(group, 0, 1000000000);
    for (int s = 0; s < 4; s++)
        fake_group_add(group, 0, group_descs[GROUP_SOURCES].roles[s], n * lines[s]);
}

static double value(struct rig *rig, const char *name, int source)
{
    char container[64];
    snprintf(container, sizeof container, "container=\"%s\"", name);
    return rig_value_of(rig, reads, container, labels[source]);
}

RIG_TEST(each_source_of_each_container, setup)
{
    rig_container(rig, "a");
    rig_container(rig, "b");
    for (int i = 1; i <= 2; i++) {
        work(rig, "a", 10);
        work(rig, "b", 7);
        assert_int_equal(rig_tick(rig), 0);
        assert_true(value(rig, "a", 0) == 1000 * i && value(rig, "a", 1) == 200 * i);
        assert_true(value(rig, "a", 2) == 30 * i && value(rig, "a", 3) == 10 * i);
        assert_true(value(rig, "b", 0) == 700 * i);
    }
    assert_int_equal(rig_series(rig, "source="), 2 * 4);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* Half of the time: the rest is scaled for. */
RIG_TEST(turns_are_scaled_for, setup)
{
    rig_container(rig, "a");
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_SOURCES);
    fake_group_run(group, 0, 500000000);
    group->enabled_ns[0] += 500000000;
    fake_group_add(group, 0, ROLE_L1D_FILLS_NEAR_DRAM, 100);
    fake_group_add(group, 0, ROLE_L1D_FILLS_FAR_DRAM, 0);
    fake_group_add(group, 0, ROLE_L1D_FILLS_OTHER_CCX, 4);
    assert_int_equal(rig_tick(rig), 0);
    assert_true(value(rig, "a", 0) == 200 && value(rig, "a", 1) == 0 && value(rig, "a", 2) == 8);
    assert_true(rig->status.pmu_running_seconds == 0.5);
}

/* Some that count nothing at all are filtered; one that reads nothing from afar has a zero. */
RIG_TEST(what_counts_nothing_is_not_shown, setup)
{
    rig_container(rig, "a");
    work(rig, "a", 0);
    assert_int_equal(rig_tick(rig), 0);
    assert_true(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_int_equal(rig_series(rig, "source="), 0);
    rig_container(rig, "b");
    work(rig, "b", 1);
    work(rig, "a", 0);
    assert_int_equal(rig_tick(rig), 0);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(value(rig, "a", 0) == 0 && value(rig, "b", 0) == 100);
}

RIG_TEST(names_and_ends, setup)
{
    struct container *a = rig_unnamed(rig, "a");
    work(rig, "a", 1);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, "source="), 0);
    rig_name(rig, a);
    work(rig, "a", 1);
    rig_tick(rig);
    assert_true(value(rig, "a", 0) == 200);
    rig_rename(rig, a, "c");
    work(rig, "a", 1);
    rig_tick(rig);
    assert_true(isnan(value(rig, "a", 0)) && value(rig, "c", 0) == 300);
    work(rig, "a", 1); /* its last counts */
    rig_end(rig, a);
    rig_tick(rig);
    rig_tick(rig);
    assert_true(value(rig, "c", 0) == 400);
    rig_forget(rig, a);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, "source="), 0);
}
