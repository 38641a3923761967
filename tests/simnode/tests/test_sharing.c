/* What containers do to each other, and what keeps them apart: tags, ways, epochs, throttling. */
#include "tests/simnode/tests/test_support.h"

/* One container loops over two lines; an LLC of one set of two ways would hold them. */
TEST(test_ats_knows_what_would_have_hit_alone)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':20000,'epochs':{'length_cycles':10000}," TINY_MACHINE
        ",'workloads':{'two':{'kind':'loop','bytes':128,'instructions_per_access':1},"
        "'hog':{'kind':'loop','bytes':65536,'instructions_per_access':1}},"
        "'containers':[{'key':'a','workload':'two','cpus':[0]},"
        "{'key':'b','workload':'hog','cpus':[1]}]}");
    struct simnode_asm_extra extra;

    scenario->machine.llc = (struct cache_spec){128, 2, 20};
    struct simnode *node = new_node(scenario);
    for (int i = 0; i < 4; i++)
        assert_int_equal(simnode_run_tick(node), 0);
    simnode_asm_extra(node, 0, &extra);
    /* Two cold misses in the auxiliary tags, whatever the hog does to the real ones. */
    assert_int_equal(extra.total_ats_misses[0], 2);
    assert_true(extra.total_ats_hits[0] > 100);
    assert_true(extra.total_misses > 50);
    assert_int_equal(extra.total_ats_hits[0] + extra.total_ats_misses[0],
                     extra.total_hits + extra.total_misses);
    assert_true(extra.ats_hits[0] <= extra.total_ats_hits[0]);
    release(node, scenario);
}

TEST(test_sampled_sets_see_their_share)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':100000,'ats_sets':8,'epochs':{'length_cycles':10000}"
        "," TINY_MACHINE
        ",'workloads':{'w':{'kind':'loop','bytes':4096,'instructions_per_access':1}},"
        "'containers':[{'key':'a','workload':'w','cpus':[0]}]}");
    struct simnode_asm_extra extra;
    struct simnode *node = new_node(scenario);

    assert_int_equal(simnode_run_tick(node), 0);
    simnode_asm_extra(node, 0, &extra);
    /* 64 lines over 64 sets, 8 of them sampled: one cold miss each, an eighth of the accesses. */
    assert_int_equal(extra.total_ats_misses[0], 64);
    assert_int_equal(extra.total_ats_misses[1], 8);
    assert_float_equal((double)extra.total_ats_hits[1] / (double)extra.total_ats_hits[0], 0.125,
                       0.002);
    /* The group shows the sampled ones; all epochs are its own. */
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_ATS_MISSES), 8);
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT), 10);
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_EPOCH_LENGTH), 10000);
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_QUANTUM_CYCLES), 100000);
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_HITS) +
                         total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_MISSES),
                     total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_ACCESSES));
    assert_int_equal(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_QUEUEING_CYCLES), 0);
    release(node, scenario);
}

/* hit_time is the time with at least one hit outstanding: a chase of hits has exactly one. */
TEST(test_hit_time_of_a_chase)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':100000,'epochs':{'length_cycles':10000}," TINY_MACHINE
        ",'workloads':{'w':{'kind':'chase','sequential':true,'bytes':4096}},"
        "'containers':[{'key':'a','workload':'w','cpus':[0]}]}");
    struct simnode *node = new_node(scenario);

    assert_int_equal(simnode_run_tick(node), 0);
    uint64_t hits = total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_HITS);
    uint64_t hit_time = total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_HIT_TIME);
    assert_true(hits > 4000);
    assert_in_range(hit_time, 20 * (hits - 1), 20 * hits); /* 20 of each 21 cycles */
    release(node, scenario);
}

struct by_epoch {
    struct simnode *node;
    uint64_t wait_fs[2], n[2];
};

static void add_wait(void *context, const struct request *request, uint64_t done_fs)
{
    struct by_epoch *by = context;

    if (request->app != 0 || !request->from_memory)
        return;

    bool own = by->node->epoch_app == 0;

    by->wait_fs[own] += done_fs - request->arrive_fs;
    by->n[own]++;
}

TEST(test_epochs_give_priority)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':4000000,'epochs':{'length_cycles':10000},"
        "'machine':{'preset':'asm'},'effects':{'super_queue':true},"
        "'workloads':{'light':{'kind':'random','bytes':67108864,'instructions_per_access':30,"
        "'dependence':1},"
        "'hog':{'kind':'stream','bytes':67108864,'instructions_per_access':60}},"
        "'containers':[{'key':'a','workload':'light','cpus':[0]},"
        "{'key':'b','workload':'hog','cpus':[1]},{'key':'c','workload':'hog','cpus':[2],'seed':7},"
        "{'key':'d','workload':'hog','cpus':[3],'seed':8}]}");
    struct simnode *node = new_node(scenario);
    struct by_epoch by = {.node = node};

    simnode_observe(node, add_wait, &by);
    assert_int_equal(simnode_run_tick(node), 0);
    assert_true(by.n[0] > 500 && by.n[1] > 200);
    double own = (double)by.wait_fs[1] / (double)by.n[1];
    double others = (double)by.wait_fs[0] / (double)by.n[0];
    assert_true(own < 0.6 * others);
    /* All four get epochs, and every epoch is somebody's. */
    uint64_t epochs = 0;

    for (size_t i = 0; i < 4; i++) {
        uint64_t count = total_of(node, i, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT);

        assert_in_range(count, 60, 140);
        epochs += count;
    }
    assert_int_equal(epochs, 400);
    assert_true(total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_QUEUEING_CYCLES) > 0);
    release(node, scenario);
}

/* The victim's LLC misses in a second tick, beside a hog in a class. */
static uint64_t misses_beside(const char *victim_ways, const char *hog_ways)
{
    char text[2048];
    struct scenario *scenario;

    snprintf(text, sizeof(text),
             "{'scenario':1,'tick_cycles':400000," TINY_MACHINE
             ",'classes':[{'name':'v','llc_ways':'%s'},{'name':'h','llc_ways':'%s'}],"
             "'workloads':{'w':{'kind':'loop','bytes':16384,'instructions_per_access':80},"
             "'hog':{'kind':'stream','bytes':1048576,'instructions_per_access':2}},"
             "'containers':[{'key':'a','workload':'w','class':'v','cpus':[0]},"
             "{'key':'b','workload':'hog','class':'h','cpus':[1]}]}",
             victim_ways, hog_ways);
    scenario = parse_scenario(text);
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    uint64_t before = total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READS);
    assert_int_equal(simnode_run_tick(node), 0);
    uint64_t after = total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READS);
    release(node, scenario);
    return after - before;
}

TEST(test_way_masks_protect)
{
    /* 16 KiB in 8 of 16 ways of 64 KiB fit; together with a hog in the same ways they do not. */
    assert_int_equal(misses_beside("ff00", "00ff"), 0);
    assert_true(misses_beside("ffff", "ffff") > 300);
}

static uint64_t hog_bytes(double percent, const char *stores)
{
    char text[1024];
    struct scenario *scenario;
    struct simnode_unit_totals totals;

    snprintf(text, sizeof(text),
             "{'scenario':1,'tick_cycles':1000000," TINY_MACHINE
             ",'classes':[{'name':'h','mba_percent':%g}],"
             "'workloads':{'hog':{'kind':'stream','bytes':1048576,'instructions_per_access':2%s}},"
             "'containers':[{'key':'b','workload':'hog','class':'h','cpus':[1,2]}]}",
             percent, stores);
    scenario = parse_scenario(text);
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    simnode_unit_totals(node, 0, &totals);
    release(node, scenario);
    return (totals.cas_reads + totals.cas_writes) * 64;
}

TEST(test_throttling_holds_a_class_to_its_share)
{
    /* The peak is a line every 4 ns: 16 bytes a clock, 16 MB in the tick's million. */
    assert_true(hog_bytes(100, "") > 10000000);
    assert_in_range(hog_bytes(10, ""), 1580000, 1601000);
    assert_in_range(hog_bytes(1, ""), 156000, 161000);
    /* Stores past the caches are held to it, too. */
    assert_true(hog_bytes(100, ",'store_share':1,'nt_share':1") > 10000000);
    assert_in_range(hog_bytes(10, ",'store_share':1,'nt_share':1"), 1560000, 1601000);
}
