#include <sched.h>
#include <unistd.h>

#include "exporter/source/probe/topology.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* A made-up sysfs. */
struct tree {
    struct fixture fixture;
    struct chase_allowed allowed; /* everything, until a test says otherwise */
};

static void tree_init(struct tree *tree)
{
    fixture_init(&tree->fixture);
    memset(&tree->allowed, 0xff, sizeof tree->allowed);
}

static void tree_release(struct tree *tree)
{
    fixture_release(&tree->fixture);
}

static void tree_file(struct tree *tree, const char *path, const char *text)
{
    char full[128];
    snprintf(full, sizeof full, "sys/devices/system/%s", path);
    fixture_write(&tree->fixture, full, "%s", text);
}

static void two_sockets(struct tree *tree)
{
    tree_file(tree, "cpu/online", "0-15\n");
    tree_file(tree, "cpu/isolated", "\n");
    tree_file(tree, "node/online", "0-1\n");
    tree_file(tree, "node/has_memory", "0-1\n");
    tree_file(tree, "node/node0/cpulist", "0-3,8-11\n");
    tree_file(tree, "node/node1/cpulist", "4-7,12-15\n");
}

static void allow_cpus(struct tree *tree, const int *cpus, size_t n)
{
    memset(tree->allowed.cpus, 0, sizeof tree->allowed.cpus);
    for (size_t i = 0; i < n; i++)
        chase_bit_set(tree->allowed.cpus, cpus[i]);
}

/* Compares a topology with "node:cpu ..." of initiators and of targets. */
static void expect(const struct tree *tree, const char *initiators, const char *targets)
{
    struct chase_topology topology;
    char have[2][256] = {"", ""};
    assert_int_equal(chase_topology_init(&topology, &tree->fixture.fs, &tree->allowed, NULL), 0);
    for (size_t i = 0; i < topology.n_initiators; i++)
        snprintf(have[0] + strlen(have[0]), 32, "%d:%d ", topology.initiators[i].node,
                 topology.initiators[i].cpu);
    for (size_t i = 0; i < topology.n_targets; i++)
        snprintf(have[1] + strlen(have[1]), 32, "%d:%d ", topology.targets[i].node,
                 topology.targets[i].cpu);
    assert_string_equal(have[0], initiators);
    assert_string_equal(have[1], targets);
    chase_topology_release(&topology);
}

TEST(test_topology_two_sockets)
{
    struct tree tree;
    tree_init(&tree);
    two_sockets(&tree);
    expect(&tree, "0:0 1:4 ", "0:0 1:4 ");
    tree_release(&tree);
}

TEST(test_topology_cxl_node_is_a_target_only)
{
    struct tree tree;
    tree_init(&tree);
    two_sockets(&tree);
    tree_file(&tree, "node/online", "0-2\n");
    tree_file(&tree, "node/has_memory", "0-2\n");
    tree_file(&tree, "node/has_normal_memory", "0-1\n");
    tree_file(&tree, "node/node2/cpulist", "\n");
    expect(&tree, "0:0 1:4 ", "0:0 1:4 2:-1 ");
    tree_release(&tree);
}

TEST(test_topology_node_without_memory_is_an_initiator_only)
{
    struct tree tree;
    tree_init(&tree);
    two_sockets(&tree);
    tree_file(&tree, "node/has_memory", "0\n");
    expect(&tree, "0:0 1:4 ", "0:0 ");
    tree_release(&tree);
}

TEST(test_topology_avoids_isolated_cpus)
{
    struct tree tree;
    tree_init(&tree);
    two_sockets(&tree);
    tree_file(&tree, "cpu/isolated", "0-1,4-5\n");
    tree_file(&tree, "cpu/nohz_full", "2,12-13\n");
    expect(&tree, "0:3 1:6 ", "0:3 1:6 ");
    tree_file(&tree, "cpu/nohz_full", "(null)\n");
    expect(&tree, "0:2 1:6 ", "0:2 1:6 ");
    tree_file(&tree, "cpu/isolated", "4-7,12-15\n");
    expect(&tree, "0:0 ", "0:0 1:-1 ");
    tree_release(&tree);
}

TEST(test_topology_respects_affinity_and_cpuset)
{
    struct tree tree;
    int cpu = -7;
    tree_init(&tree);
    two_sockets(&tree);
    allow_cpus(&tree, (const int[]){2, 9, 13}, 3);
    expect(&tree, "0:2 1:13 ", "0:2 1:13 ");
    tree_file(&tree, "cpu/isolated", "2\n");
    expect(&tree, "0:9 1:13 ", "0:9 1:13 ");
    allow_cpus(&tree, (const int[]){4}, 1);
    expect(&tree, "1:4 ", "0:-1 1:4 ");
    assert_int_equal(chase_topology_cpu(&tree.fixture.fs, &tree.allowed, 0, &cpu), -ENODEV);
    assert_int_equal(cpu, -7);
    assert_int_equal(chase_topology_cpu(&tree.fixture.fs, &tree.allowed, 1, &cpu), 0);
    assert_int_equal(cpu, 4);
    memset(tree.allowed.nodes, 0, sizeof tree.allowed.nodes);
    chase_bit_set(tree.allowed.nodes, 1);
    expect(&tree, "1:4 ", "1:4 ");
    tree_release(&tree);
}

TEST(test_topology_without_numa)
{
    struct tree tree;
    tree_init(&tree);
    tree_file(&tree, "cpu/online", "0-3\n");
    expect(&tree, "0:0 ", "0:0 ");
    tree_release(&tree);
}

TEST(test_topology_refuses_garbage)
{
    struct tree tree;
    struct chase_topology topology;
    tree_init(&tree);
    two_sockets(&tree);
    tree_file(&tree, "node/node1/cpulist", "4-x\n");
    assert_int_equal(chase_topology_init(&topology, &tree.fixture.fs, &tree.allowed, NULL),
                     -EINVAL);
    tree_file(&tree, "node/node1/cpulist", "4-7\n");
    tree_file(&tree, "node/has_memory", "all of them\n");
    assert_int_equal(chase_topology_init(&topology, &tree.fixture.fs, &tree.allowed, NULL),
                     -EINVAL);
    tree_release(&tree);
}

TEST(test_allowed_is_our_own_affinity)
{
    struct chase_allowed allowed;
    cpu_set_t cpus;
    chase_allowed_read(&allowed);
    assert_int_equal(sched_getaffinity(getpid(), sizeof cpus, &cpus), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        assert_int_equal(chase_bit(allowed.cpus, i), CPU_ISSET((size_t)i, &cpus) != 0);
}
