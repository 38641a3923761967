/* Who moves how many lines: the group traffic and the truth beside it; pauses. */
#include "tests/simnode/tests/test_support.h"

#define MACHINE                                                                                    \
    "{'scenario':1,'tick_cycles':500000,'machine':{'preset':'asm','prefetcher':{'degree':4}},"     \
    "'effects':{'super_queue':true},"

#define MIX                                                                                        \
    MACHINE                                                                                        \
    "'workloads':{'stream':{'kind':'stream','instructions_per_access':30},"                        \
    "'writer':{'kind':'stream','instructions_per_access':40,'store_share':1},"                     \
    "'past':{'kind':'stream','instructions_per_access':400,'store_share':1,'nt_share':1},"         \
    "'loop':{'kind':'loop','bytes':131072,'store_share':0.3}},"                                    \
    "'containers':[{'key':'s','workload':'stream','cpus':[0]},"                                    \
    "{'key':'w','workload':'writer','cpus':[1],'prefetch':false},"                                 \
    "{'key':'p','workload':'past','cpus':[2]},{'key':'l','workload':'loop','cpus':[3]}]}"

enum { STREAM, WRITER, PAST, LOOP, CONTAINERS };

/* Lines by container sum up to the channel's commands, but for what is under way. */
TEST(test_lines_are_the_channels)
{
    struct scenario *scenario = parse_scenario(MIX);
    struct simnode *node = new_node(scenario);
    struct simnode_unit_totals unit;
    uint64_t reads = 0, writes = 0;

    run_ticks(node, 4);
    simnode_unit_totals(node, 0, &unit);
    for (size_t i = 0; i < CONTAINERS; i++) {
        struct simnode_traffic t;
        uint64_t misses = total_of(node, i, GROUP_TRAFFIC, ROLE_LLC_MISSES);

        simnode_traffic(node, i, &t);

        uint64_t fetched =
            t.fetched[REQUEST_READ] + t.fetched[REQUEST_RFO] + t.fetched[REQUEST_PREFETCH];

        /* At most what the super queue holds is on its way. */
        assert_in_range(misses - fetched, 0, 32);
        assert_int_equal(t.fetched_remote, 0);
        reads += fetched;
        writes += t.nt_lines + t.written_back;
    }
    assert_true(reads > 5000 && writes > 2000);
    assert_in_range(unit.cas_reads - reads, 0, CONTAINERS * 32);
    assert_in_range(writes - unit.cas_writes, 0, 256);
    release(node, scenario);
}

TEST(test_what_the_counters_show)
{
    struct scenario *scenario = parse_scenario(MIX);
    struct simnode *node = new_node(scenario);
    struct simnode_traffic t[CONTAINERS];

    run_ticks(node, 8);
    for (size_t i = 0; i < CONTAINERS; i++)
        simnode_traffic(node, i, &t[i]);

    /* A prefetched stream: misses, but hardly any of them a demand read's. */
    uint64_t misses = total_of(node, STREAM, GROUP_TRAFFIC, ROLE_LLC_MISSES);

    assert_true(misses > 1000);
    assert_true(total_of(node, STREAM, GROUP_CORE, ROLE_L3_MISS_READS) * 20 < misses);
    /* A writer: each RFO misses, and its line is written back once the cache is full of them. */
    uint64_t rfos = total_of(node, WRITER, GROUP_TRAFFIC, ROLE_RFO);

    assert_int_equal(total_of(node, WRITER, GROUP_TRAFFIC, ROLE_LLC_MISSES), rfos);
    assert_true(t[WRITER].written_back > 0 && t[WRITER].written_back <= rfos);
    /* Stores past the caches are in neither role. */
    assert_true(t[PAST].nt_lines > 1000);
    assert_int_equal(total_of(node, PAST, GROUP_TRAFFIC, ROLE_LLC_MISSES), 0);
    assert_int_equal(total_of(node, PAST, GROUP_TRAFFIC, ROLE_RFO), 0);
    assert_int_equal(t[PAST].llc_insertions, 0);
    /* RFOs that the last-level cache answers are RFOs all the same, and no misses. */
    rfos = total_of(node, LOOP, GROUP_TRAFFIC, ROLE_RFO);
    assert_true(rfos > t[LOOP].fetched[REQUEST_RFO] * 2);
    release(node, scenario);
}

TEST(test_memory_of_another_socket)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':200000,'machine':{'preset':'asm','sockets':2,"
        "'interconnect':{'hop_ns':20,'bytes_per_second':2e10}},"
        "'workloads':{'r':{'kind':'random'}},"
        "'containers':[{'key':'r','workload':'r','cpus':[4],'memory':[{'node':0}]}]}");
    struct simnode *node = new_node(scenario);
    struct simnode_traffic t;

    run_ticks(node, 1);
    simnode_traffic(node, 0, &t);
    assert_true(t.fetched[REQUEST_READ] > 1000);
    assert_int_equal(t.fetched_remote, t.fetched[REQUEST_READ]);
    release(node, scenario);
}

#define CHASE_AND(pauses)                                                                          \
    MACHINE "'workloads':{'c':{'kind':'chase'},'r':{'kind':'random'}},"                            \
            "'containers':[{'key':'c','workload':'c','cpus':[0]},"                                 \
            "{'key':'r','workload':'r','cpus':[1]" pauses "}]}"

static double latency_of(struct simnode *node, struct simnode_truth *before)
{
    struct simnode_truth now;

    simnode_truth(node, 0, &now);
    double ns = (now.latency_ns_sum - before->latency_ns_sum) / (double)(now.reads - before->reads);
    *before = now;
    return ns;
}

/* It does not make up for a pause. */
TEST(test_instructions_after_a_pause)
{
    struct scenario *scenario = parse_scenario(
        MACHINE "'workloads':{'k':{'kind':'compute'}},'containers':[{'key':'k',"
                "'workload':'k','cpus':[0],'pauses':[{'from_tick':2,'to_tick':5}]}]}");
    struct simnode *node = new_node(scenario);
    struct simnode_truth truth;

    run_ticks(node, 6);
    simnode_truth(node, 0, &truth);
    assert_float_equal((double)truth.instructions / (2 * 500000.0 * 3), 1, 0.03);
    release(node, scenario);
}

enum { TICK_NS = 94339 }; /* 500,000 cycles of the preset's 5.3 GHz */

/* Awake in ticks 1, 4 and 5; stopped while it sleeps. */
TEST(test_who_sleeps_is_not_counted)
{
    struct scenario *scenario = parse_scenario(
        MACHINE "'workloads':{'r':{'kind':'random'}},'containers':[{'key':'r','workload':'r',"
                "'cpus':[0,1],'stop_tick':6,'pauses':[{'from_tick':2,'to_tick':3,'asleep':true},"
                "{'from_tick':5,'to_tick':5},{'from_tick':6,'to_tick':9,'asleep':true}]}]}");
    struct simnode *node = new_node(scenario);
    static const uint64_t awake[] = {1, 1, 1, 2, 3, 3, 3};

    for (size_t i = 0; i < sizeof awake / sizeof *awake; i++) {
        struct simnode_reading core;

        run_ticks(node, 1);
        assert_int_equal(simnode_read_container(node, 0, GROUP_CORE, &core), 0);
        assert_in_range(core.values[0], awake[i] * 2 * 500000 - 4, awake[i] * 2 * 500000 + 4);
        assert_in_range(core.values[1], awake[i] * 2 * 500000 - 4, awake[i] * 2 * 500000 + 4);
        assert_in_range(core.enabled_ns, awake[i] * TICK_NS - 4, awake[i] * TICK_NS + 4);
    }
    release(node, scenario);
}

/* Paused, it counts nothing and hurts nobody; afterwards it does as before. */
TEST(test_pauses)
{
    struct scenario *scenario =
        parse_scenario(CHASE_AND(",'pauses':[{'from_tick':3,'to_tick':4}]"));
    struct scenario *unpaused = parse_scenario(CHASE_AND(""));
    struct simnode *node = new_node(scenario), *other = new_node(unpaused);
    struct simnode_truth before = {0};
    double ns[6];
    uint64_t misses[6], instructions[6];

    for (int i = 0; i < 6; i++) {
        struct simnode_truth truth;

        run_ticks(node, 1);
        ns[i] = latency_of(node, &before);
        misses[i] = total_of(node, 1, GROUP_TRAFFIC, ROLE_LLC_MISSES);
        simnode_truth(node, 1, &truth);
        instructions[i] = truth.instructions;
    }
    /* What was under way is done in the pause's first tick. */
    assert_in_range(misses[2] - misses[1], 0, 64);
    assert_int_equal(misses[3], misses[2]);
    assert_int_equal(instructions[3], instructions[2]);
    assert_true(ns[3] < ns[1] * 0.95);
    assert_true(ns[4] > ns[3] * 1.05);
    /* In a tick after the pause it does what it does in a tick before. */
    assert_float_equal((double)(misses[5] - misses[4]) / (double)(misses[1] - misses[0]), 1, 0.05);
    assert_float_equal((double)(instructions[5] - instructions[4]) /
                           (double)(instructions[1] - instructions[0]),
                       1, 0.05);
    /* Without pauses, and until the first one, nothing differs. */
    run_ticks(other, 2);
    assert_int_equal(total_of(other, 1, GROUP_TRAFFIC, ROLE_LLC_MISSES), misses[1]);
    simnode_free(node);
    release(other, scenario);
    scenario_free(unpaused);
}
