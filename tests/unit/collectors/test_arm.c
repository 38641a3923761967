/*
 * core_latency on Arm's cores: from loads in flight, and from stalls where that is all there is.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"

#define C(n) "interference_container_" n

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-9 * fabs(want);
}

/* A core that counts one of the groups; time is in nanoseconds. */
static struct rig *start(void **state, enum group group)
{
    const uint32_t all =
        1u << GROUP_CORE | 1u << GROUP_FILLS | 1u << GROUP_IN_FLIGHT | 1u << GROUP_MISSES;
    struct rig *rig = malloc(sizeof *rig);
    assert_non_null(rig);
    *state = rig;
    rig_init(rig, &core_latency_collector);
    rig->fake.lacks = all & ~(1u << group);
    rig->facts.machine.base_frequency_hz = 1e9;
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_cycles_final = false;
    rig->facts.l1d_hit_cycles = group == GROUP_IN_FLIGHT ? 4 : 0;
    rig->facts.l1d_hits_in_flight = group == GROUP_IN_FLIGHT;
    return rig;
}

static struct fake_group *run(struct rig *rig, enum group group, uint64_t hz)
{
    struct fake_group *g = fake_group(&rig->fake, "a", group);
    fake_group_run(g, 0, 1000000000u);
    fake_group_add(g, 0, ROLE_CYCLES, hz);
    fake_group_add(g, 0, ROLE_REF_CYCLES, 1000000000u);
    fake_group_add(g, 0, ROLE_INSTRUCTIONS, 500000000u);
    return g;
}

/* The worked number: 350 cycles; at 2.5 GHz 140 ns. */
static void loads_in_flight(void **state)
{
    struct rig *rig = start(state, GROUP_IN_FLIGHT);
    rig->facts.machine.l2_fill_cycles = 11;
    rig->facts.machine.l3_fill_cycles = 60;
    facts_settle_fills(&rig->facts);
    assert_true(rig->facts.machine.cache_cycles == 60); /* which has the hit in the L1 */
    rig_start(rig);
    rig_container(rig, "a");
    struct fake_group *g = run(rig, GROUP_IN_FLIGHT, 2500000000u);
    fake_group_add(g, 0, ROLE_LOADS_IN_FLIGHT, 617500000);
    fake_group_add(g, 0, ROLE_LOAD_ACCESSES, 60000000);
    fake_group_add(g, 0, ROLE_L1D_LOAD_MISSES, 2000000);
    fake_group_add(g, 0, ROLE_LLC_READS, 1500000);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 1000000);
    assert_int_equal(rig_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(near(rig_value(rig, C("memory_read_latency_seconds"), ""), 140e-9));
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_true(rig_value(rig, C("llc_reads"), "") == 1.5e6);
    assert_true(rig_value(rig, C("loads_in_flight_cycles"), "") == 6.175e8);
    assert_true(isnan(rig_value(rig, C("memory_stall_per_read_seconds"), "")));

    /* Prefetches among the misses: that cannot be. */
    g = run(rig, GROUP_IN_FLIGHT, 2500000000u);
    fake_group_add(g, 0, ROLE_LOADS_IN_FLIGHT, 617500000);
    fake_group_add(g, 0, ROLE_LOAD_ACCESSES, 60000000);
    fake_group_add(g, 0, ROLE_L1D_LOAD_MISSES, 2000000);
    fake_group_add(g, 0, ROLE_LLC_READS, 2500000);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 1000000);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, C("memory_read_latency_seconds"), "")));
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 1);
}

static void stall(struct rig *rig, uint64_t cycles)
{
    struct fake_group *g = run(rig, GROUP_MISSES, 2500000000u);
    fake_group_add(g, 0, ROLE_LLC_READS, 1500000);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 1000000);
    fake_group_add(g, 0, ROLE_MEMORY_STALLS, cycles);
    assert_int_equal(rig_tick(rig), 0);
}

/* 50 cycles a read at 2.5 GHz are 20 ns: no latency, and by no name of one. */
static void stalls_have_their_own_names(void **state)
{
    struct rig *rig = start(state, GROUP_MISSES);
    rig_start(rig);
    rig_container(rig, "a");
    stall(rig, 50000000);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_non_null(strstr(rig->status.verdict.words, "no latency"));
    assert_true(near(rig_value(rig, C("memory_stall_per_read_seconds"), ""), 20e-9));
    assert_true(near(rig_value(rig, C("memory_stall_seconds"), ""), 0.02));
    assert_true(rig_value(rig, C("memory_stall_reads"), "") == 1e6);
    assert_true(rig_value(rig, C("memory_stall_cycles"), "") == 5e7);
    assert_true(rig_value(rig, C("memory_stall_per_read_observed_seconds"), "") > 0);
    assert_true(isnan(rig_value(rig, C("memory_read_latency_seconds"), "")));
    assert_true(isnan(rig_value(rig, C("memory_read_wait_seconds"), "")));
    assert_true(isnan(rig_value(rig, "interference_node_memory_read_wait_seconds", "")));

    /* A normal of its own, and time above it. */
    for (int i = 0; i < 700; i++)
        stall(rig, 50000000);
    assert_true(near(rig_value(rig, C("memory_stall_per_read_baseline_seconds"), ""), 20e-9));
    assert_true(near(rig_value(rig, C("memory_stall_per_read_threshold_seconds"), ""), 25e-9));
    double before = rig_value(rig, C("memory_stall_per_read_over_threshold_seconds"), "");
    stall(rig, 60000000);
    assert_true(rig_value(rig, C("memory_stall_per_read_over_threshold_seconds"), "") == before);
    stall(rig, 70000000);
    assert_true(rig_value(rig, C("memory_stall_per_read_over_threshold_seconds"), "") > before);
    assert_true(isnan(rig_value(rig, C("memory_read_latency_baseline_seconds"), "")));
}

/* Neoverse N1. */
static void misses_alone(void **state)
{
    struct rig *rig = start(state, GROUP_MISSES);
    rig->facts.no_stalls = true;
    rig_start(rig);
    rig_container(rig, "a");
    struct fake_group *g = run(rig, GROUP_MISSES, 2500000000u);
    g->present &= ~(1u << group_index(GROUP_MISSES, ROLE_MEMORY_STALLS));
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 1000000);
    rig_tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_true(isnan(rig_value(rig, C("memory_stall_per_read_seconds"), "")));
    assert_true(isnan(rig_value(rig, C("memory_stall_cycles"), "")));
    assert_true(rig_value(rig, "interference_exporter_containers_without_baseline",
                          "reason=\"no_latency\"") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(loads_in_flight, rig_teardown),
        cmocka_unit_test_teardown(stalls_have_their_own_names, rig_teardown),
        cmocka_unit_test_teardown(misses_alone, rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
