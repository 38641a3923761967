/* What must hold in any run: conservation, Little's law, bandwidth, monotony, determinism. */
#include "tests/simnode/tests/test_support.h"

#define MIX                                                                                        \
    "'workloads':{'stream':{'kind':'stream','bytes':33554432,'instructions_per_access':12,"        \
    "'store_share':0.3,'streams':3},"                                                              \
    "'random':{'kind':'random','bytes':33554432,'instructions_per_access':20,'dependence':0.3,"    \
    "'hot_bytes':262144,'hot_share':0.6,'store_share':0.1,'nt_share':0.3},"                        \
    "'chase':{'kind':'chase','bytes':67108864},"                                                   \
    "'phases':{'kind':'phases','phases':[{'workload':'random','instructions':40000},"              \
    "{'workload':'stream','instructions':60000}]}},"                                               \
    "'containers':[{'key':'s','workload':'stream','cpus':[0]},"                                    \
    "{'key':'r','workload':'random','cpus':[1],'sample_period':100},"                              \
    "{'key':'c','workload':'chase','cpus':[2]},"                                                   \
    "{'key':'p','workload':'phases','cpus':[3],'page_bytes':4096}]}"

#define ASM_MIX                                                                                    \
    "{'scenario':1,'tick_cycles':1000000,'epochs':{'length_cycles':10000},"                        \
    "'machine':{'preset':'asm'},'effects':{'super_queue':true}," MIX

#define FULL_MIX                                                                                   \
    "{'scenario':1,'tick_cycles':200000,"                                                          \
    "'machine':{'preset':'clx','cores_per_socket':4,'prefetcher':{'degree':4},"                    \
    "'l2':{'bytes':131072},'llc':{'bytes':1441792,'ports':2}},"                                    \
    "'effects':{'super_queue':true,'llc_busy':true,'dirty_evictions':true,'tlb':true,"             \
    "'remote_cache_hits':true,'prefetch_merging':true}," MIX

struct sums {
    uint64_t miss_wait_fs, reads, queue_wait_fs, queued;
};

static void add_request(void *context, const struct request *request, uint64_t done_fs)
{
    struct sums *sums = context;

    if (request->kind == REQUEST_READ && request->labelled) {
        sums->miss_wait_fs += done_fs - request->label_fs;
        sums->reads++;
    }
    if (request->from_memory && !request->pmm) {
        sums->queue_wait_fs += request->cas_fs - request->insert_fs;
        sums->queued++;
    }
}

/* Occupancies are integrals, the sums are of single requests: they must agree but for what is
 * under way at the end. */
TEST(test_littles_law)
{
    struct scenario *scenario = parse_scenario(ASM_MIX);
    struct simnode *node = new_node(scenario);
    struct sums sums = {0};
    uint64_t occupancy = 0, reads = 0;
    struct simnode_reading rpq;

    simnode_observe(node, add_request, &sums);
    for (int i = 0; i < 5; i++)
        assert_int_equal(simnode_run_tick(node), 0);
    for (size_t i = 0; i < 4; i++) {
        occupancy += total_of(node, i, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY);
        reads += total_of(node, i, GROUP_CORE, ROLE_L3_MISS_READS);
    }
    assert_true(reads > 20000);
    assert_in_range(sums.reads, reads - 4 * 32, reads);
    assert_float_equal((double)occupancy * (double)node->period_fs / (double)sums.miss_wait_fs, 1.0,
                       0.005);
    assert_int_equal(simnode_read_unit(node, 0, GROUP_RPQ, &rpq), 0);
    assert_in_range(sums.queued, rpq.values[1] - 200, rpq.values[1]);
    assert_float_equal((double)rpq.values[2] * (double)node->dram_period_fs /
                           (double)sums.queue_wait_fs,
                       1.0, 0.005);
    release(node, scenario);
}

TEST(test_core_estimate_equals_the_truth_without_effects)
{
    struct scenario *scenario = parse_scenario(ASM_MIX);
    struct simnode *node = new_node(scenario);

    /* The super queue's wait is outside the counters: without it every cycle is accounted for. */
    scenario->effects.super_queue = false;
    for (int i = 0; i < 5; i++)
        assert_int_equal(simnode_run_tick(node), 0);
    for (size_t i = 0; i < 4; i++) {
        double s = (double)total_of(node, i, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY);
        double r = (double)total_of(node, i, GROUP_CORE, ROLE_L3_MISS_READS);
        double cycles = (double)scenario_cache_cycles(&scenario->machine) + s / r;
        struct simnode_truth truth;

        simnode_truth(node, i, &truth);
        assert_float_equal(cycles / 5.3 / (truth.latency_ns_sum / (double)truth.reads), 1.0, 0.005);
    }
    release(node, scenario);
}

TEST(test_bandwidth_stays_below_the_peak)
{
    struct scenario *scenario = parse_scenario(ASM_MIX);
    uint64_t before = 0;

    scenario->epoch_cycles = 0; /* an epoch's priority leaves clocks unused */
    struct simnode *node = new_node(scenario);
    for (int i = 0; i < 10; i++) {
        struct simnode_unit_totals totals;
        double clocks =
            (double)scenario->tick_cycles * (double)node->period_fs / (double)node->dram_period_fs;

        assert_int_equal(simnode_run_tick(node), 0);
        simnode_unit_totals(node, 0, &totals);

        double share = (double)((totals.cas_reads + totals.cas_writes - before) * 4) / clocks;

        assert_true(share <= 1.0);
        assert_true(i == 0 || share > 0.5); /* and these four do load it */
        before = totals.cas_reads + totals.cas_writes;
    }
    release(node, scenario);
}

enum { CONTAINERS = 4, UNITS = 10 };

static int read_any(struct simnode *node, size_t i, enum group group, struct simnode_reading *out)
{
    return i < CONTAINERS ? simnode_read_container(node, i, group, out)
                          : simnode_read_unit(node, i - CONTAINERS, group, out);
}

/* Of all containers and units. */
static void check_monotony(struct simnode *node,
                           uint64_t (*before)[GROUP_COUNT][GROUP_MAX_ROLES + 1])
{
    for (size_t i = 0; i < CONTAINERS + UNITS; i++) {
        for (int group = 0; group < GROUP_COUNT; group++) {
            struct simnode_reading reading;
            uint64_t *last = before[i][group];

            if (read_any(node, i, (enum group)group, &reading) != 0)
                continue;
            for (size_t k = 0; k < group_descs[group].n; k++) {
                assert_true(reading.values[k] >= last[k]);
                last[k] = reading.values[k];
            }
            assert_true(reading.enabled_ns >= last[GROUP_MAX_ROLES]);
            last[GROUP_MAX_ROLES] = reading.enabled_ns;
        }
    }
}

TEST(test_counters_never_fall)
{
    struct scenario *scenario = parse_scenario(FULL_MIX);
    uint64_t before[CONTAINERS + UNITS][GROUP_COUNT][GROUP_MAX_ROLES + 1] = {{{0}}};

    scenario->containers[1].memory[0].pmm = true;
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_units(node), UNITS);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(simnode_run_cycles(node, 97 + (uint64_t)i % 13), 0);
        check_monotony(node, before);
    }
    assert_true(before[0][GROUP_CORE][3] > 1000);
    assert_true(before[CONTAINERS][GROUP_RPQ][1] > 100);
    assert_true(before[CONTAINERS][GROUP_PMM_RPQ][2] > 1000);
    release(node, scenario);
}

TEST(test_reads_are_conserved)
{
    struct scenario *scenario = parse_scenario(FULL_MIX);
    struct simnode *node = new_node(scenario);
    uint64_t inserts = 0, served = 0;

    for (int i = 0; i < 5; i++)
        assert_int_equal(simnode_run_tick(node), 0);
    for (size_t i = 0; i < node->n_units; i++) {
        struct simnode_unit_totals totals;

        simnode_unit_totals(node, i, &totals);
        inserts += totals.inserts;
        served += totals.reads_served;
        assert_int_equal(totals.cas_reads, totals.reads_served);
        assert_int_equal(totals.inserts - totals.reads_served, node->units[i].dram.reads);
    }
    assert_true(served > 1000 && inserts - served < 500);
    /* Nobody waits for ever: every core got on in the last tick. */
    for (size_t i = 0; i < 4; i++) {
        uint64_t instructions = total_of(node, i, GROUP_CORE, ROLE_INSTRUCTIONS);

        assert_int_equal(simnode_run_tick(node), 0);
        assert_true(total_of(node, i, GROUP_CORE, ROLE_INSTRUCTIONS) > instructions);
    }
    release(node, scenario);
}

TEST(test_a_run_is_a_function_of_its_scenario)
{
    const char *text[2] = {FULL_MIX, ASM_MIX};

    for (int t = 0; t < 2; t++) {
        struct scenario *scenario = parse_scenario(text[t]);
        struct simnode *a = new_node(scenario), *b = new_node(scenario);

        assert_int_equal(simnode_run_tick(a), 0);
        /* In other steps, read in between: reading changes nothing. */
        for (int i = 0; i < 10; i++) {
            assert_int_equal(simnode_run_cycles(b, (uint64_t)scenario->tick_cycles / 10), 0);
            total_of(b, 0, GROUP_CORE, ROLE_INSTRUCTIONS);
        }
        for (size_t i = 0; i < 4; i++)
            for (size_t k = 0; k < group_descs[GROUP_CORE].n; k++)
                assert_int_equal(total_of(a, i, GROUP_CORE, group_descs[GROUP_CORE].roles[k]),
                                 total_of(b, i, GROUP_CORE, group_descs[GROUP_CORE].roles[k]));
        simnode_free(a);
        release(b, scenario);
    }
}

TEST(test_another_seed_is_another_run)
{
    uint64_t reads[3];

    for (int i = 0; i < 3; i++) {
        char text[2048];

        snprintf(text, sizeof(text), "{'seed':%d,%s", i == 2 ? 7 : 8, &ASM_MIX[1]);
        struct scenario *scenario = parse_scenario(text);
        struct simnode *node = new_node(scenario);
        assert_int_equal(simnode_run_tick(node), 0);
        reads[i] = total_of(node, 1, GROUP_CORE, ROLE_L3_MISS_READS);
        release(node, scenario);
    }
    assert_int_equal(reads[0], reads[1]);
    assert_int_not_equal(reads[0], reads[2]);
}
