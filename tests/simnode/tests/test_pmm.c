/* Persistent memory against hand-computed times. */
#include "tests/simnode/tests/test_support.h"

#include "tests/simnode/model/pmm.h"

static const struct pmm_config config = {
    .dimms = 1,
    .buffer_latency_ns = 50,
    .media_latency_ns = 200,
    .read_bytes_per_second = 2.56e9, /* a granule in 100 ns */
    .write_bytes_per_second = 1.28e9,
    .read_queue = 2,
    .buffer_granules = 2,
};

static uint64_t ns(uint64_t fs)
{
    assert_int_equal(fs % FS_PER_NS, 0);
    return fs / FS_PER_NS;
}

TEST(test_granules_are_read_once)
{
    struct request a = {.line = 0}, b = {.line = 3}, c = {.line = 4};
    uint64_t done;
    struct pmm pmm;

    assert_int_equal(pmm_init(&pmm, &config), 0);
    assert_true(pmm_read(&pmm, &a, 0, &done));
    assert_int_equal(ns(done), 200);
    /* The same granule, on its way: ready in the buffer at 150. */
    assert_true(pmm_read(&pmm, &b, 10 * FS_PER_NS, &done));
    assert_int_equal(ns(done), 200);
    /* Two entries are taken: the third waits before the queue. */
    assert_false(pmm_read(&pmm, &c, 20 * FS_PER_NS, &done));
    assert_int_equal(pmm.inserts, 2);
    assert_ptr_equal(pmm_served(&pmm, 200 * FS_PER_NS, &done), &c);
    assert_int_equal(ns(done), 400); /* the media is free again: 200 more */
    assert_null(pmm_served(&pmm, 210 * FS_PER_NS, &done));
    /* Long after, in the buffer. */
    assert_true(pmm_read(&pmm, &a, 1000 * FS_PER_NS, &done));
    assert_int_equal(ns(done), 1050);
    assert_int_equal(pmm.media_bytes_read, 512);
    pmm_release(&pmm);
}

TEST(test_media_bandwidth)
{
    struct request requests[2] = {{.line = 0}, {.line = 40}};
    uint64_t done;
    struct pmm pmm;

    assert_int_equal(pmm_init(&pmm, &config), 0);
    assert_true(pmm_read(&pmm, &requests[0], 0, &done));
    assert_int_equal(ns(done), 200);
    assert_true(pmm_read(&pmm, &requests[1], 0, &done));
    assert_int_equal(ns(done), 300); /* its transfer begins when the first's 100 ns are over */
    pmm_release(&pmm);
}

TEST(test_writes_combine_to_granules)
{
    uint64_t accepted;
    struct pmm pmm;

    assert_int_equal(pmm_init(&pmm, &config), 0);
    for (uint64_t line = 0; line < 8; line++) { /* two whole granules fill the buffer */
        pmm_write(&pmm, line, 0, &accepted);
        assert_int_equal(accepted, 0);
    }
    assert_int_equal(pmm.media_bytes_written, 0);
    pmm_write(&pmm, 8, 0, &accepted); /* pushes one out: a write, no read */
    pmm_write(&pmm, 12, 0, &accepted);
    assert_int_equal(pmm.media_bytes_written, 512);
    assert_int_equal(pmm.media_bytes_read, 0);
    assert_int_equal(ns(accepted), 200); /* the first's 200 ns come before */
    /* A quarter of a granule is out: four times the bytes written, and read before. */
    pmm_write(&pmm, 16, 0, &accepted);
    assert_int_equal(pmm.media_bytes_written, 768);
    assert_int_equal(pmm.media_bytes_read, 256);
    pmm_release(&pmm);
}

/* The whole node: a PMM read leaves its queue when served, and is no DRAM read. */
TEST(test_counters_of_a_node_with_pmm)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':1000000,'machine':{'preset':'clx','cores_per_socket':2},"
        "'workloads':{'w':{'kind':'chase','bytes':67108864}},"
        "'containers':[{'key':'a','workload':'w','cpus':[0],"
        "'memory':[{'node':0,'medium':'pmm'}]}]}");
    struct simnode *node = new_node(scenario);
    struct simnode_reading reading;
    struct simnode_truth truth;

    assert_int_equal(simnode_run_tick(node), 0);
    simnode_truth(node, 0, &truth);
    assert_int_equal(simnode_read_unit(node, 0, GROUP_PMM_RPQ, &reading), 0);
    assert_in_range(reading.values[1], truth.reads, truth.reads + 1);
    assert_int_equal(simnode_read_unit(node, 1, GROUP_PMM_RPQ, &reading), -ENOENT);
    for (size_t i = 0; i < simnode_units(node); i++) {
        assert_int_equal(simnode_read_unit(node, i, GROUP_RPQ, &reading), 0);
        assert_int_equal(reading.values[1], 0);
    }
    assert_in_range(total_of(node, 0, GROUP_STALLS, ROLE_LOADS_LOCAL_PMM), truth.reads,
                    truth.reads);
    assert_int_equal(total_of(node, 0, GROUP_STALLS, ROLE_LOADS_LOCAL_DRAM), 0);
    release(node, scenario);
}

TEST(test_pages_are_placed_by_share_and_stores_sampled)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':2000000,'machine':{'preset':'clx','cores_per_socket':2},"
        "'workloads':{'w':{'kind':'random','bytes':268435456,'instructions_per_access':20,"
        "'store_share':0.3}},'containers':[{'key':'a','workload':'w','cpus':[0],"
        "'page_bytes':4096,'sample_period':10,'memory':[{'node':0,'medium':'pmm','share':0.2},"
        "{'node':0,'share':0.3},{'node':1,'share':0.5}]}]}");
    static const enum role regions[] = {ROLE_LOADS_LOCAL_PMM, ROLE_LOADS_LOCAL_DRAM,
                                        ROLE_LOADS_REMOTE_DRAM};
    static const double shares[] = {0.2, 0.3, 0.5};
    struct simnode *node = new_node(scenario);
    struct simnode_truth truth;
    size_t n, in_pmm = 0;

    assert_int_equal(simnode_run_tick(node), 0);
    simnode_truth(node, 0, &truth);
    assert_true(truth.reads > 5000);
    for (int i = 0; i < 3; i++)
        assert_float_equal((double)total_of(node, 0, GROUP_STALLS, regions[i]) /
                               (double)truth.reads,
                           shares[i], 0.03);
    /* Ordinary stores of 8 bytes, by medium. */
    assert_int_equal(truth.store_bytes[0] + truth.store_bytes[1],
                     8 * total_of(node, 0, GROUP_STORES, ROLE_STORES));
    assert_float_equal((double)truth.store_bytes[1] /
                           (double)(truth.store_bytes[0] + truth.store_bytes[1]),
                       0.2, 0.03);
    /* Every tenth is sampled. */
    const struct simnode_sample *samples = simnode_samples(node, &n);
    assert_int_equal(n, total_of(node, 0, GROUP_STORES, ROLE_STORES) / 10);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(samples[i].bytes, 8);
        in_pmm += samples[i].pmm;
    }
    assert_float_equal((double)in_pmm / (double)n, 0.2, 0.05);
    release(node, scenario);
}
