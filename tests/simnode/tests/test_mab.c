/*
 * Misses of the L1 in flight and fills by source, on single misses worked out by hand. The L1 is
 * missed a cycle after the issue, the L2 10 cycles later, the last-level cache 20 after that; from
 * there to the value memory takes 20 cycles: issued at 0, back at 51 (test_core.c, with the L2's).
 */
#include "tests/simnode/tests/test_support.h"

#define ONE_TRACE                                                                                  \
    "{'scenario':1,'tick_cycles':5000," TINY_MACHINE ",'workloads':{'t':{'kind':'compute'}},"      \
    "'containers':[{'key':'a','workload':'t','cpus':[0]}]}"
#define OTHER_BANK "1024"
#define END "1000000 0\n"

struct counts {
    uint64_t in_flight, l2, llc, beyond;
};

static struct counts counts_of(struct simnode *node)
{
    return (struct counts){
        .in_flight = total_of(node, 0, GROUP_FILLS, ROLE_L1D_MISS_OCCUPANCY),
        .l2 = total_of(node, 0, GROUP_FILLS, ROLE_L1D_FILLS_L2),
        .llc = total_of(node, 0, GROUP_FILLS, ROLE_L1D_FILLS_L3),
        .beyond = total_of(node, 0, GROUP_FILLS, ROLE_L1D_FILLS_MEMORY),
    };
}

static void assert_counts(struct simnode *node, uint64_t in_flight, uint64_t l2, uint64_t llc,
                          uint64_t beyond)
{
    struct counts counts = counts_of(node);

    assert_int_equal(counts.in_flight, in_flight);
    assert_int_equal(counts.l2, l2);
    assert_int_equal(counts.llc, llc);
    assert_int_equal(counts.beyond, beyond);
}

static double truth_ns(struct simnode *node)
{
    struct simnode_truth truth;

    simnode_truth(node, 0, &truth);
    return truth.latency_ns_sum;
}

static struct scenario *with_mabs(void)
{
    struct scenario *scenario = parse_scenario(ONE_TRACE);

    scenario->machine.mabs = 24;
    scenario->machine.l2 = (struct cache_spec){4096, 4, 10};
    return scenario;
}

static struct simnode *run(struct scenario *scenario, const char *trace)
{
    set_trace(scenario, 0, trace);
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    return node;
}

TEST(test_memory_and_l2)
{
    struct scenario *scenario = with_mabs();
    /* The third is in the L2, not in the L1 of one line: in flight from 1 to 11. */
    struct simnode *node = run(scenario, "0 0\n600 " OTHER_BANK "\n600 0\n" END);

    assert_counts(node, 50 + 50 + 10, 1, 0, 2);
    assert_true(truth_ns(node) == 2 * (1 + 50.0));
    release(node, scenario);
}

TEST(test_llc)
{
    struct scenario *scenario = with_mabs();

    set_trace(scenario, 0, "0 0\n" END);
    struct simnode *node = new_node(scenario);
    cache_insert(&node->domains[0].llc, node->cores[0].line_base, false, CACHE_ALL_WAYS);
    assert_int_equal(simnode_run_tick(node), 0);
    assert_counts(node, 10 + 20, 0, 1, 0);
    release(node, scenario);
}

TEST(test_buffer_taken_later)
{
    struct scenario *scenario = with_mabs();

    scenario->machine.mab_delay_cycles = 3;
    struct simnode *node = run(scenario, "0 0\n600 " OTHER_BANK "\n600 0\n" END);
    assert_counts(node, 47 + 47 + 7, 1, 0, 2);
    assert_true(truth_ns(node) == 2 * 51.0);
    release(node, scenario);
}

TEST(test_no_buffers_no_counters)
{
    struct scenario *scenario = parse_scenario(ONE_TRACE);
    struct simnode *node = run(scenario, "0 0\n" END);
    struct simnode_reading reading;

    assert_int_equal(simnode_read_container(node, 0, GROUP_FILLS, &reading), -ENOENT);
    release(node, scenario);
}

TEST(test_one_line_has_one_buffer)
{
    struct scenario *scenario = with_mabs();
    struct simnode *node = run(scenario, "0 0\n0 8\n0 32\n" END);

    assert_counts(node, 50, 0, 0, 1);
    release(node, scenario);
}

TEST(test_buffers_run_out)
{
    for (int on = 0; on < 2; on++) {
        struct scenario *scenario = with_mabs();

        scenario->effects.mabs = on;
        scenario->machine.mabs = 1;
        struct simnode *node = run(scenario, "0 0\n0 " OTHER_BANK "\n" END);
        /* Without the limit the second is 4 cycles behind the first, on the bus. With it, it asks
         * at 1 and has its buffer at 51: L2 61, LLC 81, ACT 84, RD 90, data 99, back at 101; the
         * wait is in no counter. */
        assert_true(truth_ns(node) == (on ? 51.0 + 101 : 51.0 + 55));
        assert_counts(node, on ? 50 + 50 : 50 + 54, 0, 0, 2);
        release(node, scenario);
    }
}

/* The fourth line in a row, issued at c, starts the prefetch of the fifth, which is read two cycles
 * later: the prefetch enters a cycle behind the fourth, at c + 12, is known to have missed at c +
 * 32, reads the open row at c + 38 (four after the fourth line) and is back at c + 49. */
static const char FIFTH_LINE[] = "0 0\n300 64\n300 128\n300 192\n3 256\n" END;
enum { ROW_MISS = 50, ROW_HIT = 44, JOINED = 49 - 3 };

static struct simnode *run_prefetch(struct scenario *scenario)
{
    scenario->machine.prefetch_degree = 1;
    scenario->effects.prefetch_merging = true;
    return run(scenario, FIFTH_LINE);
}

/* A prefetch into the L2 has no buffer; the load that waits for it has one, from c + 3 on. */
TEST(test_late_prefetch_into_the_l2)
{
    for (int from_l2 = 0; from_l2 < 2; from_l2++) {
        struct scenario *scenario = with_mabs();
        struct simnode_truth truth;

        scenario->machine.late_prefetch_from_l2 = from_l2;
        struct simnode *node = run_prefetch(scenario);
        assert_counts(node, ROW_MISS + 3 * ROW_HIT + JOINED, from_l2, 0, 5 - from_l2);
        simnode_truth(node, 0, &truth);
        assert_int_equal(truth.reads, 5);
        assert_int_equal(truth.own_reads, 4);
        assert_true(truth.latency_ns_sum == truth.own_latency_ns_sum + 1 + JOINED);
        assert_true(truth.own_latency_ns_sum == 4 * 1 + ROW_MISS + 3 * ROW_HIT);
        release(node, scenario);
    }
}

/* What memory is to send may at the same time wait for the only buffer: else it never ends. */
TEST(test_prefetch_in_two_queues)
{
    struct scenario *scenario;
    struct simnode *node;
    struct simnode_truth truth;
    char error[256];

    assert_int_equal(scenario_read(IE_SOURCE_DIR
                                   "/tests/simnode/fuzz/corpus/scenario/zen4_one_buffer.json",
                                   &scenario, error, sizeof(error)),
                     0);
    assert_int_equal(simnode_new(scenario, &node), 0);
    assert_int_equal(simnode_run_cycles(node, 4000), 0);
    simnode_truth(node, 0, &truth);
    assert_true(truth.reads > 0);
    release(node, scenario);
}

/* One into the L1 has its own buffer, from c + 2 on; the load takes none. It starts the prefetch of
 * the sixth, in flight from c + 4 to c + 53. */
TEST(test_prefetch_into_the_l1)
{
    struct scenario *scenario = with_mabs();

    scenario->machine.prefetch_into_l1 = true;
    struct simnode *node = run_prefetch(scenario);
    assert_counts(node, ROW_MISS + 3 * ROW_HIT + (49 - 2) + (53 - 4), 0, 0, 6);
    release(node, scenario);
}

/* There is no buffer for the prefetch, so that it does not happen, and the load waits for one from
 * c + 3 to c + 45: L2 55, LLC 75, RD 78, back at c + 89. */
TEST(test_a_prefetch_without_buffer_is_dropped)
{
    struct scenario *scenario = with_mabs();

    scenario->machine.prefetch_into_l1 = true;
    scenario->machine.mabs = 1;
    scenario->effects.mabs = true;
    struct simnode *node = run_prefetch(scenario);
    assert_counts(node, ROW_MISS + 4 * ROW_HIT, 0, 0, 5);
    assert_true(truth_ns(node) == 4 * 1 + ROW_MISS + 3 * ROW_HIT + (89 - 2));
    release(node, scenario);
}

/* Stores' misses are counted as loads' are: in the end one fill for each line that was fetched. */
TEST(test_stores)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':50000," TINY_MACHINE
        ",'workloads':{'s':{'kind':'random','bytes':1048576,'store_share':1,"
        "'instructions_per_access':30}},'containers':[{'key':'a','workload':'s','cpus':[0],"
        "'pauses':[{'from_tick':2,'to_tick':2}]}]}");
    struct simnode_traffic traffic;

    scenario->machine.mabs = 24;
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    assert_int_equal(simnode_run_tick(node), 0);
    struct counts counts = counts_of(node);
    simnode_traffic(node, 0, &traffic);
    assert_true(traffic.fetched[REQUEST_RFO] > 1000);
    assert_int_equal(traffic.fetched[REQUEST_READ], 0);
    assert_int_equal(counts.beyond, traffic.fetched[REQUEST_RFO]);
    assert_int_equal(counts.beyond + counts.llc, total_of(node, 0, GROUP_TRAFFIC, ROLE_RFO));
    assert_true(counts.in_flight >= 40 * counts.beyond + 20 * counts.llc);
    release(node, scenario);
}

/* Many independent misses: never more in flight than there are buffers, and nearly always all. What
 * the L2 serves, 10 cycles each, waits for none. */
TEST(test_never_more_than_there_are)
{
    struct scenario *scenario =
        parse_scenario("{'scenario':1,'tick_cycles':500000,'machine':{'preset':'zen4'},"
                       "'effects':{'mabs':true},'workloads':{'r':{'kind':'random',"
                       "'bytes':268435456,'instructions_per_access':4}},"
                       "'containers':[{'key':'a','workload':'r','cpus':[0]}]}");
    struct simnode *node = new_node(scenario);

    assert_int_equal(scenario->machine.mabs, 24);
    assert_int_equal(simnode_run_tick(node), 0);
    struct counts counts = counts_of(node);
    assert_true(counts.in_flight - 10 * counts.l2 <= 24 * 500000);
    assert_true(counts.in_flight >= 23 * 500000);
    release(node, scenario);
}

/* --- complexes --- */

static struct scenario *two_complexes(void)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':5000," TINY_MACHINE ",'workloads':{'t':{'kind':'compute'}},"
        "'containers':[{'key':'a','workload':'t','cpus':[2]}]}");

    scenario->machine.mabs = 24;
    scenario->machine.llc_cores = 2;
    return scenario;
}

TEST(test_each_complex_has_a_cache)
{
    for (int remote = 0; remote < 2; remote++) {
        struct scenario *scenario = two_complexes();

        scenario->effects.remote_cache_hits = remote;
        set_trace(scenario, 0, "0 0\n" END);
        struct simnode *node = new_node(scenario);
        assert_int_equal(node->n_domains, 2);
        assert_int_equal(node->cores[0].domain, 1);
        assert_int_equal(node->cores[0].socket, 0);
        cache_insert(&node->domains[0].llc, node->cores[0].line_base, false, CACHE_ALL_WAYS);
        assert_int_equal(simnode_run_tick(node), 0);
        /* The other complex's cache is no hit: memory, back at 41; or, by way of the controllers,
         * known at 21, there at 24, found at 44, back at 46: a fill from beyond all the same. */
        assert_counts(node, remote ? 45 : 40, 0, 0, 1);
        release(node, scenario);
    }
}

/* The way into the complex moves a line in 10 ns. Data at 39 and 43: the second leaves at 49. */
TEST(test_bandwidth_of_a_complex)
{
    for (int limited = 0; limited < 2; limited++) {
        struct scenario *scenario = two_complexes();

        scenario->machine.complex_bytes_per_second = limited ? 6.4e9 : 0;
        struct simnode *node = run(scenario, "0 0\n0 " OTHER_BANK "\n" END);
        assert_true(truth_ns(node) == 41.0 + (limited ? 51 : 45));
        assert_counts(node, 40 + (limited ? 50 : 44), 0, 0, 2);
        release(node, scenario);
    }
}
