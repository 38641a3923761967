/* Samples from one thread to another. */
#include <pthread.h>
#include <sched.h>

#include "exporter/source/accesses/queue.h"
#include "tests/unit/support/unit.h"

static struct access_sample numbered(uint64_t i)
{
    return (struct access_sample){.time_ns = i,
                                  .ip = ~i,
                                  .address = i * 3,
                                  .pid = (uint32_t)i,
                                  .access = ACCESS_STORE,
                                  .medium = MEDIUM_NVMM,
                                  .bytes = (uint32_t)(i % 64)};
}

static void assert_numbered(const struct access_sample *sample, uint64_t i)
{
    assert_true(sample->time_ns == i && sample->ip == ~i && sample->address == i * 3);
    assert_true(sample->pid == (uint32_t)i && sample->bytes == i % 64);
}

TEST(order_and_room)
{
    struct sample_queue *queue;
    struct access_sample out[8];
    assert_int_equal(sample_queue_new(0, &queue), -EINVAL);
    assert_int_equal(sample_queue_new((1u << 24) + 1, &queue), -EINVAL);
    assert_int_equal(sample_queue_new(3, &queue), 0); /* four */
    assert_int_equal(sample_queue_take(queue, out, 8), 0);
    uint64_t next = 0, read = 0;
    for (int round = 0; round < 10; round++) {
        struct access_sample sample;
        while (sample = numbered(next), sample_queue_put(queue, &sample))
            next++;
        assert_int_equal(next - read, 4);
        assert_int_equal(sample_queue_take(queue, out, 3), 3); /* one stays */
        for (int i = 0; i < 3; i++)
            assert_numbered(&out[i], read++);
    }
    assert_int_equal(sample_queue_take(queue, out, 8), 1);
    assert_numbered(&out[0], read);
    assert_int_equal(sample_queue_take(queue, out, 8), 0);
    sample_queue_free(queue);
    sample_queue_free(NULL);
}

enum { N = 300000 };

static void *put_all(void *argument)
{
    struct sample_queue *queue = argument;
    for (uint64_t i = 1; i <= N; i++) {
        struct access_sample sample = numbered(i);
        while (!sample_queue_put(queue, &sample))
            sched_yield();
        sample_queue_settle(queue, i);
    }
    return NULL;
}

TEST(two_threads)
{
    struct sample_queue *queue;
    struct access_sample out[100];
    pthread_t thread;
    uint64_t last = 0;
    assert_int_equal(sample_queue_new(256, &queue), 0);
    assert_int_equal(pthread_create(&thread, NULL, put_all, queue), 0);
    while (last < N) {
        uint64_t settled = sample_queue_settled(queue);
        size_t n;
        while ((n = sample_queue_take(queue, out, 100)) > 0)
            for (size_t i = 0; i < n; i++)
                assert_numbered(&out[i], ++last);
        assert_true(last >= settled); /* nothing settled is missing */
        sched_yield();
    }
    pthread_join(thread, NULL);
    assert_int_equal(sample_queue_settled(queue), N);
    assert_int_equal(sample_queue_take(queue, out, 100), 0);
    sample_queue_free(queue);
}
