/*
 * AMD's way to a memory latency: the formula with its worked numbers, what core_latency makes of
 * the group of fills, what the probe learns and judges, and CPUs that only count cycles.
 */
#include "collectors/formulas/fill_latency.h"
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

#define C(n) "interference_container_" n
#define N(n) "interference_node_" n
#define LATENCY C("memory_read_latency_seconds")
#define ERROR "interference_core_latency_error_ratio"

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-9 * fabs(want);
}

/* ---- the formula ---- */

static const struct fill_times worked_times = {10, 46, 0};
static const struct fills worked = {4.39e8, 2e6, 5e5, 1e6, 0};

/* t_mem, as fill_latency.h has it. */
static int fills_memory_cycles(const struct fills *fills, struct fill_times times, double *out)
{
    double beyond;
    int err = fills_beyond(fills, times, &beyond);
    if (!err)
        *out = beyond / fills->memory + times.l3;
    return err;
}

TEST(the_worked_number)
{
    double out;
    assert_int_equal(fills_memory_cycles(&worked, worked_times, &out), 0);
    assert_true(near(out, 396));
    assert_int_equal(fills_beyond(&worked, worked_times, &out), 0);
    assert_true(near(out, 3.5e8));
}

TEST(what_cannot_be_told_is_not_told)
{
    static const struct {
        struct fills fills;
        struct fill_times times;
        int err;
    } bad[] = {
        {{3e7, 2e6, 5e5, 1e6, 0}, {10, 46, 0}, -ERANGE},    /* less than the caches alone */
        {{4.3e7, 2e6, 5e5, 1e6, 0}, {10, 46, 0}, -ERANGE},  /* t_mem 0 */
        {{8.9e7, 2e6, 5e5, 1e6, 0}, {10, 46, 0}, -ERANGE},  /* t_mem 46: no slower than the L3 */
        {{5e6, 0, 0, 1e6, 0}, {10, 46, 0}, -ERANGE},        /* counted in fours: next to nothing */
        {{4.39e8, 2e6, 5e5, 0, 0}, {10, 46, 0}, -ENODATA},  /* nothing came from memory */
        {{4.39e8, 2e6, 5e5, 1e6, 0}, {0, 46, 0}, -ENODATA}, /* times not known */
        {{4.39e8, 2e6, 5e5, 1e6, 0}, {10, 0, 0}, -ENODATA},
        {{4.39e8, 2e6, 5e5, 1e6, 0}, {NAN, 46, 0}, -ENODATA},
        {{4.39e8, 3.5e7, 0, 1e5, 0}, {10, 46, 0}, -ENODATA},  /* 80 % of it is hits in the L2 */
        {{4.39e8, 2.25e7, 0, 1e5, 0}, {10, 46, 0}, -ENODATA}, /* 51 % */
        {{4.39e8, 4.5e7, 0, 1e5, 0}, {10, 46, 0}, -ENODATA},  /* 103 %: t2 a little too long */
        {{4.39e8, 8.8e7, 0, 1e5, 0}, {10, 46, 0}, -ERANGE},   /* twice of it: no error of t2 */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double out = 7;
        assert_int_equal(fills_memory_cycles(&bad[i].fills, bad[i].times, &out), bad[i].err);
        assert_int_equal(fills_beyond(&bad[i].fills, bad[i].times, &out), bad[i].err);
        assert_true(out == 7);
    }
    double out;
    const struct fills just = {89000047, 2e6, 5e5, 1e6, 0};
    assert_int_equal(fills_beyond(&just, worked_times, &out), 0);
    assert_true(near(out, 47));
}

/* Arm's: A has the hits in the L1, too. */
TEST(the_worked_number_of_loads)
{
    static const struct fill_times times = {11, 60, 4};
    struct fills fills = {.memory = -1};
    double out = 7;
    assert_int_equal(fills_of_loads(6.175e8, 6e7, 2e6, 1.5e6, 1e6, &fills), 0);
    assert_true(fills.l1 == 5.8e7 && fills.l2 == 5e5 && fills.l3 == 5e5 && fills.memory == 1e6);
    assert_int_equal(fills_memory_cycles(&fills, times, &out), 0);
    assert_true(near(out, 350));
    /* With more hits they are 55 % of it. */
    assert_int_equal(fills_of_loads(7.775e8, 1e8, 2e6, 1.5e6, 1e6, &fills), 0);
    out = 7;
    assert_int_equal(fills_memory_cycles(&fills, times, &out), -ENODATA);
    assert_true(out == 7);
    /* A few more than came, as counters are read one after the other; prefetches are too many. */
    assert_int_equal(fills_of_loads(3.6e8, 1e6, 1.01e6, 1.02e6, 1.03e6, &fills), 0);
    assert_true(fills.l1 == 0 && fills.l2 == 0 && fills.l3 == 0 && fills.memory == 1.03e6);
    assert_int_equal(fills_memory_cycles(&fills, times, &out), 0);
    assert_int_equal(fills_of_loads(3.6e8, 1e6, 1.1e6, 1e6, 1e6, &fills), -ERANGE);
    assert_int_equal(fills_of_loads(3.6e8, 1e6, 1e6, 1.1e6, 1e6, &fills), -ERANGE);
    assert_int_equal(fills_of_loads(3.6e8, 1e6, 1e6, 1e6, 1.1e6, &fills), -ERANGE);
    assert_true(fills.memory == 1.03e6);
}

TEST(the_self_test)
{
    double out;
    const struct fills fills = {2.4e6, 0, 0, 5000, 0}, none = {2.4e6, 0, 0, 0, 0};
    assert_int_equal(fills_self_test(&fills, 250e-9, 2e9, &out), 0);
    assert_true(near(out, 0.96));
    assert_int_equal(fills_self_test(&none, 250e-9, 2e9, &out), -ENODATA);
    assert_int_equal(fills_self_test(&fills, 250e-9, 0, &out), -ENODATA);
}

/* ---- core_latency ---- */

/* A Zen at a base of 2.5 GHz, t1 4, t2 10, t3 46. */
static void make_zen(struct rig *rig)
{
    rig->fake.lacks = 1u << GROUP_CORE | 1u << GROUP_IN_FLIGHT | 1u << GROUP_MISSES;
    rig->facts.machine.base_frequency_hz = 2.5e9;
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_cycles_final = false;
    rig->facts.l1d_hit_cycles = 4;
}

static void know_times(struct rig *rig)
{
    rig->facts.machine.l2_fill_cycles = 10;
    rig->facts.machine.l3_fill_cycles = 46;
    facts_settle_fills(&rig->facts);
}

static struct rig *start(void **state, const struct collector_ops *ops)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, ops);
    make_zen(rig);
    *state = rig;
    return rig;
}

static int setup(void **state)
{
    struct rig *rig = start(state, &core_latency_collector);
    know_times(rig);
    rig_start(rig);
    return 0;
}

/* A second on a CPU at this frequency; the worked number's fills, t_mem cycles each. */
static void work(struct rig *rig, const char *key, int cpu, uint64_t hz, uint64_t t_mem)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_FILLS);
    fake_window(g, cpu, 1000000000u, {ROLE_CYCLES, hz}, {ROLE_REF_CYCLES, 2500000000u},
                {ROLE_INSTRUCTIONS, 1000000000u}, {ROLE_L1D_FILLS_L2, 2000000},
                {ROLE_L1D_FILLS_L3, 500000}, {ROLE_L1D_FILLS_MEMORY, 1000000},
                {ROLE_L1D_MISS_OCCUPANCY, 20000000 + 23000000 + 1000000 * t_mem});
}

/* 400 cycles at 2.5 GHz are 160 ns; the same names as on Intel's. */
RIG_TEST(the_names_are_those_of_intels, setup)
{
    rig_container(rig, "a");
    work(rig, "a", 0, 2500000000u, 396);
    assert_int_equal(rig_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(near(rig_value(rig, LATENCY, "container=\"a\""), 160e-9));
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_true(rig_value(rig, C("llc_reads"), "") == 1.5e6);
    assert_true(rig_value(rig, C("memory_read_occupancy_cycles"), "") == 3.5e8);
    assert_true(rig_value(rig, C("l1d_misses_in_flight_cycles"), "") == 4.39e8);
    assert_true(rig_value(rig, C("l1d_fills_from_l2"), "") == 2e6);
    assert_true(near(rig_value(rig, C("memory_read_wait_seconds"), ""), 0.16));
    assert_true(rig_value(rig, "interference_core_cache_lookup_cycles", "") == 50);
    /* From these, anyone has the latency: (c_cache + occupancy / reads) / f. */
    assert_true(near((50 + 3.5e8 / 1e6) / 2.5e9, 160e-9));
    assert_true(isnan(rig_value(rig, C("memory_read_active_cycles"), "")));
    assert_true(rig_value(rig, N("memory_reads"), "") == 1e6);
    assert_true(rig_value(rig, N("memory_read_occupancy_cycles"), "") == 3.5e8);
}

/* 400 cycles at 4 GHz and 200 at 2 GHz are 100 ns each; by the mean frequency it would be 97. */
RIG_TEST(each_cpu_by_its_own_frequency, setup)
{
    rig_container(rig, "a");
    work(rig, "a", 0, 4000000000u, 396);
    work(rig, "a", 1, 2000000000u, 196);
    rig_tick(rig);
    assert_true(near(rig_value(rig, LATENCY, ""), 100e-9));
    assert_true(near(rig_value(rig, C("memory_read_wait_seconds"), ""), 0.2));
}

RIG_TEST(a_negative_remainder_is_implausible, setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_FILLS);
    work(rig, "a", 0, 2500000000u, 396);
    g->count[0][group_index(GROUP_FILLS, ROLE_L1D_MISS_OCCUPANCY)] = 30000000;
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, LATENCY, "")));
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 1);
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_true(rig_value(rig, C("l1d_misses_in_flight_cycles"), "") == 3e7);
    assert_true(rig_value(rig, C("memory_read_occupancy_cycles"), "") == 0); /* holds */
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    assert_true(near(rig_value(rig, LATENCY, ""), 160e-9));
    assert_true(rig_value(rig, C("memory_read_occupancy_cycles"), "") == 3.5e8);
}

/* A container that lives in its L2: no latency from that window, and nothing wrong with it. */
RIG_TEST(hits_drown_the_memory, setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_FILLS);
    work(rig, "a", 0, 2500000000u, 396);
    fake_group_add(g, 0, ROLE_L1D_FILLS_L2, 200000000);
    fake_group_add(g, 0, ROLE_L1D_MISS_OCCUPANCY, 2000000000);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, LATENCY, "")));
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 0);
}

TEST_WITH(without_times_there_are_counts, NULL, rig_teardown)
{
    struct rig *rig = start(state, &core_latency_collector);
    verdict_clear(&rig->facts.probe);
    rig_start(rig);
    rig_container(rig, "a");
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, LATENCY, "")));
    assert_true(isnan(rig_value(rig, C("memory_read_occupancy_cycles"), "")));
    assert_true(isnan(rig_value(rig, N("memory_read_occupancy_cycles"), "")));
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_non_null(strstr(rig->status.verdict.words, "no latency yet"));
    rig->facts.calibrating_ns = UINT64_C(600) * 1000000000;
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_NOT_CALIBRATED);
    assert_non_null(strstr(rig->status.verdict.words, "hits in the L2 and the L3"));
    know_times(rig);
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(near(rig_value(rig, LATENCY, ""), 160e-9));
    assert_true(rig_value(rig, C("memory_reads"), "") == 3e6);
    assert_true(rig_value(rig, C("memory_read_latency_reads"), "") == 1e6);
}

/* Four counters: cycles, instructions, reads; no latency, with the reason; with six again it goes
 * on. */
RIG_TEST(with_four_counters_there_are_counts, setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_FILLS);
    uint32_t all = g->present;
    g->present = group_descs[GROUP_FILLS].fallback[1];
    verdict_set(&rig->fake.check, REASON_OK, "group fills counts without l1d_miss_occupancy");
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, LATENCY, "")));
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_true(rig_value(rig, C("llc_reads"), "") == 1.5e6);
    assert_true(rig_value(rig, C("cpu_instructions"), "") == 1e9);
    assert_true(isnan(rig_value(rig, C("l1d_misses_in_flight_cycles"), "")));
    assert_true(isnan(rig_value(rig, C("l1d_fills_from_l2"), "")));
    assert_true(isnan(rig_value(rig, C("memory_read_occupancy_cycles"), "")));
    assert_int_equal(rig->status.verdict.reason, REASON_NO_PMU);
    assert_non_null(strstr(rig->status.verdict.words, "without l1d_miss_occupancy"));
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 0);
    g->present = all;
    verdict_clear(&rig->fake.check);
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    work(rig, "a", 0, 2500000000u, 396);
    rig_tick(rig);
    assert_true(near(rig_value(rig, LATENCY, ""), 160e-9));
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* The self-test failed: what needs the event goes, the other counts stay. */
RIG_TEST(an_untrue_event_gives_no_latency, setup)
{
    rig_container(rig, "a");
    rig->facts.in_flight_untrue = true;
    work(rig, "a", 0, 2500000000u, 396);
    assert_int_equal(rig_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_non_null(strstr(rig->status.verdict.words, "in fours"));
    assert_true(isnan(rig_value(rig, LATENCY, "")));
    assert_true(isnan(rig_value(rig, C("l1d_misses_in_flight_cycles"), "")));
    assert_true(isnan(rig_value(rig, C("memory_read_occupancy_cycles"), "")));
    assert_true(rig_value(rig, C("memory_reads"), "") == 1e6);
    assert_true(rig_value(rig, C("cpu_cycles"), "") == 2.5e9);
}

TEST_WITH(slowdown_says_what_it_lacks, NULL, rig_teardown)
{
    struct rig *rig = start(state, &slowdown_collector);
    struct verdict why;
    rig->fake.lacks |= 1u << GROUP_ASM_EPOCHS;
    assert_false(slowdown_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "AMD"));
    assert_non_null(strstr(why.words, "at least one read of memory outstanding"));
    assert_non_null(strstr(why.words, "core_latency works")); /* to its end */
    rig->fake.lacks = 0;
    rig_start(rig);
}

/* ---- any other CPU ---- */

TEST_WITH(any_cpu_counts_cycles_and_instructions, NULL, rig_teardown)
{
    struct rig *rig = start(state, &core_latency_collector);
    struct verdict why;
    rig->fake.lacks |= 1u << GROUP_FILLS;
    rig->facts.l1d_hit_cycles = 0;
    assert_true(core_latency_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "cycles and instructions only"));
    assert_non_null(strstr(why.words, "group core"));
    rig_start(rig);
    rig_container(rig, "a");
    for (int i = 0; i < 3; i++) {
        struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CPI);
        fake_window(g, 0, 1000000000u, {ROLE_CYCLES, 3000}, {ROLE_REF_CYCLES, 2000},
                    {ROLE_INSTRUCTIONS, 1000});
        assert_int_equal(rig_tick(rig), 0);
        assert_int_equal(rig->status.verdict.reason, REASON_UNSUPPORTED_CPU);
    }
    assert_true(rig_value(rig, C("cpu_cycles"), "") == 9000);
    assert_true(rig_value(rig, C("cpu_instructions"), "") == 3000);
    assert_true(rig_value(rig, C("cpu_reference_cycles"), "") == 6000);
    assert_true(rig_value(rig, N("cpu_cycles"), "") == 9000);
    /* What is not counted is absent, not 0. */
    static const char *const absent[] = {C("memory_reads"),
                                         C("memory_read_occupancy_cycles"),
                                         C("llc_reads"),
                                         LATENCY,
                                         C("memory_read_wait_seconds"),
                                         N("memory_reads"),
                                         N("memory_read_occupancy_cycles")};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_true(isnan(rig_value(rig, absent[i], "")));
    for (int i = 0; i < DISCARD_COUNT; i++)
        assert_int_equal(rig->status.discarded[i], 0);
}

TEST_WITH(without_any_counter_it_is_off, NULL, rig_teardown)
{
    struct rig *rig = start(state, &core_latency_collector);
    struct verdict why;
    rig->fake.lacks |= 1u << GROUP_FILLS | 1u << GROUP_CPI;
    assert_false(core_latency_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "group core"));
    rig->fake.lacks = 0;
    rig_start(rig);
}

/* ---- the probe ---- */

static int setup_probe(void **state)
{
    struct rig *rig = start(state, &probe_collector);
    const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1};
    assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    rig->facts.chase_must_miss = true;
    rig_start(rig);
    return 0;
}

/* A burst of 5000 misses at 3.5 GHz, t cycles in flight each, and the latency measured. */
static void burst(struct rig *rig, double in_flight, double latency_ns, double l2_ns, double llc_ns)
{
    struct fake_group *g = fake_group(&rig->fake, "p0", GROUP_FILLS);
    fake_window(g, 0, 1000000, {ROLE_CYCLES, 3500000}, {ROLE_REF_CYCLES, 2500000},
                {ROLE_L1D_FILLS_MEMORY, 5000},
                {ROLE_L1D_MISS_OCCUPANCY, (uint64_t)(5000 * in_flight)});
    rig->fake.probes[rig->fake.n_probes++] =
        (struct probe_reading){.latency_ns = latency_ns, .l2_hit_ns = l2_ns, .llc_hit_ns = llc_ns};
    rig_tick(rig);
}

/* 14 and 50 cycles at 3.5 GHz are 4 and 14.286 ns: t2 10, t3 46. Then the error is known: 396
 * cycles in flight and 4 before are 400, 114.29 ns. */
RIG_TEST(the_probe_measures_the_caches, setup_probe)
{
    for (int i = 0; i < 8; i++) {
        assert_false(rig->facts.cache_cycles_final);
        /* Neighbours only make hits longer; the second shortest counts. */
        burst(rig, 396, 400 / 3.5, i < 2 ? 4 : 9, i % 4 == 1 ? 50 / 3.5 : 40);
        assert_true(isnan(rig_value(rig, ERROR, "")));
    }
    assert_true(rig->facts.cache_cycles_final);
    assert_true(near(rig->facts.machine.l2_fill_cycles, 10));
    assert_true(near(rig->facts.machine.l3_fill_cycles, 46));
    assert_true(near(rig->facts.machine.cache_cycles, 50));
    burst(rig, 396, 400 / 3.5, 0, 0);
    assert_true(rig_value(rig, ERROR, "") < 1e-6);
    burst(rig, 396, 500 / 3.5, 0, 0);
    assert_true(fabs(rig_value(rig, ERROR, "") - 0.2) < 1e-6);
    burst(rig, 396, 400 / 3.5, 1, 2); /* frozen */
    assert_true(near(rig->facts.machine.l2_fill_cycles, 10));
    assert_false(rig->facts.in_flight_untrue || rig->facts.l3_miss_reads_filtered);
}

/* One miss at a time, counted in fours, rounded down. */
RIG_TEST(an_event_in_fours_is_found, setup_probe)
{
    burst(rig, 3, 400 / 3.5, 0, 0);
    burst(rig, 3, 400 / 3.5, 0, 0);
    assert_false(rig->facts.in_flight_untrue);
    burst(rig, 396, 400 / 3.5, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_false(rig->facts.in_flight_untrue);
        burst(rig, 3, 400 / 3.5, 0, 0);
    }
    assert_true(rig->facts.in_flight_untrue);
    assert_false(rig->facts.l3_miss_reads_filtered);
}

/* Far more than its misses: some other event. */
RIG_TEST(an_event_that_counts_too_much_is_found, setup_probe)
{
    for (int i = 0; i < 3; i++)
        burst(rig, 1600, 400 / 3.5, 0, 0);
    assert_true(rig->facts.in_flight_untrue);
}

RIG_TEST(fills_that_a_hypervisor_filters_are_found, setup_probe)
{
    for (int i = 0; i < 3; i++) {
        struct fake_group *g = fake_group(&rig->fake, "p0", GROUP_FILLS);
        fake_window(g, 0, 1000000, {ROLE_CYCLES, 3500000}, {ROLE_REF_CYCLES, 2500000});
        rig->fake.probes[rig->fake.n_probes++] = (struct probe_reading){.latency_ns = 114};
        rig_tick(rig);
    }
    assert_true(rig->facts.l3_miss_reads_filtered);
    assert_false(rig->facts.in_flight_untrue);
}

/* A guest whose hypervisor filters the fills, as the probe finds out: the rest goes on counting. */
RIG_TEST(filtered_fills_leave_cycles, setup)
{
    rig_container(rig, "a");
    rig_container(rig, "idle");
    work(rig, "a", 0, 2500000000u, 396);
    work(rig, "idle", 0, 2500000000u, 396);
    assert_int_equal(rig_tick(rig), 0);
    assert_false(isnan(rig_value(rig, C("memory_reads"), "\"idle\"")));
    rig->facts.l3_miss_reads_filtered = true;
    work(rig, "a", 0, 2500000000u, 396);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_tick(rig), 0);
        assert_true(rig_value(rig, C("cpu_cycles"), "\"a\"") == 5e9);
        assert_true(rig_value(rig, C("cpu_instructions"), "\"idle\"") == 1e9);
        assert_true(rig_value(rig, N("cpu_cycles"), "") == 7.5e9);
        static const char *const gone[] = {
            C("memory_reads"),      C("llc_reads"),    C("l1d_misses_in_flight_cycles"),
            C("l1d_fills_from_l2"), N("memory_reads"), N("memory_read_wait_seconds")};
        for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
            assert_true(isnan(rig_value(rig, gone[k], "")));
        assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
        assert_non_null(strstr(rig->status.verdict.words, "cycles and instructions only"));
        if (i == 0)
            rig_container(rig, "new"); /* has no zeros either */
    }
    work(rig, "new", 0, 2500000000u, 396);
    assert_int_equal(rig_tick(rig), 0);
    assert_true(rig_value(rig, C("cpu_cycles"), "\"new\"") == 2.5e9);
    assert_true(isnan(rig_value(rig, C("memory_reads"), "\"new\"")));
}
