/* CPU time per NUMA node: whose CPUs are whose, and not the probe's. */
#include <string.h>

#include "collectors/attribution/lanes/activity.h"
#include "exporter/source/source.h"
#include "tests/unit/support/unit.h"

enum { CPUS = 4 };

static void fill(struct reading *reading, uint64_t *space, const uint64_t *enabled_ns)
{
    *reading = (struct reading){
        .n = CPUS, .cap = CPUS, .stride_bytes = reading_stride(GROUP_ACTIVITY), .rows = space};
    for (int cpu = 0; cpu < CPUS; cpu++) {
        struct reading_row *row = reading_row(reading, (size_t)cpu);
        row->cpu = cpu;
        row->present = 1;
        row->enabled_ns = row->running_ns = row->count[0] = enabled_ns[cpu];
    }
}

/* CPUs 0 and 2 are of node 0, 1 of node 3, 3 of none that is known. The probe of node 0 is on 0. */
TEST(test_each_node_has_its_own)
{
    (void)state;
    static const uint64_t first[CPUS] = {0, 0, 7, 0},
                          second[CPUS] = {500000000, 1000000000, 250000007, 0};
    static const uint64_t third[CPUS] = {500000000, 1000000000, 250000007, 125000000};
    struct machine machine = {.numa_nodes = 2};
    struct activity_nodes nodes = {.machine = &machine, .n = 2, .at = {{0, 0}, {3, -1}}};
    uint64_t space[3][CPUS * 4];
    struct reading readings[3];
    struct activity out;
    machine_place_cpu_on_node(&machine, 0, 0);
    machine_place_cpu_on_node(&machine, 2, 0);
    machine_place_cpu_on_node(&machine, 1, 3);
    fill(&readings[0], space[0], first);
    fill(&readings[1], space[1], second);
    fill(&readings[2], space[2], third);

    struct group_window window = {.before = &readings[0], .after = &readings[1]};
    assert_true(activity_of_window(&window, &nodes, 0.5, &out));
    assert_true(out.placed);
    assert_true(out.all == 3.5);
    assert_true(out.on[0] == 0.5);
    assert_true(out.on[1] == 2);

    window = (struct group_window){.before = &readings[1], .after = &readings[2]};
    assert_true(activity_of_window(&window, &nodes, 0.5, &out));
    assert_false(out.placed); /* counts for both */
    assert_true(out.on[0] == 0.25 && out.on[1] == 0.25);
}
