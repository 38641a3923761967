/*
 * Where containers' memory is, from cgroup files in a tree of our own: both versions, when they are
 * read, and descriptors that counters need back.
 */
#include <fcntl.h>
#include <unistd.h>

#include "exporter/source/memory/memory.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

struct place {
    struct fixture tree;
    char memory[128], unified[128];
    struct descriptor_pool pool;
    struct source *source;
    int directory;
    uint64_t space[16];
    struct reading reading;
    struct verdict why;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    fixture_init(&p->tree);
    snprintf(p->memory, sizeof p->memory, "%s/memory", p->tree.root);
    snprintf(p->unified, sizeof p->unified, "%s/unified", p->tree.root);
    fixture_write(&p->tree, "perf/c/cgroup.procs", "1\n");
    char path[160];
    snprintf(path, sizeof path, "%s/perf/c", p->tree.root);
    p->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(p->directory >= 0);
    p->pool.limit = 3;
    const struct memory_config config = {p->memory, p->unified, &p->pool};
    assert_int_equal(memory_source_new(&config, &p->source), 0);
    p->reading =
        (struct reading){.rows = p->space, .cap = 3, .stride_bytes = reading_stride(GROUP_PAGES)};
    assert_true(3 * p->reading.stride_bytes <= sizeof p->space);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    p->source->ops->free(p->source);
    assert_int_equal(p->pool.lent, 0);
    assert_null(p->pool.call_in);
    close(p->directory);
    fixture_release(&p->tree);
    free(p);
    return 0;
}

static int open_c(struct place *p, uint64_t *handle)
{
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "c", .cgroup_fd = p->directory, .cgroup_path = "/c"};
    return p->source->ops->open(p->source, &scope, GROUP_PAGES, handle, &p->why);
}

static void tick(struct place *p, uint64_t seconds)
{
    const struct tick now = {.mono_ns = seconds * SECOND};
    assert_int_equal(p->source->ops->begin(p->source, &now), 0);
}

static int read_c(struct place *p, uint64_t handle)
{
    return p->source->ops->read(p->source, handle, &p->reading);
}

static void assert_row(const struct place *p, size_t i, int node, uint64_t bytes)
{
    const struct reading_row *row = reading_row(&p->reading, i);
    assert_int_equal(row->cpu, node);
    assert_int_equal(row->present, 1);
    assert_int_equal(row->count[0], bytes);
}

TEST_ON(the_first_hierarchy_that_has_it, struct place *p, setup, teardown)
{
    uint64_t handle;
    assert_int_equal(open_c(p, &handle), -ENOENT);
    assert_int_equal(p->why.reason, REASON_NO_DEVICE);
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=300 N2=100\n");
    assert_int_equal(open_c(p, &handle), 0);
    tick(p, 100);
    assert_int_equal(read_c(p, handle), 0);
    assert_int_equal(p->reading.n, 2);
    assert_row(p, 0, 0, 300);
    assert_row(p, 1, 2, 100);
    p->source->ops->close(p->source, handle);

    fixture_write(&p->tree, "memory/c/memory.numa_stat",
                  "total=3 N0=3\nhierarchical_anon=2 N0=2\n");
    assert_int_equal(open_c(p, &handle), 0);
    assert_int_equal(read_c(p, handle), 0);
    assert_row(p, 0, 0, 2 * (uint64_t)sysconf(_SC_PAGESIZE));
    p->source->ops->close(p->source, handle);

    fixture_write(&p->tree, "perf/c/memory.numa_stat", "anon N1=5\n");
    assert_int_equal(open_c(p, &handle), 0);
    assert_int_equal(read_c(p, handle), 0);
    assert_row(p, 0, 1, 5);
}

/* At once, then once in each half minute; containers not all in the same tick. */
TEST_ON(when_it_is_read, struct place *p, setup, teardown)
{
    uint64_t handle[2];
    unsigned both = 0, readings[2] = {0, 0};
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=300\n");
    for (int i = 0; i < 2; i++)
        assert_int_equal(open_c(p, &handle[i]), 0);
    for (uint64_t second = 1000; second < 1000 + 4 * MEMORY_PERIOD_SECONDS; second++) {
        tick(p, second);
        int first = read_c(p, handle[0]), other = read_c(p, handle[1]);
        assert_true((first == 0 || first == -ENODATA) && (other == 0 || other == -ENODATA));
        assert_true(second != 1000 || (first == 0 && other == 0));
        readings[0] += first == 0;
        readings[1] += other == 0;
        both += first == 0 && other == 0;
    }
    assert_int_equal(both, 1);
    assert_true(readings[0] >= 4 && readings[0] <= 5);
    assert_true(readings[1] >= 4 && readings[1] <= 5);
}

TEST_ON(nodes_come_online_and_files_break, struct place *p, setup, teardown)
{
    uint64_t handle;
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=300\n");
    assert_int_equal(open_c(p, &handle), 0);
    assert_int_equal(p->source->ops->width(p->source, handle), 1);
    tick(p, 100);
    p->reading.cap = 1;
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=300 N1=1\n");
    assert_int_equal(read_c(p, handle), -ENOSPC);
    assert_int_equal(p->source->ops->width(p->source, handle), 2);
    p->reading.cap = 3;
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=\n");
    assert_int_equal(read_c(p, handle), -EINVAL);
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=300 N1=1\n");
    assert_int_equal(read_c(p, handle), 0); /* it is still due */
}

static void earlier_borrower(void *borrower, size_t n)
{
    *(size_t *)borrower += n;
}

TEST_ON(descriptors_are_given_back, struct place *p, setup, teardown)
{
    uint64_t handle[4];
    size_t asked = 0;
    p->source->ops->free(p->source);
    p->pool.call_in = earlier_borrower;
    p->pool.borrower = &asked;
    const struct memory_config config = {p->memory, p->unified, &p->pool};
    assert_int_equal(memory_source_new(&config, &p->source), 0);
    fixture_write(&p->tree, "unified/c/memory.numa_stat", "anon N0=300\n");
    for (int i = 0; i < 3; i++)
        assert_int_equal(open_c(p, &handle[i]), 0);
    assert_int_equal(open_c(p, &handle[3]), -EMFILE);
    assert_int_equal(p->why.reason, REASON_FD_LIMIT);
    assert_int_equal(p->source->ops->open_counters(p->source), 3);

    descriptor_pool_make_room(&p->pool, 1);
    assert_int_equal(p->pool.lent, 2);
    assert_int_equal(asked, 0);
    tick(p, 100);
    assert_int_equal(read_c(p, handle[2]), -EMFILE); /* the newest */
    assert_int_equal(read_c(p, handle[1]), 0);
    descriptor_pool_make_room(&p->pool, 6);
    assert_int_equal(p->pool.lent, 0);
    assert_int_equal(asked, 3); /* of those that it borrowed, as far as ours did not do */

    p->source->ops->free(p->source);
    assert_true(p->pool.call_in == earlier_borrower && p->pool.borrower == &asked);
    p->pool.call_in = NULL;
    p->pool.borrower = NULL;
    assert_int_equal(memory_source_new(&config, &p->source), 0);
}

TEST_ON(a_cgroup_that_is_gone, struct place *p, setup, teardown)
{
    uint64_t handle;
    char path[160];
    snprintf(path, sizeof path, "%s/perf/c/cgroup.procs", p->tree.root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(open_c(p, &handle), -ESRCH);
    assert_int_equal(p->pool.lent, 0);
}

TEST_ON(what_it_has, struct place *p, setup, teardown)
{
    const struct source_ops *ops = p->source->ops;
    assert_true(ops->check(p->source, SCOPE_CGROUP, GROUP_PAGES, &p->why));
    assert_int_equal(p->why.reason, REASON_OK);
    assert_false(ops->check(p->source, SCOPE_CGROUP, GROUP_CORE, &p->why));
    assert_false(ops->check(p->source, SCOPE_MACHINE, GROUP_PAGES, &p->why));
    p->memory[0] = p->unified[0] = '\0';
    assert_false(ops->check(p->source, SCOPE_CGROUP, GROUP_PAGES, &p->why));
    assert_int_equal(p->why.reason, REASON_NO_DEVICE);
}
