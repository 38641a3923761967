/* What is changed while the node runs, and what the cache's totals say. */
#include "tests/simnode/tests/test_support.h"

#include "tests/simnode/recording/record.h"

static struct simnode_cache_totals cache_of(struct simnode *node, size_t container)
{
    struct simnode_cache_totals totals;

    simnode_cache_totals(node, container, &totals);
    return totals;
}

/* --- CPUs --- */

#define SIX_THREADS(workload)                                                                      \
    parse_scenario("{'scenario':1,'tick_cycles':300000,"                                           \
                   "'machine':{'preset':'clx','cores_per_socket':8},"                              \
                   "'workloads':{'c':{'kind':'compute'},"                                          \
                   "'r':{'kind':'chase','bytes':67108864}},"                                       \
                   "'containers':[{'key':'be','workload':'" workload "','cpus':[0,1,2,3,4,5]},"    \
                   "{'key':'lc','workload':'c','cpus':[6]}]}")

/* In four ticks, after one in which caches become warm. */
static uint64_t instructions_with(struct scenario *scenario, double quota, struct simnode **out)
{
    struct simnode *node = new_node(scenario);

    run_ticks(node, 1);
    uint64_t instructions = instructions_of(node, 0);
    if (isfinite(quota))
        assert_int_equal(simnode_set_quota(node, 0, quota), 0);
    run_ticks(node, 4);
    instructions = instructions_of(node, 0) - instructions;

    if (out)
        *out = node;
    else
        simnode_free(node);
    return instructions;
}

TEST(test_a_quota_gives_its_share)
{
    static const double quotas[] = {0.5, 1, 2.5, 5.5};
    struct scenario *scenario = SIX_THREADS("c");
    double all = (double)instructions_with(scenario, INFINITY, NULL);
    struct simnode *node;

    for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
        double with = (double)instructions_with(scenario, quotas[i], &node);
        double share = quotas[i] / 6;

        assert_float_equal(with / all / share, 1, 0.01);
        /* Counters leave out the time without a CPU; the neighbour has all of it. */
        assert_float_equal((double)total_of(node, 0, GROUP_CORE, ROLE_CYCLES) / (6 * 300000.0) - 1,
                           4 * share, 0.001);
        assert_float_equal((double)total_of(node, 0, GROUP_CORE, ROLE_REF_CYCLES) /
                               (double)total_of(node, 1, GROUP_CORE, ROLE_REF_CYCLES),
                           6 * (1 + 4 * share) / 5, 0.01);
        assert_int_equal(total_of(node, 1, GROUP_CORE, ROLE_CYCLES), 1500000);
        simnode_free(node);
    }
    /* As many CPUs as threads, or more: no quota. */
    assert_true((double)instructions_with(scenario, 6, NULL) == all);
    scenario_free(scenario);
}

/* Loads that wait for one another make no progress without a CPU: each misses, so that a thread has
 * as many of them as it has time. */
TEST(test_a_chase_stands_still_without_a_cpu)
{
    struct scenario *scenario = SIX_THREADS("r");
    struct simnode_truth all, some;
    struct simnode *node;

    instructions_with(scenario, INFINITY, &node);
    simnode_truth(node, 0, &all);
    simnode_free(node);
    instructions_with(scenario, 1.5, &node);
    simnode_truth(node, 0, &some);
    assert_true(all.reads > 20000);
    assert_float_equal((double)some.reads / (double)all.reads, 0.4, 0.01); /* (1 + 4 / 4) / 5 */
    /* The latency is the loads', not the halts'. */
    assert_float_equal(some.latency_ns_sum / (double)some.reads,
                       all.latency_ns_sum / (double)all.reads, 2);
    release(node, scenario);
}

TEST(test_a_quota_changes_and_ends)
{
    struct scenario *scenario = SIX_THREADS("c");
    uint64_t all = instructions_with(scenario, INFINITY, NULL) / 4, before;
    static const double quotas[] = {3, 1, INFINITY, 1, 6},
                        expected[] = {0.5, 1 / 6.0, 1, 1 / 6.0, 1};
    struct simnode *node = new_node(scenario);

    run_ticks(node, 1);
    before = instructions_of(node, 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(simnode_set_quota(node, 0, quotas[i]), 0);
        run_ticks(node, 1);

        uint64_t now = instructions_of(node, 0);

        assert_float_equal((double)(now - before) / (double)all, expected[i], 0.02);
        before = now;
    }
    assert_int_equal(simnode_set_quota(node, 0, 0), -EINVAL);
    assert_int_equal(simnode_set_quota(node, 0, NAN), -EINVAL);
    release(node, scenario);
}

TEST(test_paused_and_resumed)
{
    struct scenario *scenario = SIX_THREADS("c");
    struct simnode *node = new_node(scenario);

    run_ticks(node, 1);
    uint64_t first = instructions_of(node, 0);
    run_ticks(node, 1);
    uint64_t before = instructions_of(node, 0);
    first = before - first; /* in a tick with warm caches */
    uint64_t cycles = total_of(node, 0, GROUP_CORE, ROLE_CYCLES);
    assert_int_equal(simnode_set_paused(node, 0, true), 0);
    assert_int_equal(simnode_set_paused(node, 0, true), 0);
    run_ticks(node, 2);
    assert_int_equal(instructions_of(node, 0), before);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_CYCLES), cycles);
    /* A quota does not wake it. */
    assert_int_equal(simnode_set_quota(node, 0, 3), 0);
    run_ticks(node, 1);
    assert_int_equal(instructions_of(node, 0), before);
    assert_int_equal(simnode_set_quota(node, 0, INFINITY), 0);
    run_ticks(node, 1);
    assert_int_equal(simnode_set_paused(node, 0, false), 0);
    run_ticks(node, 1);
    assert_float_equal((double)(instructions_of(node, 0) - before) / (double)first, 1, 0.01);
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_CYCLES), 3 * cycles / 2);
    release(node, scenario);
}

/* --- the cache --- */

/* 64 sets of 16 ways; one loops over half of it, the other streams. */
#define LOOP_AND_STREAM                                                                            \
    parse_scenario("{'scenario':1,'tick_cycles':200000," TINY_MACHINE ",'workloads':{"             \
                   "'loop':{'kind':'loop','bytes':32768,'instructions_per_access':4},"             \
                   "'stream':{'kind':'stream','bytes':16777216,'instructions_per_access':20}},"    \
                   "'containers':[{'key':'a','workload':'loop','cpus':[0]},"                       \
                   "{'key':'b','workload':'stream','cpus':[1]}]}")

static uint64_t misses_in_a_tick(struct simnode *node, size_t container)
{
    uint64_t before = cache_of(node, container).misses;

    run_ticks(node, 1);
    return cache_of(node, container).misses - before;
}

TEST(test_ways_change_at_once)
{
    struct scenario *scenario = LOOP_AND_STREAM;
    struct simnode *node = new_node(scenario);

    assert_int_equal(simnode_set_ways(node, 0, 0xff00), 0);
    assert_int_equal(simnode_set_ways(node, 1, 0x00ff), 0);
    run_ticks(node, 2);
    assert_int_equal(misses_in_a_tick(node, 0), 0);
    /* Now the stream fills the loop's ways: what it brings in since is the least recently used. */
    assert_int_equal(simnode_set_ways(node, 1, 0xff00), 0);
    run_ticks(node, 1);
    assert_true(misses_in_a_tick(node, 0) > 500);
    /* Lines stay where they are, so half of the cache has to be filled once. */
    assert_int_equal(simnode_set_ways(node, 1, 0x00ff), 0);
    run_ticks(node, 1);
    assert_int_equal(misses_in_a_tick(node, 0), 0);
    assert_int_equal(simnode_set_ways(node, 0, 0), -EINVAL);
    assert_int_equal(simnode_set_ways(node, 0, 0x10000), -EINVAL);
    release(node, scenario);
}

/* A loop over two lines of each set finds each with one other used since, over three with two. */
TEST(test_stack_positions)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':100000,'ats_sets':16," TINY_MACHINE
        ",'workloads':{'two':{'kind':'loop','bytes':8192,'instructions_per_access':4},"
        "'three':{'kind':'loop','bytes':12288,'instructions_per_access':4}},"
        "'containers':[{'key':'a','workload':'two','cpus':[0]},"
        "{'key':'b','workload':'three','cpus':[1]}]}");
    struct simnode *node = new_node(scenario);

    run_ticks(node, 1);
    for (size_t i = 0; i < 2; i++) {
        struct simnode_cache_totals totals = cache_of(node, i);
        uint64_t sampled = 0;

        for (size_t way = 0; way < CACHE_MAX_WAYS; way++) {
            sampled += totals.way_hits[way];
            assert_true((totals.way_hits[way] > 0) == (way == i + 1));
        }
        assert_int_equal(totals.tag_misses, 16 * (i + 2));
        assert_int_equal(totals.hits + totals.misses, totals.accesses);
        assert_float_equal((double)(sampled + totals.tag_misses) / (double)totals.accesses, 0.25,
                           0.01);
        assert_true(totals.shadow_cycles > 95000 && totals.shadow_cycles <= 100000);
    }
    release(node, scenario);
}

/* A chase has one access outstanding: 20 of each 21 cycles where all hit. */
TEST(test_hit_time_outside_epochs)
{
    struct scenario *scenario =
        parse_scenario("{'scenario':1,'tick_cycles':100000," TINY_MACHINE
                       ",'workloads':{'w':{'kind':'chase','sequential':true,'bytes':4096}},"
                       "'containers':[{'key':'a','workload':'w','cpus':[0]}]}");
    struct simnode *node = new_node(scenario);

    run_ticks(node, 1);
    struct simnode_cache_totals before = cache_of(node, 0);
    assert_int_equal(before.misses, 64);
    assert_true(before.miss_cycles > 64 * 30);
    run_ticks(node, 1);
    struct simnode_cache_totals after = cache_of(node, 0);
    assert_int_equal(after.misses, 64);
    assert_int_equal(after.miss_cycles, before.miss_cycles);
    assert_float_equal((double)(after.hit_cycles - before.hit_cycles) /
                           (double)(after.hits - before.hits),
                       20, 0.01);
    assert_int_equal(after.way_hits[0] + after.tag_misses + after.shadow_cycles, 0);
    release(node, scenario);
}

/* --- memory --- */

#define FOUR_STREAMS(more)                                                                         \
    parse_scenario("{'scenario':1,'tick_cycles':400000," more                                      \
                   "'machine':{'preset':'asm','cores_per_socket':4},'workloads':{"                 \
                   "'s':{'kind':'stream','bytes':67108864,'instructions_per_access':6}},"          \
                   "'containers':[{'key':'a','workload':'s','cpus':[0]},"                          \
                   "{'key':'b','workload':'s','cpus':[1],'seed':5},"                               \
                   "{'key':'c','workload':'s','cpus':[2],'seed':6},"                               \
                   "{'key':'d','workload':'s','cpus':[3],'seed':7}]}")

static double lines_of(struct simnode *node, size_t container)
{
    struct simnode_traffic traffic;

    simnode_traffic(node, container, &traffic);
    return (double)traffic.fetched[REQUEST_READ];
}

TEST(test_bandwidth_is_each_containers_own)
{
    struct scenario *scenario = FOUR_STREAMS("");
    struct simnode *node = new_node(scenario);
    /* Peak: a line in 4 clocks of 1.5 ns; cycles of 5.3 GHz. */
    double peak = 400000 / 5.3 / 6, before[2];

    /* All of them together leave the memory time. */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(simnode_set_mba(node, i, i == 1 ? 20 : 10), 0);
    run_ticks(node, 1);
    assert_float_equal(lines_of(node, 0) / peak, 0.1, 0.01);
    assert_float_equal(lines_of(node, 1) / peak, 0.2, 0.02);
    before[0] = lines_of(node, 0);
    before[1] = lines_of(node, 1);
    assert_int_equal(simnode_set_mba(node, 0, 100), 0);
    run_ticks(node, 1);
    assert_true(lines_of(node, 0) - before[0] > 1.2 * (lines_of(node, 1) - before[1]));
    assert_int_equal(simnode_set_mba(node, 0, 0), -EINVAL);
    assert_int_equal(simnode_set_mba(node, 0, 101), -EINVAL);
    release(node, scenario);
}

TEST(test_epochs_come_by_weight)
{
    static const double weights[] = {2, 4, 1, 1};
    struct scenario *scenario = FOUR_STREAMS("'epochs':{'length_cycles':200},");
    struct simnode *node = new_node(scenario);
    enum { TICKS = 5, EPOCHS = TICKS * 2000 };

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(simnode_set_epoch_weight(node, i, weights[i]), 0);
    run_ticks(node, TICKS);
    for (size_t i = 0; i < 4; i++) {
        double p = weights[i] / 8, sigma = sqrt(EPOCHS * p * (1 - p));
        double n = (double)total_of(node, i, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT);

        assert_float_equal(n, EPOCHS * p, 3 * sigma);
    }
    /* Without a weight, no epochs. */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(simnode_set_epoch_weight(node, i, i == 2), 0);

    uint64_t others = total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT),
             third = total_of(node, 2, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT);

    run_ticks(node, 1);
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT), others);
    assert_int_equal(total_of(node, 2, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT), third + 2000);
    assert_int_equal(simnode_set_epoch_weight(node, 0, -1), -EINVAL);
    release(node, scenario);
}

TEST(test_what_cannot_be_is_refused)
{
    struct scenario *scenario = FOUR_STREAMS("'epochs':{'length_cycles':200},");
    struct simnode *node = new_node(scenario);

    assert_int_equal(simnode_set_quota(node, 0, 0.5), -EINVAL);
    assert_int_equal(simnode_set_paused(node, 0, true), -EINVAL);
    release(node, scenario);
    scenario = LOOP_AND_STREAM;
    node = new_node(scenario);
    assert_int_equal(simnode_set_epoch_weight(node, 0, 1), -EINVAL);
    release(node, scenario);
}

/* --- actions --- */

#define WITH_ACTIONS(actions)                                                                      \
    "{'scenario':1,'tick_cycles':60000,'ticks':4,'machine':{'preset':'clx',"                       \
    "'cores_per_socket':4},'workloads':{'r':{'kind':'random','bytes':67108864},"                   \
    "'c':{'kind':'compute'}}," actions "'containers':[{'key':'a','workload':'r','cpus':[0,1]},"    \
    "{'key':'b','workload':'c','cpus':[2,3]}]}"

static char *recording_of(const char *text, size_t *len)
{
    struct scenario *scenario = parse_scenario(text);
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, len);

    assert_non_null(out);
    assert_int_equal(record_run(scenario, NULL, out), 0);
    fclose(out);
    scenario_free(scenario);
    return bytes;
}

/* To set what is so anyway changes nothing at all. */
TEST(test_defaults_change_no_byte)
{
    size_t len, len_set;
    char *plain = recording_of(WITH_ACTIONS(""), &len);
    char *set = recording_of(WITH_ACTIONS("'actions':[{'tick':1,'container':'a','llc_ways':'7ff'},"
                                          "{'tick':2,'container':'a','mba_percent':100},"
                                          "{'tick':2,'container':'b','quota_cores':2}],"),
                             &len_set);

    assert_int_equal(len, len_set);
    assert_memory_equal(plain, set, len);
    free(plain);
    free(set);
}

TEST(test_actions_are_what_is_set)
{
    struct scenario *with =
        parse_scenario(WITH_ACTIONS("'actions':[{'tick':2,'container':'a','quota_cores':0.5},"
                                    "{'tick':2,'container':'b','llc_ways':'1'},"
                                    "{'tick':3,'container':'a','mba_percent':5}],"));
    struct scenario *without = parse_scenario(WITH_ACTIONS(""));
    struct simnode *one = new_node(with), *other = new_node(without);

    for (int tick = 1; tick <= 4; tick++) {
        if (tick == 2) {
            assert_int_equal(simnode_set_quota(other, 0, 0.5), 0);
            assert_int_equal(simnode_set_ways(other, 1, 1), 0);
        }
        if (tick == 3)
            assert_int_equal(simnode_set_mba(other, 0, 5), 0);
        run_ticks(one, 1);
        run_ticks(other, 1);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(instructions_of(one, i), instructions_of(other, i));
    }
    simnode_free(one);
    release(other, with);
    scenario_free(without);
}
