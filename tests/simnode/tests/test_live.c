/* The node behind the interface of counter sources. */
#include "tests/simnode/tests/test_support.h"

#include "collectors/table.h"
#include "tests/simnode/recording/live.h"
#include "tests/unit/support/collector_rig.h"

static int open_key(struct source *source, enum scope_kind kind, const char *key, enum group group,
                    uint64_t *handle)
{
    struct scope scope = {.kind = kind, .key = key, .cgroup_fd = -1};
    struct verdict why = {0};
    int err = source->ops->open(source, &scope, group, handle, &why);

    assert_true(err == 0 || (why.reason != REASON_OK && why.words[0]));
    return err;
}

static uint64_t read_role(struct source *source, uint64_t handle, enum group group, enum role role)
{
    uint64_t space[2 + GROUP_MAX_ROLES + 2];
    struct reading reading = {.cap = 1, .stride_bytes = reading_stride(group), .rows = space};

    assert_int_equal(source->ops->width(source, handle), 1);
    assert_int_equal(source->ops->read(source, handle, &reading), 0);
    assert_int_equal(reading.n, 1);
    assert_int_equal(reading_row(&reading, 0)->cpu, -1);
    assert_true(reading_row(&reading, 0)->present & 1U << group_index(group, role));
    return reading_row(&reading, 0)->count[group_index(group, role)];
}

TEST(test_reads_what_the_node_counts)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':1000000,'machine':{'preset':'clx','cores_per_socket':2},"
        "'workloads':{'c':{'kind':'chase'}},"
        "'containers':[{'key':'p0','workload':'c','cpus':[0],'probe':true},"
        "{'key':'c1','workload':'c','cpus':[1],'memory':[{'node':0,'medium':'pmm'}]}]}");
    struct simnode *node = new_node(scenario);
    struct probe_reading probe;
    struct source *source;
    uint64_t core, imc, pmm, thread, none = 77;
    struct tick tick = {0};
    struct verdict why;
    size_t n;

    assert_int_equal(simnode_source_new(node, scenario, &source), 0);
    assert_int_equal(open_key(source, SCOPE_CGROUP, "c1", GROUP_CORE, &core), 0);
    assert_int_equal(open_key(source, SCOPE_THREAD, "p0", GROUP_CORE, &thread), 0);
    assert_int_equal(open_key(source, SCOPE_UNIT, "imc1", GROUP_RPQ, &imc), 0);
    assert_int_equal(open_key(source, SCOPE_UNIT, "imc0", GROUP_PMM_RPQ, &pmm), 0);
    assert_int_equal(open_key(source, SCOPE_CGROUP, "p0", GROUP_CORE, &none), -ENOENT);
    assert_int_equal(open_key(source, SCOPE_CGROUP, "zz", GROUP_CORE, &none), -ENOENT);
    assert_int_equal(open_key(source, SCOPE_UNIT, "imc1", GROUP_PMM_RPQ, &none), -ENOENT);
    assert_int_equal(open_key(source, SCOPE_CGROUP, "c1", GROUP_ASM_EPOCHS, &none), -ENOENT);
    assert_int_equal(none, 77);
    assert_false(source->ops->check(source, SCOPE_CPU, GROUP_CORE, &why));

    for (int i = 1; i <= 2; i++) {
        assert_int_equal(source->ops->begin(source, &tick), 0);
        assert_int_equal(read_role(source, core, GROUP_CORE, ROLE_CYCLES), i * 1000000);
        assert_int_equal(read_role(source, core, GROUP_CORE, ROLE_L3_MISS_READS),
                         total_of(node, 1, GROUP_CORE, ROLE_L3_MISS_READS));
        assert_true(read_role(source, thread, GROUP_CORE, ROLE_L3_MISS_READS) > 4000);
        assert_true(read_role(source, imc, GROUP_RPQ, ROLE_RPQ_INSERTS) > 800);
        assert_true(read_role(source, pmm, GROUP_PMM_RPQ, ROLE_PMM_RPQ_INSERTS) > 1000);
        assert_int_equal(source->ops->probes(source, &probe, 1, &n), 0);
        assert_int_equal(n, 1);
        assert_true(probe.latency_ns > 80 && probe.latency_ns < 100);
        assert_int_equal(source->ops->probes(source, &probe, 1, &n), 0);
        assert_int_equal(n, 0);
    }
    source->ops->close(source, core);
    source->ops->free(source);
    release(node, scenario);
}

/* A collector over a node that runs. */
struct running {
    struct scenario *scenario;
    struct simnode *node;
    struct source *source;
    struct rig rig;
};

static struct running *running_new(const char *text, const struct collector_ops *ops)
{
    struct running *running = calloc(1, sizeof *running);
    assert_non_null(running);
    running->scenario = parse_scenario(text);
    running->node = new_node(running->scenario);
    assert_int_equal(simnode_source_new(running->node, running->scenario, &running->source), 0);
    struct rig *rig = &running->rig;
    rig_init(rig, ops);
    assert_int_equal(source_set_route(rig->sources, SCOPE_CGROUP, GROUP_CORE, running->source), 0);
    assert_int_equal(source_set_route(rig->sources, SCOPE_THREAD, GROUP_CORE, running->source), 0);
    assert_int_equal(source_set_route_probes(rig->sources, running->source), 0);
    return running;
}

static void running_free(struct running *running)
{
    rig_release(&running->rig);
    simnode_free(running->node);
    scenario_free(running->scenario);
    free(running);
}

/* The latency of c1 and c2, tick by tick, is that of the truth of the same tick but for so much;
 * and their reads are what the node counted as this role. */
static void expect_latencies(struct running *running, enum group group, enum role reads,
                             double error)
{
    static const char *const labels[] = {"container=\"c1\"", "container=\"c2\""};
    struct simnode_truth before[2] = {{0}}, now;
    struct rig *rig = &running->rig;
    rig_start(rig);
    rig_container(rig, "c1");
    rig_container(rig, "c2");
    for (int tick = 1; tick <= 4; tick++) {
        assert_int_equal(rig_tick(rig), 0);
        for (size_t i = 0; i < 2; i++) {
            double latency =
                rig_value(rig, "interference_container_memory_read_latency_seconds", labels[i]);

            simnode_truth(running->node, i, &now);
            assert_float_equal(latency * 1e9 / (now.latency_ns_sum - before[i].latency_ns_sum) *
                                   (double)(now.reads - before[i].reads),
                               1, error);
            assert_true(rig_value(rig, "interference_container_memory_reads", labels[i]) ==
                        (double)total_of(running->node, i, group, reads));
            before[i] = now;
        }
    }
}

/* The node speeds up. */
TEST(test_core_latency_of_a_running_node)
{
    struct running *running = running_new(
        "{'scenario':1,'tick_cycles':500000,'machine':{'preset':'clx','cores_per_socket':2},"
        "'frequency_changes':[{'tick':3,'core_frequency_hz':2.6e9}],"
        "'workloads':{'c':{'kind':'chase'},'r':{'kind':'random','instructions_per_access':9}},"
        "'containers':[{'key':'c1','workload':'c','cpus':[0],'memory':[{'node':1}]},"
        "{'key':'c2','workload':'r','cpus':[1,2],'memory':[{'node':0}]}]}",
        &core_latency_collector);
    expect_latencies(running, GROUP_CORE, ROLE_L3_MISS_READS, 0.005);
    running_free(running);
}

/* The same of an AMD: misses in flight and fills, of which the latency is made. The table's t1 and
 * the times of hits are known; nothing here is approximate but the tick's edges. */
TEST(test_core_latency_from_fills)
{
    struct running *running = running_new(
        "{'scenario':1,'tick_cycles':500000,'machine':{'preset':'zen4','cores_per_socket':8},"
        "'effects':{'super_queue':true},"
        "'workloads':{'c':{'kind':'chase'},'r':{'kind':'random','instructions_per_access':9,"
        "'hot_bytes':524288,'hot_share':0.5,'store_share':0.2}},"
        "'containers':[{'key':'c1','workload':'c','cpus':[0]},"
        "{'key':'c2','workload':'r','cpus':[1,2]}]}",
        &core_latency_collector);
    struct source *source = running->source;
    struct rig *rig = &running->rig;
    struct verdict why;
    uint64_t none = 77;
    assert_false(source->ops->check(source, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(open_key(source, SCOPE_CGROUP, "c1", GROUP_CORE, &none), -ENOENT);
    assert_int_equal(source_set_route(rig->sources, SCOPE_CGROUP, GROUP_FILLS, source), 0);
    rig->facts.machine.base_frequency_hz = 2.4e9;
    rig->facts.l1d_hit_cycles = 4;
    rig->facts.machine.l2_fill_cycles = 10;
    rig->facts.machine.l3_fill_cycles = 46;
    facts_settle_fills(&rig->facts);
    expect_latencies(running, GROUP_FILLS, ROLE_L1D_FILLS_MEMORY, 0.01);
    running_free(running);
}

static const struct source_thread probe_thread = {.key = "p0", .kind = "probe", .tid = 1};

/* A machine whose constant nobody has written down. */
TEST(test_the_probe_calibrates_on_a_running_node)
{
    struct running *running = running_new(
        "{'scenario':1,'tick_cycles':100000,'machine':{'preset':'clx','cores_per_socket':2,"
        "'llc':{'lookup_cycles':39}},'workloads':{'c':{'kind':'chase'}},"
        "'containers':[{'key':'p0','workload':'c','cpus':[0],'probe':true}]}",
        &probe_collector);
    struct rig *rig = &running->rig;
    rig->facts.cache_cycles_final = false;
    assert_int_equal(inventory_add_thread(&rig->inventory, &probe_thread), 0);
    rig_start(rig);
    for (int tick = 1; tick <= 40 && !rig->facts.cache_cycles_final; tick++)
        assert_int_equal(rig_tick(rig), 0);
    assert_true(rig->facts.cache_cycles_final);
    assert_float_equal(rig->facts.machine.cache_cycles, 5 + 9 + 39 + 4, 0.2);
    assert_int_equal(rig_tick(rig), 0);
    assert_true(rig_value(rig, "interference_core_latency_error_ratio", "numa_node=\"0\"") < 0.005);
    running_free(running);
}

/* Ice Lake and later: only what is outside the core is calibrated, in seconds. In the model a
 * lookup ends with a core cycle. */
TEST(test_the_probe_calibrates_in_two_parts)
{
    struct running *running = running_new(
        "{'scenario':1,'tick_cycles':100000,'machine':{'preset':'clx','cores_per_socket':2,"
        "'core_frequency_hz':3.8e9,'llc':{'lookup_cycles':72,'clock_hz':2.4e9}},"
        "'frequency_changes':[{'tick':41,'core_frequency_hz':2e9}],"
        "'workloads':{'c':{'kind':'chase'}},"
        "'containers':[{'key':'p0','workload':'c','cpus':[0],'probe':true}]}",
        &probe_collector);
    struct rig *rig = &running->rig;
    rig->facts.cache_cycles_final = false;
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_core_cycles = 18;
    assert_int_equal(inventory_add_thread(&rig->inventory, &probe_thread), 0);
    rig_start(rig);
    for (int tick = 1; tick <= 50; tick++)
        assert_int_equal(rig_tick(rig), 0);
    assert_true(rig->facts.cache_cycles_final);
    assert_float_equal(rig->facts.machine.cache_cycles, 18, 0);
    assert_float_equal(rig->facts.machine.cache_seconds * 1e9, 30, 0.5);
    assert_true(rig_value(rig, "interference_core_latency_error_ratio", "numa_node=\"0\"") < 0.005);
    running_free(running);
}
