/*
 * core_latency on Arm's cores: from loads in flight, and from stalls where that is all there is.
 */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

#define C(n) "interference_container_" n

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-9 * fabs(want);
}

/* A core that counts one of the groups; time is in nanoseconds. */
static struct rig *start_with(void **state, const struct collector_ops *ops, enum group group)
{
    const uint32_t all =
        1u << GROUP_CORE | 1u << GROUP_FILLS | 1u << GROUP_IN_FLIGHT | 1u << GROUP_MISSES;
    struct rig *rig = malloc(sizeof *rig);
    assert_non_null(rig);
    *state = rig;
    rig_init(rig, ops);
    rig->fake.lacks = all & ~(1u << group);
    rig->facts.machine.base_frequency_hz = 1e9;
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_cycles_final = false;
    rig->facts.l1d_hit_cycles = group == GROUP_IN_FLIGHT ? 4 : 0;
    rig->facts.l1d_hits_in_flight = group == GROUP_IN_FLIGHT;
    return rig;
}

static struct rig *start(void **state, enum group group)
{
    return start_with(state, &core_latency_collector, group);
}

static struct fake_group *run(struct rig *rig, enum group group, uint64_t hz)
{
    struct fake_group *g = fake_group(&rig->fake, "a", group);
    fake_window(g, 0, 1000000000u, {ROLE_CYCLES, hz}, {ROLE_REF_CYCLES, 1000000000u},
                {ROLE_INSTRUCTIONS, 500000000u});
    return g;
}

/* The worked number: 350 cycles; at 2.5 GHz 140 ns. */
TEST_WITH(loads_in_flight, NULL, rig_teardown)
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
TEST_WITH(stalls_have_their_own_names, NULL, rig_teardown)
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
    stall(rig, 70000000);
    assert_true(rig_value(rig, C("memory_stall_per_read_over_threshold_seconds"), "") ==
                before + 2);
    assert_true(isnan(rig_value(rig, C("memory_read_latency_baseline_seconds"), "")));
}

/* The probe's chase is not in the loads: stalls stand in, under their own names, and nothing of the
 * latency stays. Whoever else counts containers counts them by the same group. */
TEST_WITH(untrue_loads_fall_back, NULL, rig_teardown)
{
    struct rig *rig = start(state, GROUP_IN_FLIGHT);
    rig->fake.lacks &= ~(1u << GROUP_MISSES);
    rig->facts.machine.l2_fill_cycles = 11;
    rig->facts.machine.l3_fill_cycles = 60;
    facts_settle_fills(&rig->facts);
    rig_start(rig);
    struct container *container = rig_container(rig, "a");
    for (int i = 0; i < 3; i++) {
        struct fake_group *g = run(rig, GROUP_IN_FLIGHT, 2500000000u);
        fake_group_add(g, 0, ROLE_LOADS_IN_FLIGHT, 617500000);
        fake_group_add(g, 0, ROLE_LOAD_ACCESSES, 60000000);
        fake_group_add(g, 0, ROLE_L1D_LOAD_MISSES, 2000000);
        fake_group_add(g, 0, ROLE_LLC_READS, 1500000);
        fake_group_add(g, 0, ROLE_L3_MISS_READS, 1000000);
        rig->facts.in_flight_untrue = i == 2;
        rig_tick(rig);
    }
    assert_true(fake_group(&rig->fake, "a", GROUP_MISSES)->open);
    assert_false(fake_group(&rig->fake, "a", GROUP_IN_FLIGHT)->open);
    for (int i = 0; i < 700; i++)
        stall(rig, 50000000);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_true(near(rig_value(rig, C("memory_stall_per_read_seconds"), ""), 20e-9));
    assert_true(near(rig_value(rig, C("memory_stall_per_read_threshold_seconds"), ""), 25e-9));
    assert_true(isnan(rig_value(rig, C("memory_read_latency_seconds"), "")));
    assert_true(isnan(rig_value(rig, C("memory_read_latency_baseline_seconds"), "")));
    assert_true(isnan(rig_value(rig, C("loads_in_flight_cycles"), "")));
    assert_true(isnan(rig_value(rig, "interference_node_memory_read_wait_seconds", "")));
    assert_true(rig_value(rig, C("memory_reads"), "") == 703e6); /* on from where they were */
    rig_container(rig, "b");
    assert_true(fake_group(&rig->fake, "b", GROUP_MISSES)->open);
    rig_end(rig, container);
}

/* Neoverse V2: 1.5 million reads leave the core. Each stalls for 40 cycles of 2.5 GHz where nobody
 * else reads, and for 80 beside a hog, which are 6e7 more of 2.5e9 cycles. */
TEST_WITH(slowdown_from_stalls, NULL, rig_teardown)
{
    struct rig *rig = start_with(state, &slowdown_collector, GROUP_MISSES);
    rig->fake.lacks |= 1u << GROUP_ASM_EPOCHS;
    rig->facts.machine.numa_nodes = 1;
    rig->facts.probe_calm_seconds = 10e-9; /* is no stall */
    struct verdict why = {0};
    assert_true(slowdown_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_OK);
    rig_start(rig);
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 400; i++) {
        bool hog = i >= 300;
        struct fake_group *g = fake_group(&rig->fake, "hog", GROUP_MISSES);
        fake_window(g, 0, 1000000000u, {ROLE_CYCLES, 2500000000u}, {ROLE_REF_CYCLES, 1000000000u},
                    {ROLE_LLC_READS, hog ? 90000000 : 0}, {ROLE_L3_MISS_READS, hog ? 80000000 : 0},
                    {ROLE_MEMORY_STALLS, hog ? 900000000 : 0});
        stall(rig, hog ? 120000000 : 60000000);
        if (i == 250)
            assert_true(rig_value_of(rig, C("interference_cycles"), "container=\"a\"", "memory") ==
                        0);
    }
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(
        near(rig_value(rig, C("slowdown_ratio"), "container=\"a\""), 2.5e9 / (2.5e9 - 6e7)));
    double lost = rig_value_of(rig, C("interference_cycles"), "container=\"a\"", "memory");
    assert_true(near(lost, 100 * 6e7));
    assert_true(isnan(rig_value(rig, C("interference_cycles"), "resource=\"cache\"")));
}

TEST_WITH(slowdown_says_why_not, NULL, rig_teardown)
{
    struct rig *rig = start_with(state, &slowdown_collector, GROUP_IN_FLIGHT);
    struct verdict why = {0};
    rig->fake.lacks |= 1u << GROUP_ASM_EPOCHS;
    assert_false(slowdown_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "no event of this CPU counts"));
    rig->fake.lacks = 0;
    rig_start(rig);
}

/* Neoverse N1. */
TEST_WITH(misses_alone, NULL, rig_teardown)
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

/* ---- the probe ---- */

/* 5000 loads at 3.5 GHz, one at a time; the last level's misses as given. */
static void burst(struct rig *rig, enum group group, double in_flight, uint64_t misses)
{
    struct fake_group *g = fake_group(&rig->fake, "p0", group);
    fake_window(g, 0, 1000000, {ROLE_CYCLES, 3500000}, {ROLE_REF_CYCLES, 1000000},
                {ROLE_LLC_READS, misses}, {ROLE_L3_MISS_READS, misses});
    if (group == GROUP_IN_FLIGHT) {
        fake_group_add(g, 0, ROLE_LOADS_IN_FLIGHT, (uint64_t)(5000 * in_flight));
        fake_group_add(g, 0, ROLE_LOAD_ACCESSES, 5000);
        fake_group_add(g, 0, ROLE_L1D_LOAD_MISSES, 5000);
    }
    rig->fake.probes[rig->fake.n_probes++] = (struct probe_reading){.latency_ns = 400 / 3.5};
    rig_tick(rig);
}

static struct rig *probe(void **state, enum group group)
{
    static const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1};
    struct rig *rig = start_with(state, &probe_collector, group);
    assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    rig->facts.chase_must_miss = true;
    rig_start(rig);
    return rig;
}

TEST_WITH(the_probe_judges_loads, NULL, rig_teardown)
{
    static const struct {
        double in_flight;
        uint64_t misses;
        bool untrue, filtered;
    } cases[] = {
        {400, 5000, false, false}, {400, 5200, false, false}, /* the kernel's own */
        {400, 6000, true, false},                             /* prefetches */
        {300, 5000, true, false},  {0, 5000, true, false},    {400, 0, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig *rig = probe(state, GROUP_IN_FLIGHT);
        for (int k = 0; k < 3; k++) {
            assert_false(rig->facts.in_flight_untrue || rig->facts.l3_miss_reads_filtered);
            burst(rig, GROUP_IN_FLIGHT, cases[i].in_flight, cases[i].misses);
        }
        assert_int_equal(rig->facts.in_flight_untrue, cases[i].untrue);
        assert_int_equal(rig->facts.l3_miss_reads_filtered, cases[i].filtered);
        if (i + 1 < sizeof cases / sizeof *cases)
            rig_teardown(state);
    }
}

TEST_WITH(the_probe_judges_misses, NULL, rig_teardown)
{
    struct rig *rig = probe(state, GROUP_MISSES);
    for (int k = 0; k < 3; k++)
        burst(rig, GROUP_MISSES, 0, 5000);
    assert_false(rig->facts.l3_miss_reads_filtered);
    for (int k = 0; k < 3; k++)
        burst(rig, GROUP_MISSES, 0, 0);
    assert_true(rig->facts.l3_miss_reads_filtered);
}
