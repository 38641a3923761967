/* What core_latency tells of each container's reads: what it publishes, in the same tick. */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

#define C(n) "interference_container_" n

static int setup(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &core_latency_collector);
    rig->facts.machine.numa_nodes = 1;
    rig->facts.reads.wanted = true;
    rig_start(rig);
    *state = rig;
    return 0;
}

static int unwanted_setup(void **state)
{
    setup(state);
    ((struct rig *)*state)->facts.reads.wanted = false;
    return 0;
}

/* One second on this CPU at the base frequency, with so many reads of so many cycles beyond the
 * caches each. */
static void work(struct rig *rig, const char *key, int cpu, uint64_t reads, double occupancy)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_CORE);
    fake_window(g, cpu, 1000000000u, {ROLE_CYCLES, 2100000000u}, {ROLE_REF_CYCLES, 2100000000u},
                {ROLE_L3_MISS_READS, reads},
                {ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)((double)reads * occupancy)});
}

static const struct read_latency *told(struct rig *rig, const struct container *container)
{
    return read_latencies_find(&rig->facts.reads, container->slot, rig->tick.number);
}

RIG_TEST(it_tells_what_it_publishes, setup)
{
    const struct container *a = rig_container(rig, "a");
    unsigned without = 0;
    for (int i = 0; i < 20; i++) {
        work(rig, "a", 0, 100000, 166);
        rig_tick(rig);
        const struct read_latency *reads = told(rig, a);
        assert_non_null(reads);
        assert_true(reads->reads == 100000);
        double baseline = rig_value(rig, C("memory_read_latency_baseline_seconds"), "");
        without += isnan(baseline);
        assert_int_equal(isnan(baseline), isnan(reads->baseline_seconds));
        assert_true(isnan(baseline) || baseline == reads->baseline_seconds);
        assert_true(reads->latency_seconds ==
                    rig_value(rig, C("memory_read_latency_seconds"), "container=\"a\""));
    }
    assert_true(without > 0 && without < 20);
    work(rig, "a", 0, 100000, 250);
    rig_tick(rig);
    /* Alone, it is calm in this window, too: the twelfth, since the first nine never are. */
    double excess = told(rig, a)->latency_seconds - told(rig, a)->baseline_seconds;
    assert_true(fabs(excess - 11 * 84 / 12. / 2.1e9) < 1e-13);
    assert_true(rig->facts.reads.tick == rig->tick.number);
}

/* It is a lower bound: every busy container is above it. */
RIG_TEST(what_the_machine_does_at_best_is_no_baseline, setup)
{
    rig->facts.probe_best_seconds = 90e-9;
    rig->facts.containers_unseen = 1;
    const struct container *a = rig_container(rig, "a");
    for (int i = 0; i < 3; i++) {
        work(rig, "a", 0, 100000, 166);
        rig_tick(rig);
    }
    assert_false(isnan(rig_value(rig, C("memory_read_latency_baseline_seconds"), "machine")));
    assert_true(isnan(told(rig, a)->baseline_seconds));
}

RIG_TEST(without_a_busy_window_there_is_nothing_to_tell, setup)
{
    const struct container *a = rig_container(rig, "a");
    assert_null(told(rig, a)); /* before the first tick */
    work(rig, "a", 0, 999, 166);
    rig_tick(rig);
    assert_null(told(rig, a));
    work(rig, "a", 0, 1000, 166);
    rig_tick(rig);
    assert_non_null(told(rig, a));
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    g->enabled_ns[0] += 1000000000; /* starved */
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 100000);
    rig_tick(rig);
    assert_null(told(rig, a));
    g->no_reading = true;
    rig_tick(rig);
    assert_null(told(rig, a));
}

/* Of several nodes, where each read was; of a CPU whose node is not known, nothing. */
RIG_TEST(reads_are_told_by_node, setup)
{
    struct machine *machine = &rig->facts.machine;
    machine->numa_nodes = 2;
    machine_place_cpu_on_node(machine, 0, 1);
    machine_place_cpu_on_node(machine, 1, 3);
    const struct container *a = rig_container(rig, "a");
    work(rig, "a", 0, 30000, 166);
    work(rig, "a", 1, 50000, 166);
    rig_tick(rig);
    const struct read_latency *reads = told(rig, a);
    assert_true(reads->by_node[1] == 30000 && reads->by_node[3] == 50000);
    assert_true(reads->by_node[0] == 0 && reads->reads == 80000);
    machine->numa_node_of_cpu[1] = 0;
    work(rig, "a", 0, 30000, 166);
    rig_tick(rig); /* nothing was read on the other */
    assert_true(told(rig, a)->by_node[1] == 30000);
    work(rig, "a", 0, 30000, 166);
    work(rig, "a", 1, 1, 166);
    rig_tick(rig);
    assert_true(told(rig, a)->by_node[1] == 0 && told(rig, a)->reads == 30001);
    machine_place_cpu_on_node(machine, 1, READ_LATENCY_NODES);
    work(rig, "a", 0, 30000, 166);
    work(rig, "a", 1, 1, 166);
    rig_tick(rig);
    assert_true(told(rig, a)->by_node[1] == 0);
}

/* Whoever gets its slot is another one. */
RIG_TEST(a_forgotten_container_is_not_told_of, setup)
{
    struct container *a = rig_container(rig, "a");
    work(rig, "a", 0, 100000, 166);
    rig_tick(rig);
    assert_non_null(told(rig, a));
    rig_end(rig, a);
    rig_forget(rig, a);
    assert_null(told(rig, a));
}

RIG_TEST(a_dead_counter_tells_nothing, setup)
{
    const struct container *a = rig_container(rig, "a");
    work(rig, "a", 0, 100000, 166);
    rig->facts.l3_miss_reads_filtered = true;
    rig_tick(rig);
    assert_null(told(rig, a));
    assert_true(rig->facts.reads.tick == 0);
}

RIG_TEST(nobody_wants_it, unwanted_setup)
{
    const struct container *a = rig_container(rig, "a");
    work(rig, "a", 0, 100000, 166);
    rig_tick(rig);
    assert_null(told(rig, a));
    assert_int_equal(rig->facts.reads.n, 0);
}
