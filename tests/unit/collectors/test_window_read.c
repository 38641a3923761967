/* A window's sum, and that collectors which share a group get the same one. */
#include "collectors/parts/window_read.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/unit.h"

struct bench {
    struct fake_source fake;
    struct fake_group *group;
    struct source_set *set;
    struct log log;
    group_handle handle;
    struct collector_status first, second; /* two collectors' books */
    struct tick tick;
};

static group_handle open_key(struct bench *b, const char *key)
{
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = key};
    group_handle handle;
    assert_int_equal(source_set_open(b->set, &scope, GROUP_CORE, &handle, NULL), 0);
    return handle;
}

static int set_up(void **state)
{
    static struct bench bench;
    bench = (struct bench){.log.fd = -1};
    fake_source_init(&bench.fake);
    bench.group = fake_group(&bench.fake, "c1", GROUP_CORE);
    bench.set = source_set_new(&bench.log);
    assert_non_null(bench.set);
    assert_int_equal(source_set_route(bench.set, SCOPE_CGROUP, GROUP_CORE, &bench.fake.source), 0);
    bench.handle = open_key(&bench, "c1");
    *state = &bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    source_set_free(b->set);
    return 0;
}

static void begin(struct bench *b)
{
    b->tick.number++;
    assert_int_equal(source_set_begin(b->set, &b->tick), 0);
}

static uint64_t cycles_of(struct bench *b, struct collector_status *books)
{
    struct window_sum sum;
    enum window_status status;
    uint64_t cycles;
    assert_int_equal(window_read(b->set, b->handle, books, &sum, &status), 0);
    assert_int_equal(status, WINDOW_OK);
    assert_true(window_count(&sum, GROUP_CORE, ROLE_CYCLES, &cycles));
    return cycles;
}

static void run(struct bench *b, uint64_t cycles)
{
    for (int cpu = 0; cpu < FAKE_CPUS; cpu++) {
        fake_group_run(b->group, cpu, 1000000000);
        fake_group_add(b->group, cpu, ROLE_CYCLES, cycles);
    }
}

TEST_ON(test_two_collectors_get_one_sum, struct bench *b, set_up, tear_down)
{
    for (uint64_t n = 1; n <= 3; n++) {
        run(b, 100 * n);
        begin(b);
        assert_int_equal(cycles_of(b, &b->first), 200 * n);
        assert_int_equal(cycles_of(b, &b->second), 200 * n);
        assert_true(b->first.pmu_running_seconds == 2.0 * (double)n);
        assert_true(b->second.pmu_running_seconds == 2.0 * (double)n);
    }
}

/* The window after one that could not be read is another one. */
TEST_ON(test_no_sum_outlives_its_window, struct bench *b, set_up, tear_down)
{
    struct window_sum sum;
    enum window_status status;
    run(b, 100);
    begin(b);
    assert_int_equal(cycles_of(b, &b->first), 200);
    run(b, 1);
    b->group->no_reading = true;
    begin(b);
    assert_int_equal(window_read(b->set, b->handle, &b->first, &sum, &status), -ENODATA);
    b->group->no_reading = false;
    run(b, 2);
    begin(b);
    assert_int_equal(cycles_of(b, &b->first), 6);
    assert_int_equal(cycles_of(b, &b->second), 6);
}

/* Nor does it come back with the slot of a group that was closed. */
TEST_ON(test_no_sum_outlives_its_group, struct bench *b, set_up, tear_down)
{
    run(b, 100);
    begin(b);
    assert_int_equal(cycles_of(b, &b->first), 200);
    source_set_close(b->set, b->handle);
    b->group = fake_group(&b->fake, "c2", GROUP_CORE);
    b->handle = open_key(b, "c2");
    run(b, 7);
    assert_int_equal(cycles_of(b, &b->first), 14);
}

TEST_ON(test_discards_are_in_both_books, struct bench *b, set_up, tear_down)
{
    struct collector_status *books[] = {&b->first, &b->second};
    b->group->enabled_ns[0] = 1000000000; /* and never running */
    begin(b);
    for (size_t i = 0; i < 2; i++) {
        struct window_sum sum;
        enum window_status status;
        assert_int_equal(window_read(b->set, b->handle, books[i], &sum, &status), 0);
        assert_int_equal(status, WINDOW_STARVED);
        assert_int_equal(books[i]->discarded[DISCARD_STARVED], 1);
        assert_true(books[i]->pmu_enabled_seconds == 1.0);
    }
}
