/* The source set over a fake backend whose readings the tests write. */
#include "exporter/containers/container.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

/* A set with one fake that serves core, stalls and loads of containers, the probes and the samples;
 * and another fake, not routed. */
struct bench {
    struct fake_source fake, second;
    struct source_set *set;
};

static int set_up(void **state)
{
    static struct bench bench;
    struct source *source = &bench.fake.source;

    fake_source_init(&bench.fake);
    fake_source_init(&bench.second);
    bench.set = source_set_new(NULL);
    assert_non_null(bench.set);
    assert_int_equal(source_set_route(bench.set, SCOPE_CGROUP, GROUP_CORE, source), 0);
    assert_int_equal(source_set_route(bench.set, SCOPE_CGROUP, GROUP_STALLS, source), 0);
    assert_int_equal(source_set_route(bench.set, SCOPE_CGROUP, GROUP_LOADS, source), 0);
    assert_int_equal(source_set_route_probes(bench.set, source), 0);
    *state = &bench;
    return 0;
}

/* Tests that look at what happens at the end free the set themselves. */
static void free_set(struct bench *bench)
{
    source_set_free(bench->set);
    bench->set = NULL;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    free_set(bench);
    assert_int_equal(bench->fake.ledger.frees, 1);
    assert_int_equal(bench->fake.n_open, 0);
    assert_int_equal(bench->second.n_open, 0);
    return 0;
}

/* The total of the first role; enabled and running are the same number. */
static void total(struct fake_group *group, size_t cpu, uint64_t count)
{
    group->enabled_ns[cpu] = group->running_ns[cpu] = group->count[cpu][0] = count;
}

static group_handle open_group(struct source_set *set, const char *key, enum group group)
{
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = key, .cgroup_fd = -1};
    struct verdict why;
    group_handle handle = 0;

    assert_int_equal(source_set_open(set, &scope, group, &handle, &why), 0);
    assert_int_not_equal(handle, 0);
    return handle;
}

static void begin(struct source_set *set, uint64_t number)
{
    const struct tick tick = {.number = number, .mono_ns = number * 1000};

    assert_int_equal(source_set_begin(set, &tick), 0);
}

static uint64_t count0(const struct reading *reading, size_t i)
{
    assert_true(i < reading->n);
    return reading_row(reading, i)->count[0];
}

/* ---- windows ---- */

TEST_ON(test_window_lies_between_two_readings, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    group_handle handle = open_group(set, "c1", GROUP_CORE);
    struct group_window window;

    begin(set, 1);
    total(&fake->groups[0], 0, 100);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(window.group, GROUP_CORE);
    assert_int_equal(window.before->n, 0);
    assert_int_equal(count0(window.after, 0), 100);

    begin(set, 2);
    total(&fake->groups[0], 0, 250);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(count0(window.before, 0), 100);
    assert_int_equal(count0(window.after, 0), 250);

    begin(set, 3);
    total(&fake->groups[0], 0, 260);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(count0(window.before, 0), 250);
    assert_int_equal(count0(window.after, 0), 260);
    assert_int_equal(window.sum->count[0], 10);
    assert_int_equal(window.sum->running_ns, 10);
}

TEST_ON(test_one_read_per_tick, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    group_handle handle = open_group(set, "c1", GROUP_CORE);
    struct group_window first, second;

    begin(set, 1);
    total(&fake->groups[0], 0, 1);
    assert_int_equal(source_set_read(set, handle, &first), 0);
    begin(set, 2);
    total(&fake->groups[0], 0, 2);
    assert_int_equal(source_set_read(set, handle, &first), 0);
    total(&fake->groups[0], 0, 3); /* within the tick nobody sees this */
    assert_int_equal(source_set_read(set, handle, &second), 0);
    assert_ptr_equal(first.before, second.before);
    assert_ptr_equal(first.after, second.after);
    assert_ptr_equal(first.sum, second.sum);
    assert_int_equal(second.sum->count[0], 1);
    assert_int_equal(count0(second.before, 0), 1);
    assert_int_equal(count0(second.after, 0), 2);
    assert_int_equal(bench->fake.ledger.reads, 2);
}

TEST_ON(test_tick_without_reading_widens_the_window, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    group_handle handle = open_group(set, "c1", GROUP_CORE);
    struct group_window window;

    begin(set, 1);
    fake->groups[0].read_error = -ENODATA;
    assert_int_equal(source_set_read(set, handle, &window), -ENODATA);
    begin(set, 2);
    fake->groups[0].read_error = 0;
    total(&fake->groups[0], 0, 10);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(window.before->n, 0);
    assert_int_equal(count0(window.after, 0), 10);

    total(&fake->groups[0], 0, 20);
    for (uint64_t tick = 3; tick <= 5; tick++) {
        begin(set, tick);
        fake->groups[0].read_error = tick == 4 ? -EIO : -ENODATA;
        assert_int_equal(source_set_read(set, handle, &window), fake->groups[0].read_error);
        /* The answer stands for the tick, without asking again. */
        int reads = bench->fake.ledger.reads;
        assert_int_equal(source_set_read(set, handle, &window), fake->groups[0].read_error);
        assert_int_equal(bench->fake.ledger.reads, reads);
    }
    begin(set, 6);
    fake->groups[0].read_error = 0;
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(count0(window.before, 0), 10);
    assert_int_equal(count0(window.after, 0), 20);
}

TEST_ON(test_rows_may_grow, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    fake_group(fake, "c1", GROUP_CORE)->cpus = 1;
    group_handle handle = open_group(set, "c1", GROUP_CORE);
    struct group_window window;

    begin(set, 1);
    total(&fake->groups[0], 0, 1);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    begin(set, 2);
    fake->groups[0].cpus = FAKE_MAX_CPUS;
    total(&fake->groups[0], 0, 2);
    total(&fake->groups[0], FAKE_MAX_CPUS - 1, 70);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(window.before->n, 1);
    assert_int_equal(count0(window.before, 0), 1);
    assert_int_equal(window.after->n, FAKE_MAX_CPUS);
    assert_int_equal(count0(window.after, 0), 2);
    assert_int_equal(count0(window.after, FAKE_MAX_CPUS - 1), 70);
    assert_int_equal(reading_row(window.after, FAKE_MAX_CPUS - 1)->cpu, FAKE_MAX_CPUS - 1);

    uint64_t before = malloc_count();
    begin(set, 3);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(malloc_count(), before); /* both buffers grew at once */
    assert_int_equal(window.before->n, FAKE_MAX_CPUS);
}

/* Room for CPUs that came is made when the tick begins: reading allocates nothing. */
TEST_ON(test_rows_grow_in_begin, struct bench *bench, set_up, tear_down)
{
    if (!malloc_count_works())
        skip();
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    fake_group(fake, "c1", GROUP_CORE)->cpus = 1;
    group_handle handle = open_group(set, "c1", GROUP_CORE);
    struct group_window window;
    begin(set, 1);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    fake->groups[0].cpus = FAKE_MAX_CPUS;
    uint64_t before = malloc_count();
    begin(set, 2);
    assert_true(malloc_count() > before);
    before = malloc_count();
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(malloc_count(), before);
    assert_int_equal(window.after->n, FAKE_MAX_CPUS);
}

TEST_ON(test_steady_ticks_do_not_allocate, struct bench *bench, set_up, tear_down)
{
    if (!malloc_count_works())
        skip();
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    group_handle handles[FAKE_GROUPS];
    char key[16];

    for (size_t i = 0; i < FAKE_GROUPS; i++) {
        snprintf(key, sizeof key, "c%zu", i);
        handles[i] = open_group(set, key, GROUP_CORE);
    }
    uint64_t before = malloc_count();
    assert_true(before > 0);
    for (uint64_t tick = 1; tick <= 100; tick++) {
        fake->n_probes = 3;
        begin(set, tick);
        for (size_t i = 0; i < FAKE_GROUPS; i++) {
            struct group_window window;
            total(&fake->groups[i], 0, tick);
            assert_int_equal(source_set_read(set, handles[i], &window), 0);
        }
    }
    assert_int_equal(malloc_count(), before);
}

/* ---- handles ---- */

TEST_ON(test_shared_handles_are_counted, struct bench *bench, set_up, tear_down)
{
    struct source_set *set = bench->set;
    group_handle a = open_group(set, "c1", GROUP_CORE);
    group_handle b = open_group(set, "c1", GROUP_CORE);
    group_handle other_group = open_group(set, "c1", GROUP_STALLS);
    group_handle other_key = open_group(set, "c2", GROUP_CORE);
    struct group_window window;

    assert_int_equal(a, b);
    assert_int_not_equal(a, other_group);
    assert_int_not_equal(a, other_key);
    assert_int_equal(bench->fake.ledger.opens, 3);

    source_set_close(set, a);
    assert_int_equal(bench->fake.ledger.closes, 0);
    begin(set, 1);
    assert_int_equal(source_set_read(set, b, &window), 0);
    source_set_close(set, b);
    assert_int_equal(bench->fake.ledger.closes, 1);
    assert_int_equal(source_set_read(set, b, &window), -EBADF);
    source_set_close(set, b); /* too often: nothing happens */
    assert_int_equal(bench->fake.ledger.closes, 1);
    assert_int_equal(source_set_read(set, other_key, &window), 0);
    free_set(bench);
    assert_int_equal(bench->fake.ledger.closes, 3);
}

TEST_ON(test_old_handle_does_not_reach_the_slots_next_user, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    group_handle old = open_group(set, "c1", GROUP_CORE);
    struct group_window window;

    begin(set, 1);
    total(&fake->groups[0], 0, 999);
    assert_int_equal(source_set_read(set, old, &window), 0);
    source_set_close(set, old);

    group_handle new = open_group(set, "c1", GROUP_CORE);
    assert_int_not_equal(old, new);
    assert_int_equal(source_set_read(set, old, &window), -EBADF);
    source_set_close(set, old);
    total(&fake->groups[0], 0, 5);
    assert_int_equal(source_set_read(set, new, &window), 0);
    assert_int_equal(window.before->n, 0); /* nothing of c1's earlier life */
    assert_int_equal(count0(window.after, 0), 5);
    assert_int_equal(source_set_read(set, 0, &window), -EBADF);
    assert_int_equal(source_set_read(set, 0xffffffff, &window), -EBADF);
}

TEST_ON(test_the_key_is_copied, struct bench *bench, set_up, tear_down)
{
    struct source_set *set = bench->set;
    char key[] = "c1";
    group_handle handle = open_group(set, key, GROUP_CORE);

    key[1] = '9';
    assert_int_equal(open_group(set, "c1", GROUP_CORE), handle);
}

TEST_ON(test_failed_open_leaves_nothing, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1", .cgroup_fd = -1};
    struct verdict why = {0};
    group_handle handle = 77;

    verdict_set(&fake->open_error, REASON_NO_PERMISSION, "told to fail");
    fake->open_errno = -EACCES;
    for (int i = 0; i < 10; i++)
        assert_int_equal(source_set_open(set, &scope, GROUP_CORE, &handle, &why), -EACCES);
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_int_equal(handle, 77);
    assert_int_equal(source_set_open(set, &scope, GROUP_RPQ, &handle, &why), -ENODEV);
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "rpq"));
    verdict_clear(&fake->open_error);
    assert_int_equal(source_set_open(set, &scope, GROUP_CORE, &handle, NULL), 0);
    assert_int_equal(bench->fake.ledger.opens, 1);
    free_set(bench);
    assert_int_equal(bench->fake.ledger.closes, 1);
}

/* Whichever allocation fails: nothing stays open, and the label does not say "file descriptors". */
TEST_ON(test_out_of_memory, struct bench *bench, set_up, tear_down)
{
    if (!malloc_fail(0))
        skip();
    struct source_set *set = bench->set;
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1", .cgroup_fd = -1};
    struct verdict why;
    group_handle handle = 77;
    int err = -ENOMEM, tries = 0;

    for (; err; tries++) {
        verdict_clear(&why);
        malloc_fail((uint64_t)tries + 1);
        err = source_set_open(set, &scope, GROUP_CORE, &handle, &why);
        malloc_fail(0);
        assert_int_equal(bench->fake.ledger.opens - bench->fake.ledger.closes, err ? 0 : 1);
        if (!err)
            break;
        assert_int_equal(err, -ENOMEM);
        assert_int_equal(handle, 77);
        assert_int_equal(why.reason, REASON_NO_DEVICE);
        assert_non_null(strstr(why.words, "out of memory"));
    }
    assert_true(tries > 2);
}

/* ---- routes ---- */

TEST_ON(test_routes, struct bench *bench, set_up, tear_down)
{
    struct fake_source *first = &bench->fake, *second = &bench->second;
    const struct fake_ledger *one = &first->ledger, *two = &second->ledger;
    struct source_set *set = bench->set;
    struct verdict why = {0};

    assert_true(source_set_check(set, SCOPE_CGROUP, GROUP_CORE, &why));
    verdict_set(&first->check, REASON_NO_PMU, "no loads here");
    assert_false(source_set_check(set, SCOPE_CGROUP, GROUP_LOADS, &why));
    assert_int_equal(why.reason, REASON_NO_PMU);
    assert_false(source_set_check(set, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);

    open_group(set, "c1", GROUP_CORE);
    assert_int_equal(source_set_route(set, SCOPE_CGROUP, GROUP_CORE, &second->source), 0);
    open_group(set, "c2", GROUP_CORE);
    assert_int_equal(one->opens, 1);
    assert_int_equal(two->opens, 1);
    assert_string_equal(two->last_key, "c2");

    open_group(set, "c3", GROUP_CORE);
    assert_int_equal(source_set_open_counters(set), 3);
    begin(set, 1);
    assert_int_equal(one->begins, 1); /* once, although it serves several pairs */
    assert_int_equal(two->begins, 1);
    free_set(bench);
    assert_int_equal(one->frees, 1);
    assert_int_equal(two->frees, 1);
    assert_int_equal(one->closes, 1);
    assert_int_equal(two->closes, 2);
}

/* What a source cannot, the one before it counts: a pair at a time, and before the first tick only,
 * for it may have been too much for it. */
TEST_ON(test_falls_back, struct bench *bench, set_up, tear_down)
{
    struct fake_source *first = &bench->fake, *second = &bench->second;
    struct source_set *set = bench->set;
    const enum group over[] = {GROUP_CORE, GROUP_STALLS, GROUP_LOADS};
    struct verdict why = {0};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(source_set_route_over(set, SCOPE_CGROUP, over[i], &second->source), 0);
    assert_true(source_set_check(set, SCOPE_CGROUP, GROUP_STALLS, &why));
    verdict_set(&second->check, REASON_FD_LIMIT, "too few");
    assert_true(source_set_check(set, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_OK);
    assert_true(source_set_fell_back(set, SCOPE_CGROUP, GROUP_CORE));
    verdict_set(&first->check, REASON_NO_PMU, "nor here");
    assert_false(source_set_check(set, SCOPE_CGROUP, GROUP_LOADS, &why));
    assert_int_equal(why.reason, REASON_FD_LIMIT); /* as who serves it says */
    assert_false(source_set_fell_back(set, SCOPE_CGROUP, GROUP_LOADS));
    open_group(set, "c1", GROUP_CORE);
    assert_int_equal(first->ledger.opens, 1);
    open_group(set, "c1", GROUP_STALLS);
    assert_int_equal(second->ledger.opens, 1);

    begin(set, 1);
    verdict_clear(&first->check);
    assert_false(source_set_check(set, SCOPE_CGROUP, GROUP_STALLS, &why));
    assert_false(source_set_fell_back(set, SCOPE_CGROUP, GROUP_STALLS));
    source_set_route_back(set, SCOPE_CGROUP, GROUP_LOADS);
    assert_true(source_set_check(set, SCOPE_CGROUP, GROUP_LOADS, &why));
    free_set(bench);
    assert_int_equal(second->ledger.frees, 1);
}

TEST_ON(test_begin_asks_all_and_returns_the_first_error, struct bench *bench, set_up, tear_down)
{
    struct fake_source *first = &bench->fake, *second = &bench->second;
    struct source_set *set = bench->set;
    const struct tick tick = {.number = 1};
    size_t n;

    assert_int_equal(source_set_route(set, SCOPE_UNIT, GROUP_RPQ, &second->source), 0);
    first->begin_error = -EIO;
    second->begin_error = -ENODEV;
    first->n_probes = 2;
    assert_int_equal(source_set_begin(set, &tick), -EIO);
    assert_int_equal(second->ledger.begins, 1);
    source_set_probes(set, &n);
    assert_int_equal(n, 2);
}

TEST_ON(test_probes_are_the_same_list_for_everyone, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    size_t n;

    source_set_probes(set, &n);
    assert_int_equal(n, 0);
    fake->n_probes = 200; /* more than the first buffer holds */
    for (size_t i = 0; i < 200; i++)
        fake->probes[i].latency_ns = (double)(200 - i);
    begin(set, 1);
    for (int reader = 0; reader < 2; reader++) {
        const struct probe_reading *probes = source_set_probes(set, &n);
        assert_int_equal(n, 200);
        for (size_t i = 0; i < n; i++)
            assert_true(probes[i].latency_ns == (double)(200 - i));
    }
    begin(set, 2);
    source_set_probes(set, &n);
    assert_int_equal(n, 0);
}

TEST_ON(test_samples_come_from_the_source_routed_for_them, struct bench *bench, set_up, tear_down)
{
    struct fake_source *fake = &bench->fake;
    struct source_set *set = bench->set;
    const struct access_sample *read;
    struct sampling sampling = {.lost = 1};
    struct verdict why;
    size_t n = 1;

    assert_false(source_set_samples(set, ACCESS_STORE, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_string_equal(why.words, "no source here samples stores");
    source_set_read_samples(set, &n);
    assert_int_equal(n, 0);
    source_set_sampling(set, ACCESS_STORE, &sampling);
    assert_int_equal(sampling.lost, 0);

    verdict_set(&fake->sampled[ACCESS_LOAD], REASON_DISABLED, "loads were not asked for");
    for (fake->n_samples = 0; fake->n_samples < 2; fake->n_samples++)
        fake->samples[fake->n_samples].owner = container_tag(7, 1);
    fake->sampling[ACCESS_STORE].lost = 5;
    fake->sampling[ACCESS_LOAD].lost = 6;
    assert_int_equal(source_set_route_samples(set, &fake->source), 0);
    assert_true(source_set_samples(set, ACCESS_STORE, &why));
    assert_int_equal(why.reason, REASON_OK);
    assert_false(source_set_samples(set, ACCESS_LOAD, &why));
    assert_int_equal(why.reason, REASON_DISABLED);
    assert_false(source_set_samples(set, ACCESS_LOAD, NULL));
    begin(set, 1);
    read = source_set_read_samples(set, &n);
    assert_int_equal(n, 2);
    assert_true(read[1].owner == container_tag(7, 1));
    source_set_sampling(set, ACCESS_STORE, &sampling);
    assert_int_equal(sampling.lost, 5);
    source_set_sampling(set, ACCESS_LOAD, &sampling); /* is not sampled */
    assert_int_equal(sampling.lost, 0);
}

/* Containers come and go by the thousand: handles stay distinct, every one finds its own group. */
TEST_ON(test_churn, struct bench *bench, set_up, tear_down)
{
    struct source_set *set = bench->set;
    group_handle live[FAKE_GROUPS] = {0};
    uint64_t serial[FAKE_GROUPS] = {0}, next = 1;
    uint32_t random = 12345;

    for (int step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        size_t i = random >> 16 & (FAKE_GROUPS - 1);
        char key[24];
        if (live[i]) {
            snprintf(key, sizeof key, "c%llu", (unsigned long long)serial[i]);
            assert_int_equal(open_group(set, key, GROUP_CORE), live[i]);
            source_set_close(set, live[i]);
            source_set_close(set, live[i]);
            live[i] = 0;
        } else {
            serial[i] = next++;
            snprintf(key, sizeof key, "c%llu", (unsigned long long)serial[i]);
            live[i] = open_group(set, key, GROUP_CORE);
            assert_string_equal(bench->fake.ledger.last_key, key);
        }
    }
    free_set(bench);
    assert_int_equal(bench->fake.ledger.opens, bench->fake.ledger.closes);
    assert_int_equal(bench->fake.ledger.opens, next - 1);
}
