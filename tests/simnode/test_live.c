/* The node behind the interface of counter sources. */
#include "tests/simnode/test_support.h"

#include "tests/simnode/live.h"

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

static void test_reads_what_the_node_counts(void **state)
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

    (void)state;
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
    simnode_free(node);
    scenario_free(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_the_node_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
