/* Events that do not run, and groups that then count with fewer, by BPF on the real kernel. */
#include "tests/unit/support/bpf_rig.h"
#include "tests/unit/support/unit.h"

enum { ALL = 7, WITHOUT_REF = 5, MOST_TICKS = 500 };

static struct bpf_rig *rig_of(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    if (rig->fake.elsewhere < 0)
        skip();
    return rig;
}

static void reopen(struct bpf_rig *rig)
{
    int err = 0;
    uint32_t roles = rig->ladder.groups[GROUP_CPI].roles;
    assert_int_equal(bpf_counter_reopen(rig->counter, roles, &err), 0);
}

/* Page faults within this, of which there may be some more. */
static void assert_faults(uint64_t count, unsigned times)
{
    assert_in_range(count, times * (uint64_t)BPF_RIG_FAULTS,
                    times * (uint64_t)BPF_RIG_FAULTS + BPF_RIG_FAULTS / 2);
}

/* A group runs whole or not at all: what it has counted then is not a value. */
static void test_a_group_that_does_not_run(void **state)
{
    struct bpf_rig *rig = rig_of(state);
    rig->fake.starved = true;
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    struct bpf_cell before = bpf_rig_read(rig, slot), after;
    bpf_rig_fault(rig);
    after = bpf_rig_read(rig, slot);
    for (int i = 0; i < BPF_RIG_ROLES; i++)
        assert_int_equal(after.count[i], 0);
    assert_true(after.enabled_ns > before.enabled_ns);
    assert_int_equal(after.running_ns, 0);

    rig->fake.starved = false;
    reopen(rig);
    before = bpf_rig_read(rig, slot);
    bpf_rig_fault(rig);
    after = bpf_rig_read(rig, slot);
    for (int i = 0; i < BPF_RIG_ROLES; i++)
        assert_faults(after.count[i] - before.count[i], 1);
    assert_true(after.running_ns > 0);
}

/* Down to the next rung when nothing has run for some ticks, and up again later; what a container
 * has counted stays. */
static void test_down_and_up(void **state)
{
    struct bpf_rig *rig = rig_of(state);
    struct perf_group *group = &rig->ladder.groups[GROUP_CPI];
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    bpf_rig_fault(rig);
    for (int i = 0; i < BPF_RIG_ROLES; i++)
        assert_faults(bpf_rig_read(rig, slot).count[i], 1);

    rig->fake.starved = true;
    reopen(rig);
    int ticks = 0;
    do {
        bpf_rig_fault(rig);
        bpf_rig_tick(rig);
        if (rig->counter->retry) { /* others had the CPU all the time: no clock went on */
            int err = 0;
            bpf_counter_sync(rig->counter, &err);
        }
    } while (!perf_ladder_tick(&rig->ladder, GROUP_CPI) && ++ticks < MOST_TICKS);
    assert_int_equal(group->roles, WITHOUT_REF);
    assert_faults(bpf_rig_read(rig, slot).count[0], 1);

    rig->fake.starved = false;
    reopen(rig);
    assert_int_equal(rig->counter->roles, WITHOUT_REF);
    bpf_rig_fault(rig);
    struct bpf_cell cell = bpf_rig_read(rig, slot);
    assert_faults(cell.count[0], 2);
    assert_faults(cell.count[1], 1);
    assert_faults(cell.count[2], 2);

    assert_false(perf_ladder_climb(&rig->ladder, GROUP_CPI, 1));
    assert_true(perf_ladder_climb(&rig->ladder, GROUP_CPI, 1 + PERF_CLIMB_NS));
    assert_int_equal(group->roles, ALL);
    reopen(rig);
    bpf_rig_fault(rig);
    cell = bpf_rig_read(rig, slot);
    assert_faults(cell.count[0], 3);
    assert_faults(cell.count[1], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_group_that_does_not_run, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_down_and_up, bpf_rig_setup, bpf_rig_teardown),
    };
    return cmocka_run_group_tests(tests, bpf_rig_setup_all, bpf_rig_teardown_all);
}
