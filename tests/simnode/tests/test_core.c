/* The window and single misses, against hand-computed numbers and a naive model. */
#include "tests/simnode/tests/test_support.h"

#define ONE_TRACE                                                                                  \
    "{'scenario':1,'tick_cycles':1000," TINY_MACHINE ",'workloads':{'t':{'kind':'compute'}},"      \
    "'containers':[{'key':'a','workload':'t','cpus':[0]}]}"

static struct simnode *run_trace(struct scenario **scenario, const char *trace)
{
    *scenario = parse_scenario(ONE_TRACE);
    set_trace(*scenario, 0, trace);
    struct simnode *node = new_node(*scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    return node;
}

TEST(test_one_miss)
{
    struct scenario *scenario;
    struct simnode *node = run_trace(&scenario, "0 0\n1000000 0\n");
    struct simnode_truth truth;
    struct simnode_reading rpq;

    /* Cycle 0 issue, 1 L1 missed, 21 LLC missed, 24 at the controller: ACT, 30 RD,
     * 30 + CL 5 + burst 4 = 39 data, 41 back. */
    simnode_truth(node, 0, &truth);
    assert_int_equal(truth.reads, 1);
    assert_true(truth.latency_ns_sum == 41.0);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READS), 1);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_LLC_READS), 1);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY), 20);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE), 20);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_CYCLES), 1000);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_REF_CYCLES), 1000);
    assert_int_equal(scenario_cache_cycles(&scenario->machine), 21); /* 21 + 20 / 1 = the truth */
    /* In the queue from 24 to the RD at 30. */
    assert_int_equal(simnode_read_unit(node, 0, GROUP_RPQ, &rpq), 0);
    assert_int_equal(rpq.values[0], 1000);
    assert_int_equal(rpq.values[1], 1);
    assert_int_equal(rpq.values[2], 6);
    assert_int_equal(simnode_read_unit(node, 0, GROUP_PMM_RPQ, &rpq), -ENOENT);
    release(node, scenario);
}

TEST(test_occupancy_from_entry)
{
    struct scenario *scenario = parse_scenario(ONE_TRACE);

    scenario->machine.occupancy_from_entry = true;
    set_trace(scenario, 0, "0 0\n1000000 0\n");
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    /* The same miss, counted from 1 to 41: the constant is what precedes, 1 cycle. */
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READS), 1);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY), 40);
    assert_int_equal(scenario_cache_cycles(&scenario->machine), 1);
    release(node, scenario);
}

TEST(test_two_overlapping_misses)
{
    struct scenario *scenario;
    /* 16 lines apart: neighbouring banks. */
    struct simnode *node = run_trace(&scenario, "0 0\n0 1024\n1000000 1024\n");
    struct simnode_truth truth;
    struct simnode_reading rpq;

    /* Both known at 21 and there at 24. First: ACT 24, RD 30, back at 41. Second: ACT 26 (tRRD),
     * ready 32, bus free 34: RD 34, data 43, back at 45. */
    simnode_truth(node, 0, &truth);
    assert_int_equal(truth.reads, 2);
    assert_true(truth.latency_ns_sum == 41.0 + 45.0);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY), 20 + 24);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE), 24);
    assert_int_equal(simnode_read_unit(node, 0, GROUP_RPQ, &rpq), 0);
    assert_int_equal(rpq.values[2], 6 + 10);
    release(node, scenario);
}

TEST(test_same_line_is_one_miss)
{
    struct scenario *scenario;
    struct simnode *node = run_trace(&scenario, "0 0\n0 8\n0 32\n1000000 0\n");
    struct simnode_truth truth;

    simnode_truth(node, 0, &truth);
    assert_int_equal(truth.reads, 1);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READS), 1);
    assert_int_equal(total_of(node, 0, GROUP_LOADS, ROLE_LOADS), 3);
    release(node, scenario);
}

TEST(test_trace_writebacks_reach_memory)
{
    struct scenario *scenario = parse_scenario(ONE_TRACE);
    struct simnode_unit_totals totals;

    /* An LLC of one line: the written line is pushed out by the next read's fill. */
    scenario->machine.llc = (struct cache_spec){64, 1, 20};
    set_trace(scenario, 0, "0 0 64000\n200 128\n1000000 128\n");
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    simnode_unit_totals(node, 0, &totals);
    assert_int_equal(totals.cas_writes, 1);
    release(node, scenario);
}

TEST(test_retired_instructions)
{
    struct scenario *scenario;
    struct simnode *node = run_trace(&scenario, "0 0\n1000000 0\n");

    /* The load holds the window of 128 until 41; then 3 a cycle, but what was executed while
     * waiting retires at 3 a cycle, too: at cycle T, 3 (T - 41). */
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_INSTRUCTIONS), 3 * (1000 - 41));
    /* Dispatch stood still from slot 128 to slot 3 x 41, ... which is not at all: 123 < 128. */
    assert_int_equal(total_of(node, 0, GROUP_STALLS, ROLE_STALLS_L3_MISS), 0);
    release(node, scenario);
}

TEST(test_frequency_change)
{
    struct scenario *scenario =
        parse_scenario("{'scenario':1,'tick_cycles':1000000,"
                       "'frequency_changes':[{'tick':2,'core_frequency_hz':2e9},"
                       "{'tick':3,'core_frequency_hz':5e8}]," TINY_MACHINE
                       ",'workloads':{'t':{'kind':'chase','bytes':67108864}},"
                       "'containers':[{'key':'a','workload':'t','cpus':[0]}]}");
    static const uint64_t cycles[] = {1000000, 2000000, 500000};
    struct simnode *node = new_node(scenario);
    uint64_t before[4] = {0};
    double first = 0;

    for (int tick = 0; tick < 3; tick++) {
        static const enum role roles[] = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_L3_MISS_READS,
                                          ROLE_L3_MISS_READ_OCCUPANCY};
        uint64_t d[4];

        assert_int_equal(simnode_run_tick(node), 0);
        for (int i = 0; i < 4; i++) {
            uint64_t now = total_of(node, 0, GROUP_CORE, roles[i]);

            d[i] = now - before[i];
            before[i] = now;
        }
        assert_int_equal(d[0], cycles[tick]);
        assert_int_equal(d[1], 1000000);
        /* Memory's time does not change, so its cycles follow the frequency. */
        double memory_ns = (double)d[3] / (double)d[2] * 1e6 / (double)cycles[tick];

        if (tick == 0)
            first = memory_ns;
        assert_float_equal(memory_ns / first, 1, 0.05);
    }
    assert_true(first > 20 && first < 40);
    release(node, scenario);
}

/* A core that runs faster than its base frequency from the start. */
TEST(test_reference_cycles_are_those_of_the_base_frequency)
{
    struct scenario *scenario = parse_scenario(ONE_TRACE);

    scenario->machine.core_hz = 2e9;
    set_trace(scenario, 0, "0 0\n1000000 0\n");
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_CYCLES), 1000);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_REF_CYCLES), 500);
    release(node, scenario);
}

TEST(test_in_order_core)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':100000," TINY_MACHINE
        ",'workloads':{'t':{'kind':'loop','bytes':4096,'instructions_per_access':1}},"
        "'containers':[{'key':'a','workload':'t','cpus':[0]}]}");

    scenario->machine.width = scenario->machine.window = 1;
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    uint64_t before = total_of(node, 0, GROUP_CORE, ROLE_INSTRUCTIONS);
    assert_int_equal(simnode_run_tick(node), 0);
    uint64_t after = total_of(node, 0, GROUP_CORE, ROLE_INSTRUCTIONS);
    /* Every load hits the LLC, 21 cycles, and nothing goes on meanwhile. */
    assert_in_range(after - before, 100000 / 21 - 1, 100000 / 21 + 1);
    release(node, scenario);
}

/* --- a naive model: an array per instruction, the rules of core.c as they are written --- */

static uint64_t naive_instructions(const struct scenario *scenario, uint64_t latency,
                                   uint64_t from_cycle, uint64_t to_cycle)
{
    const struct container_spec *spec = &scenario->containers[0];
    int64_t width = scenario->machine.width, window = scenario->machine.window;
    int64_t *retire = calloc((size_t)(to_cycle * (uint64_t)width + 1000000), sizeof(*retire));
    int64_t dispatch = -1, last_retire = 0, load_done = 0;
    uint64_t count = 0;
    struct workload workload;
    size_t k = 0;

    assert_non_null(retire);
    assert_int_equal(
        workload_init(&workload, spec->workload, mix64((uint64_t)spec->seed * 1000003)), 0);
    for (bool more = true; more;) {
        struct op op;

        workload_next(&workload, &op);
        for (uint64_t i = 0; i <= op.bubble && more; i++, k++) {
            dispatch++;
            if (k >= (size_t)window && dispatch < retire[k - (size_t)window])
                dispatch = retire[k - (size_t)window];
            int64_t done = dispatch + width;
            if (i == op.bubble) {
                int64_t issue = dispatch / width;

                if (op.dependent && load_done > issue)
                    issue = load_done;
                load_done = issue + (int64_t)latency;
                done = load_done * width;
            }
            last_retire = done > last_retire + 1 ? done : last_retire + 1;
            retire[k] = last_retire;
            count += last_retire >= (int64_t)from_cycle * width &&
                     last_retire < (int64_t)to_cycle * width;
            more = last_retire < (int64_t)to_cycle * width;
        }
    }
    workload_release(&workload);
    free(retire);
    return count;
}

TEST(test_window_equals_the_naive_model)
{
    static const struct {
        int64_t width, window;
        double gap, dependence;
    } cases[] = {{3, 128, 1, 0},   {3, 128, 6, 0},    {3, 128, 30, 0}, {3, 128, 30, 1},
                 {3, 128, 6, 0.3}, {4, 224, 12, 0.5}, {2, 16, 5, 0.2}, {1, 1, 4, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scenario *scenario =
            parse_scenario("{'scenario':1,'tick_cycles':200000," TINY_MACHINE
                           ",'workloads':{'t':{'kind':'random','bytes':16384}},"
                           "'containers':[{'key':'a','workload':'t','cpus':[0]}]}");

        scenario->machine.width = cases[i].width;
        scenario->machine.window = cases[i].window;
        scenario->workloads[0].instructions_per_access = cases[i].gap;
        scenario->workloads[0].dependence = cases[i].dependence;
        /* All lines fit the LLC; an L1 of one set and no reuse keeps every load going there. */
        struct simnode *node = new_node(scenario);
        assert_int_equal(simnode_run_tick(node), 0);
        uint64_t before = total_of(node, 0, GROUP_CORE, ROLE_INSTRUCTIONS);
        assert_int_equal(simnode_run_tick(node), 0);
        uint64_t after = total_of(node, 0, GROUP_CORE, ROLE_INSTRUCTIONS);
        uint64_t naive = naive_instructions(scenario, 21, 200000, 400000);
        /* One load in 256 finds its line in L1 or on its way, which the naive model ignores. */
        assert_in_range(after - before, (uint64_t)(0.985 * (double)naive),
                        (uint64_t)(1.015 * (double)naive));
        release(node, scenario);
    }
}
