/* How much memory a process may have: as the kernel says it, in files. */
#include "exporter/containers/cgroups/own_memory.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

static const uint64_t MIB = 1 << 20;

static int setup(void **state)
{
    struct fixture *tree = calloc(1, sizeof *tree);
    char path[128];
    assert_non_null(tree);
    fixture_init(tree);
    snprintf(path, sizeof path, "%s/cgroup", tree->root);
    fixture_mkdir(tree, "cgroup");
    fsroot_release(&tree->fs);
    char proc[128], sys[128];
    snprintf(proc, sizeof proc, "%s/proc", tree->root);
    snprintf(sys, sizeof sys, "%s/sys", tree->root);
    assert_int_equal(fsroot_init(&tree->fs, proc, sys, path, NULL), 0);
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    fixture_release(*state);
    free(*state);
    return 0;
}

/* A unit of systemd in a slice. */
TEST_ON(the_least_of_all_above, struct fixture *tree, setup, teardown)
{
    fixture_write(tree, "proc/self/cgroup", "0::/system.slice/exporter.service\n");
    fixture_write(tree, "cgroup/cgroup.controllers", "memory\n");
    assert_int_equal(own_memory_limit(&tree->fs), 0);
    fixture_write(tree, "cgroup/system.slice/exporter.service/memory.max", "max\n");
    assert_int_equal(own_memory_limit(&tree->fs), 0);
    fixture_write(tree, "cgroup/system.slice/memory.max", "%llu\n", 900 * (1ull << 20));
    assert_int_equal(own_memory_limit(&tree->fs), 900 * MIB);
    fixture_write(tree, "cgroup/system.slice/exporter.service/memory.max", "%llu\n",
                  512 * (1ull << 20));
    assert_int_equal(own_memory_limit(&tree->fs), 512 * MIB);
}

/* A container in a namespace of its own. */
TEST_ON(the_mount_is_the_cgroup, struct fixture *tree, setup, teardown)
{
    fixture_write(tree, "proc/self/cgroup", "0::/\n");
    fixture_write(tree, "cgroup/cgroup.controllers", "memory\n");
    fixture_write(tree, "cgroup/memory.max", "536870912\n");
    assert_int_equal(own_memory_limit(&tree->fs), 512 * MIB);
}

/* The host's hierarchy beside it, which is the one that is found. */
TEST_ON(the_hosts_is_not_ours, struct fixture *tree, setup, teardown)
{
    fixture_write(tree, "proc/self/cgroup", "0::/\n");
    fixture_write(tree, "cgroup/cgroup.controllers", "memory\n");
    fixture_write(tree, "sys/fs/cgroup/memory.max", "536870912\n");
    assert_int_equal(own_memory_limit(&tree->fs), 512 * MIB);
}

TEST_ON(of_the_first_version, struct fixture *tree, setup, teardown)
{
    fixture_write(tree, "proc/self/cgroup", "4:memory:/kubepods/pod1/c1\n1:cpu:/x\n0::/\n");
    fixture_write(tree, "cgroup/memory/tasks", "1\n");
    /* In the container: its own cgroup; 2^63 less a page is none. */
    fixture_write(tree, "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(own_memory_limit(&tree->fs), 0);
    fixture_write(tree, "cgroup/memory/memory.limit_in_bytes", "67108864\n");
    assert_int_equal(own_memory_limit(&tree->fs), 64 * MIB);
    /* On the host: the path is there. */
    fixture_write(tree, "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    fixture_write(tree, "cgroup/memory/kubepods/pod1/c1/memory.limit_in_bytes", "33554432\n");
    assert_int_equal(own_memory_limit(&tree->fs), 32 * MIB);
}

TEST_ON(nothing_known, struct fixture *tree, setup, teardown)
{
    assert_int_equal(own_memory_limit(&tree->fs), 0);
    fixture_write(tree, "proc/self/cgroup", "0::/a\n");
    assert_int_equal(own_memory_limit(&tree->fs), 0);
    fixture_write(tree, "cgroup/cgroup.controllers", "memory\n");
    fixture_write(tree, "cgroup/a/memory.max", "%s", "");
    assert_int_equal(own_memory_limit(&tree->fs), 0);
}
