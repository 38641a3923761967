/* Samples of all CPUs in one order, from buffers made here. */
#include <sched.h>
#include <unistd.h>

#include "tests/unit/support/sampler_rig.h"
#include "tests/unit/support/unit.h"

/* Precise samples are cheaper by the kernel's own clock. */
TEST(perfs_own_clock)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    rig.fake.tells_clock = true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_false(rig.fake.attr.use_clockid);
    assert_true(sampler_is_batched(rig.sampler));
    assert_int_equal(rig.fake.attr.clockid, 0);
    /* 2 s of counting: 1 s and 5 us by perf's clock, when it is 100 s by the other. */
    rig.fake.counter = 2000 * (uint64_t)MS;
    rig.fake.now = 100000 * (uint64_t)MS;
    uint64_t perf_now = 1000 * (uint64_t)MS + 5000;
    assert_true(rings_put_sample(&rig.fake, 1, perf_now - 5 * MS, 2));
    assert_true(rings_put_sample(&rig.fake, 0, perf_now - 6 * MS, 1));
    assert_true(rings_put_sample(&rig.fake, 0, perf_now - 1 * MS, 3));
    sampler_drain(rig.sampler);
    sampler_rig_assert_addresses(&rig, (const uint64_t[]){1, 2}, 2);
    assert_int_equal(rig.seen.at[0].time_ns, rig.fake.now - 6 * MS);
    assert_int_equal(rig.seen.at[1].time_ns, rig.fake.now - 5 * MS);
    assert_int_equal(rig.seen.settled, rig.fake.now - 2 * MS - 1000);
    /* The other clock is steered, and runs away from it. */
    rig.fake.counter += 2 * 60 * MS;
    rig.fake.now += 60 * MS + 300;
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.at[2].time_ns, rig.fake.now - 61 * MS);
    sampler_rig_release(&rig);

    /* What the hardware holds back is fetched, but not all the time. */
    sampler_rig_init(&rig);
    rig.fake.tells_clock = true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    rig.fake.counter = 2000 * (uint64_t)MS;
    rig.fake.collected = perf_now - 8 * MS;
    assert_true(rings_put_sample(&rig.fake, 0, perf_now - 7 * MS, 78));
    sampler_drain(rig.sampler);
    sampler_rig_assert_addresses(&rig, (const uint64_t[]){77, 78}, 2);
    assert_int_equal(rig.fake.reads, RIG_CPUS);
    rig.fake.counter += 2 * 20 * MS;
    rig.fake.now += 20 * MS;
    uint64_t settled = rig.seen.settled;
    assert_true(rings_put_sample(&rig.fake, 0, perf_now + 10 * MS, 80));
    sampler_drain(rig.sampler); /* another CPU may hold an earlier one */
    assert_int_equal(rig.seen.n, 2);
    assert_int_equal(rig.seen.settled, settled);
    assert_int_equal(rig.fake.reads, RIG_CPUS);
    rig.fake.collected = perf_now + 9 * MS;
    rig.fake.counter += 2 * 40 * MS;
    rig.fake.now += 40 * MS;
    sampler_drain(rig.sampler);
    sampler_rig_assert_addresses(&rig, (const uint64_t[]){77, 78, 77, 80}, 4);
    assert_int_equal(rig.fake.reads, 2 * RIG_CPUS);
    sampler_rig_release(&rig);

    sampler_rig_init(&rig); /* no such help: asked for at once for all */
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_true(rig.fake.attr.use_clockid);
    assert_false(sampler_is_batched(rig.sampler));
    sampler_rig_release(&rig);

    sampler_rig_init(&rig); /* no reason to */
    rig.fake.tells_clock = true;
    rig.event.attr.precise_ip = 0;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_true(rig.fake.attr.use_clockid);
    sampler_rig_release(&rig);
}

SAMPLER_TEST(one_order_over_all_cpus)
{
    for (uint64_t i = 1; i <= 12; i++) /* in turn, but for CPU 0, which has two each */
        assert_true(rings_put_sample(&rig->fake, i % 4 < 2 ? 0 : (int)(i % 4) - 1, i, i));
    sampler_drain(rig->sampler);
    sampler_rig_assert_addresses(rig, (const uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                 12);
    assert_int_equal(sampler_counts(rig->sampler, 0).samples, 12);
    assert_int_equal(rig->seen.settled, 998 * (uint64_t)MS);

    /* Too new: on another CPU there may be an earlier one that did not arrive. */
    uint64_t now = rig->fake.now += 10 * MS;
    assert_true(rings_put_sample(&rig->fake, 0, now - 3 * MS, 20));
    assert_true(rings_put_sample(&rig->fake, 0, now - 1 * MS, 22));
    sampler_drain(rig->sampler);
    assert_int_equal(rig->seen.n, 13);
    assert_true(rings_put_sample(&rig->fake, 1, now - 2 * MS, 21));
    rig->fake.now += 10 * MS;
    sampler_drain(rig->sampler);
    assert_int_equal(rig->seen.n, 15);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(rig->seen.at[12 + i].sample.address, 20 + i);
}

SAMPLER_TEST(around_the_end_of_the_buffer)
{
    uint64_t time = 1, n = 0;
    for (int round = 0; round < 40; round++) {
        uint64_t before = n;
        while (rings_put_sample(&rig->fake, round % RIG_CPUS, time, time)) {
            time++;
            n++;
        }
        assert_int_equal(n - before, rings_page_size() / 40); /* all the room is there again */
        rig->fake.now = time + 2 * MS;
        sampler_drain(rig->sampler);
    }
    assert_int_equal(rig->seen.n, n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(rig->seen.at[i].sample.address, i + 1);
    assert_int_equal(sampler_counts(rig->sampler, 0).broken, 0);
}

/* What must wait fills the room there is, and the last record of it is cut. */
SAMPLER_TEST(no_room_for_more)
{
    uint64_t n = 0, first = rig->fake.now;
    for (int round = 0; round < 3; round++) {
        while (rings_put_sample(&rig->fake, 0, first + n, n))
            n++;
        sampler_drain(rig->sampler);
        assert_int_equal(rig->seen.n, 0);
    }
    while (rings_put_sample(&rig->fake, 0, first + n, n))
        n++;
    sampler_drain(rig->sampler);
    assert_false(
        rings_put_sample(&rig->fake, 0, first + n, n)); /* here the kernel counts it lost */
    rig->fake.now += 10 * MS;
    sampler_drain(rig->sampler); /* all of it, for it says so */
    assert_int_equal(rig->seen.n, n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(rig->seen.at[i].sample.address, i);
    assert_int_equal(sampler_counts(rig->sampler, 0).broken, 0);
}

SAMPLER_TEST(losses_and_throttling)
{
    rings_put_lost(&rig->fake, 0, PERF_RECORD_LOST, 5, 12);
    rings_put_lost(&rig->fake, 1, PERF_RECORD_LOST_SAMPLES, 6, 30);
    rings_put_lost(&rig->fake, 2, PERF_RECORD_THROTTLE, 7, 0);
    rings_put_lost(&rig->fake, 2, PERF_RECORD_UNTHROTTLE, 8, 0);
    assert_true(rings_put_sample(&rig->fake, 0, 9, 9));
    sampler_drain(rig->sampler);
    struct sampler_counts counts = sampler_counts(rig->sampler, 0);
    assert_int_equal(counts.samples, 1);
    assert_int_equal(counts.lost, 42);
    assert_int_equal(counts.throttles, 1);
    assert_int_equal(rig->seen.n, 5); /* who keeps mappings must hear of losses */
}

/* Each event with buffers of its own: what drowns one does not touch the other. */
TEST(two_events)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    sampler_rig_second(&rig)->data_pages = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(rig.fake.opened, RIG_EVENTS * RIG_CPUS);
    assert_int_equal(rig.fake.enabled, RIG_EVENTS * RIG_CPUS);
    assert_int_equal(sampler_open_events(rig.sampler), RIG_EVENTS * RIG_CPUS);
    uint64_t n = 0;
    while (rings_put_sample(&rig.fake, 0, 10 + n, 10 + n))
        n++;
    rings_put_lost(&rig.fake, 0 + RIG_CPUS, PERF_RECORD_LOST, 1, 7);
    assert_true(rings_put_sample(&rig.fake, 1 + RIG_CPUS, 10, 10));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, n + 2);
    assert_int_equal(rig.seen.of_event[0], n);
    assert_int_equal(rig.seen.of_event[1], 2);
    assert_int_equal(rig.seen.at[0].kind, KERNEL_RECORD_LOST);
    assert_true(sampler_counts(rig.sampler, 0).samples == n);
    assert_true(sampler_counts(rig.sampler, 0).lost == 0);
    assert_true(sampler_counts(rig.sampler, 1).samples == 1);
    assert_true(sampler_counts(rig.sampler, 1).lost == 7);
    sampler_rig_release(&rig);
}

/* What becomes of a process is known before its samples of the same time are looked at. */
TEST(the_first_event_comes_first)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    sampler_rig_second(&rig)->data_pages = 1;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    for (uint64_t time = 10; time < 20; time++)
        for (int cpu = 0; cpu < RIG_CPUS; cpu++) {
            assert_true(
                rings_put_sample(&rig.fake, cpu + RIG_CPUS, time, RIG_CPUS + (uint64_t)cpu));
            assert_true(rings_put_sample(&rig.fake, cpu, time, (uint64_t)cpu));
        }
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 10 * RIG_EVENTS * RIG_CPUS);
    for (size_t i = 0; i < rig.seen.n; i++) {
        assert_int_equal(rig.seen.at[i].time_ns, 10 + i / (RIG_EVENTS * RIG_CPUS));
        assert_int_equal(rig.seen.at[i].sample.address, i % (RIG_EVENTS * RIG_CPUS));
    }
    sampler_rig_release(&rig);
}

static void assert_lost(const struct sampler_rig *rig, size_t i, uint64_t time)
{
    assert_in_range(i, 0, rig->seen.n - 1);
    assert_int_equal(rig->seen.at[i].kind, KERNEL_RECORD_LOST);
    assert_int_equal(rig->seen.at[i].time_ns, time);
    assert_int_equal(rig->seen.at[i].lost, 0);
}

/* Mappings that the sampler missed must not go unnoticed. */
TEST(missing_mappings_are_told_of)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    sampler_rig_second(&rig)->data_pages = 1;
    rig.config.events[1].mappings = true;
    rig.config.n_cpus = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    /* None is missing when the first sample is taken. */
    assert_int_equal(rig.fake.enabled, 4);
    for (int i = 0; i < 4; i++)
        assert_true((rig.fake.enabled_fd[i] >= 100000 + RIG_CPUS) == (i < 2));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 0);

    /* A CPU came: at once, and when all from before is out. */
    uint64_t came = rig.fake.now += 10 * MS;
    assert_int_equal(sampler_set_cpus(rig.sampler, rig.cpus, RIG_CPUS), 0);
    sampler_drain(rig.sampler);
    assert_int_equal(rig.fake.enabled, 6);
    assert_int_equal(rig.fake.enabled_fd[4], 100000 + RIG_CPUS + 2);
    assert_int_equal(rig.seen.n, 1);
    assert_lost(&rig, 0, came);
    assert_true(rings_put_sample(&rig.fake, 0, came - 1, 1));
    assert_true(rings_put_sample(&rig.fake, 1, came + 1, 2));
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 4);
    assert_int_equal(rig.seen.at[1].sample.address, 1);
    assert_lost(&rig, 2, came);
    assert_int_equal(rig.seen.at[3].sample.address, 2);

    /* A buffer was broken; if it carries no mappings, that need not be reported. */
    static const uint8_t nonsense[40] = {9, 0, 0, 0, 2, 0, 0xff, 0xff};
    uint64_t broken = rig.fake.now += 10 * MS;
    assert_true(rings_put(&rig.fake, 0, nonsense, sizeof nonsense));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 4);
    assert_true(rings_put(&rig.fake, RIG_CPUS, nonsense, sizeof nonsense));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 5);
    assert_lost(&rig, 4, broken);
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler); /* also when nothing else comes */
    assert_int_equal(rig.seen.n, 6);
    assert_lost(&rig, 5, broken);
    broken = rig.fake.now;
    rig.fake.ring[RIG_CPUS + 1]->data_head = 1000000;
    sampler_drain(rig.sampler);
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler);
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 8);
    assert_lost(&rig, 6, broken);
    assert_lost(&rig, 7, broken);
    assert_int_equal(rig.seen.of_event[1], 6);
    sampler_rig_release(&rig);
}

SAMPLER_TEST(a_broken_buffer)
{
    static const uint8_t nonsense[40] = {9, 0, 0, 0, 2, 0, 0xff, 0xff};
    static const uint8_t empty[8] = {9, 0, 0, 0, 2, 0, 0, 0};
    assert_true(rings_put(&rig->fake, 0, nonsense, sizeof nonsense)); /* larger than any buffer */
    assert_true(rings_put(&rig->fake, 1, empty, sizeof empty));
    rig->fake.ring[2]->data_head = 1000000; /* further than the buffer is large */
    sampler_drain(rig->sampler);
    assert_int_equal(sampler_counts(rig->sampler, 0).broken, 3);
    assert_int_equal(rig->seen.n, 0);
    for (int cpu = 0; cpu < RIG_CPUS; cpu++) /* it goes on */
        assert_true(
            rings_put_sample(&rig->fake, cpu, rig->fake.now + (uint64_t)cpu, (uint64_t)cpu));
    rig->fake.now += 10 * MS;
    sampler_drain(rig->sampler);
    sampler_rig_assert_addresses(rig, (const uint64_t[]){0, 1, 2}, 3);
    assert_int_equal(sampler_counts(rig->sampler, 0).broken, 3);
}

/* A sink that waits, as for another process's memory. */
struct waiting_sink {
    int started[2], go[2];
};

static void wait_in_sink(void *context, uint64_t time_ns)
{
    const struct waiting_sink *sink = context;
    char c = 'x';
    assert_int_equal(write(sink->started[1], &c, 1), 1);
    assert_int_equal(read(sink->go[0], &c, 1), 1);
}

static void no_record(void *context, size_t event, const struct kernel_record *record)
{
}

TEST(a_thread_that_waits_is_left)
{
    struct sampler_rig rig;
    struct waiting_sink sink;
    char c;
    assert_int_equal(pipe(sink.started), 0);
    assert_int_equal(pipe(sink.go), 0);
    sampler_rig_init(&rig);
    rig.config.sink =
        (struct sampler_sink){.record = no_record, .settle = wait_in_sink, .context = &sink};
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(sampler_end(rig.sampler), 0); /* no thread yet */
    assert_int_equal(sampler_start(rig.sampler), 0);
    assert_int_equal(read(sink.started[0], &c, 1), 1);
    assert_int_equal(sampler_end(rig.sampler), -ETIMEDOUT);
    assert_int_equal(rig.fake.mapped, RIG_CPUS); /* all is as it was */
    assert_int_equal(write(sink.go[1], "x", 1), 1);
    int err = -ETIMEDOUT;
    for (int i = 0; i < 60 && err == -ETIMEDOUT; i++)
        err = sampler_end(rig.sampler);
    assert_int_equal(err, 0);
    assert_int_equal(sampler_end(rig.sampler), 0);
    sampler_rig_release(&rig);
    for (int i = 0; i < 2; i++) {
        close(sink.started[i]);
        close(sink.go[i]);
    }
}

SAMPLER_TEST(the_thread_keeps_up)
{
    enum { N = 100000 };
    rig->seen.late_is_fine = true; /* this clock stands still */
    assert_int_equal(sampler_start(rig->sampler), 0);
    assert_int_equal(sampler_start(rig->sampler), -EALREADY);
    for (uint64_t i = 1; i <= N; i++)
        while (!rings_put_sample(&rig->fake, (int)(i % RIG_CPUS), i, i))
            sched_yield(); /* the buffer is full: the thread is to empty it */
    while (sampler_counts(rig->sampler, 0).samples < N)
        usleep(1000);
    sampler_free(rig->sampler);
    rig->sampler = NULL;
    assert_int_equal(rig->seen.n, N);
    uint64_t sum = 0;
    for (size_t i = 0; i < N; i++)
        sum += rig->seen.at[i].sample.address;
    assert_true(sum == (uint64_t)N * (N + 1) / 2);
}
