/* Whose clocks tell for how long containers run, on any CPU with a PMU: those of what is counted
 * there. */
#include <errno.h>

#include "tests/unit/support/interference_rig.h"
#include "tests/unit/support/unit.h"

static const char *const pmu_names[] = {"intel", "amd", "other"};
static const enum group pmu_groups[] = {GROUP_CORE, GROUP_FILLS, GROUP_CPI};
enum { PMUS = sizeof pmu_groups / sizeof *pmu_groups };

/* A container for each PMU's group, which is active only there; a minute. */
static void run_by_pmus(struct rig *rig)
{
    for (size_t k = 0; k < PMUS; k++) {
        interference_clocks(rig, pmu_names[k]);
        fake_group(&rig->fake, pmu_names[k], pmu_groups[k])->no_reading = false;
        fake_group(&rig->fake, pmu_names[k], pmu_groups[k])->cpus = INTERFERENCE_RIG_CPUS;
        fake_group(&rig->fake, pmu_names[k], GROUP_ACTIVITY)->read_error = -EIO;
        rig_container(rig, pmu_names[k]);
    }
    for (int i = 0; i < 60; i++) {
        for (size_t k = 0; k < PMUS; k++)
            fake_group_run(
                fake_group(&rig->fake, pmu_names[k], pmu_groups[k]), 1,
                (uint64_t)(interference_square((uint64_t)i, 5 + (unsigned)k, 6, 0) * 1e9));
        interference_tick(rig, 100 * interference_noise(0.015));
    }
}

/* Nothing is opened beside the first group that is counted, of any container. */
static void only_the_clocks_of(struct rig *rig, size_t counted)
{
    rig->live = true;
    run_by_pmus(rig);
    for (size_t name = 0; name < PMUS; name++)
        for (size_t k = 0; k < PMUS; k++)
            assert_true(fake_group(&rig->fake, pmu_names[name], pmu_groups[k])->open ==
                        (k == counted));
    assert_true(rig_value(rig, CANDIDATES, "") == 1);
}

TEST_WITH(the_clocks_of_the_core_group_do, interference_setup, rig_teardown)
{
    only_the_clocks_of(*state, 0);
}

static int setup_without_core(void **state)
{
    return interference_setup_with(state, NULL, 1u << GROUP_CORE);
}

TEST_WITH(the_clocks_of_the_fills_do, setup_without_core, rig_teardown)
{
    only_the_clocks_of(*state, 1);
}

static int setup_without_fills(void **state)
{
    return interference_setup_with(state, NULL,
                                   1u << GROUP_CORE | 1u << GROUP_FILLS | 1u << GROUP_IN_FLIGHT |
                                       1u << GROUP_MISSES);
}

TEST_WITH(the_clocks_of_any_cpu_do, setup_without_fills, rig_teardown)
{
    only_the_clocks_of(*state, 2);
}

/* A check may load a program into the kernel, which none is to read. */
RIG_TEST(the_basic_group_is_asked_for_where_it_is_needed, interference_setup)
{
    assert_int_equal(rig->fake.ledger.checks >> GROUP_CORE & 1, 1);
    assert_int_equal(rig->fake.ledger.checks >> GROUP_CPI & 1, 0);
}

RIG_TEST(it_is_where_no_other_is_counted, setup_without_fills)
{
    assert_int_equal(rig->fake.ledger.checks >> GROUP_CPI & 1, 1);
}

/* Which of them were counted shows only as it plays. */
RIG_TEST(of_a_recording_all_clocks_do, interference_setup)
{
    run_by_pmus(rig);
    assert_true(rig_value(rig, CANDIDATES, "") == 3);
}
