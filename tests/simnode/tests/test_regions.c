/* Where reads are served, which no counter tells fully; Serrano's machine; waiting for stores. */
#include "tests/simnode/tests/test_support.h"

static struct scenario *on_serrano(const char *workload, const char *memory)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "{'scenario':1,'tick_cycles':2000000,'machine':{'preset':'serrano'},"
             "'workloads':{'w':%s},"
             "'containers':[{'key':'a','workload':'w','cpus':[0],'page_bytes':4096,"
             "'memory':[%s]}]}",
             workload, memory);
    return parse_scenario(text);
}

TEST(test_a_chase_sees_table_1)
{
    static const double latency_ns[] = {100, 142, 410, 410};

    for (int i = 0; i < 4; i++) {
        char memory[32];

        snprintf(memory, sizeof(memory), "{'node':%d}", i);

        struct scenario *scenario = on_serrano("{'kind':'chase','bytes':67108864}", memory);
        struct simnode *node = new_node(scenario);
        struct simnode_truth truth;

        assert_int_equal(simnode_run_tick(node), 0);
        simnode_truth(node, 0, &truth);
        assert_in_range(truth.reads, 4000, 21000);
        /* The first read of each of the eight banks finds it closed already. */
        assert_true(truth.latency_ns_sum <= latency_ns[i] * (double)truth.reads);
        assert_true(truth.latency_ns_sum >= latency_ns[i] * (double)truth.reads - 8);
        assert_int_equal(truth.reads_by_node[i][0], truth.reads);
        release(node, scenario);
    }
}

TEST(test_reads_by_node)
{
    static const double shares[SIMNODE_NODES][2] = {{0.1, 0.2}, {0.3, 0.4}};
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':2000000,'machine':{'preset':'clx','cores_per_socket':2},"
        "'workloads':{'w':{'kind':'random','bytes':268435456,'instructions_per_access':20,"
        "'store_share':0.3}},'containers':[{'key':'a','workload':'w','cpus':[0,1],"
        "'page_bytes':4096,'memory':[{'node':0,'share':0.1},"
        "{'node':0,'medium':'pmm','share':0.2},{'node':1,'share':0.3},"
        "{'node':1,'medium':'pmm','share':0.4}]}]}");
    struct simnode *node = new_node(scenario);
    struct simnode_traffic traffic;
    struct simnode_truth truth;
    uint64_t reads = 0, lines = 0;

    assert_int_equal(simnode_run_tick(node), 0);
    simnode_truth(node, 0, &truth);
    simnode_traffic(node, 0, &traffic);
    assert_true(truth.reads > 5000);
    for (int i = 0; i < SIMNODE_NODES; i++) {
        for (int pmm = 0; pmm < 2; pmm++) {
            reads += truth.reads_by_node[i][pmm];
            lines += traffic.fetched_from[i][pmm];
            assert_float_equal((double)truth.reads_by_node[i][pmm] / (double)truth.reads,
                               shares[i][pmm], 0.03);
        }
    }
    assert_int_equal(reads, truth.reads);
    assert_int_equal(lines, traffic.fetched[REQUEST_READ] + traffic.fetched[REQUEST_RFO]);
    assert_int_equal(traffic.fetched_from[1][0] + traffic.fetched_from[1][1],
                     traffic.fetched_remote);
    /* What is counted agrees. Nothing counts PMM of the other node. */
    assert_int_equal(truth.reads_by_node[0][0],
                     total_of(node, 0, GROUP_STALLS, ROLE_LOADS_LOCAL_DRAM));
    assert_int_equal(truth.reads_by_node[0][1],
                     total_of(node, 0, GROUP_STALLS, ROLE_LOADS_LOCAL_PMM));
    release(node, scenario);
}

/* With room for one store each waits for the one before; with room for eight and time enough
 * between them none waits. */
TEST(test_stalls_of_a_full_store_buffer)
{
    for (int seldom = 0; seldom < 2; seldom++) {
        struct scenario *scenario =
            on_serrano(seldom ? "{'kind':'stream','store_share':1,'instructions_per_access':400}"
                              : "{'kind':'stream','store_share':1,'instructions_per_access':1}",
                       "{'node':0}");
        struct simnode_truth truth;

        if (!seldom)
            scenario->machine.store_buffer = 1;
        struct simnode *node = new_node(scenario);
        assert_int_equal(simnode_run_tick(node), 0);
        simnode_truth(node, 0, &truth);
        if (seldom)
            assert_int_equal(truth.store_stall_cycles, 0);
        else
            assert_in_range(truth.store_stall_cycles + truth.instructions, 2000000 - 100, 2000000);
        assert_int_equal(truth.reads, 0);
        release(node, scenario);
    }
}
