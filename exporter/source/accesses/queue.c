#include "exporter/source/accesses/queue.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CACHE_LINE = 64 };

struct sample_queue {
    size_t mask;
    struct access_sample *at;
    /* Counts of samples, which only grow. Each is written by one side; a line of its own each, so
     * that the sides do not slow each other down. */
    _Alignas(CACHE_LINE) _Atomic uint64_t put;
    _Atomic uint64_t settled_ns;
    _Alignas(CACHE_LINE) _Atomic uint64_t taken;
};

int sample_queue_new(size_t cap, struct sample_queue **out)
{
    if (cap == 0 || cap > 1u << 24)
        return -EINVAL;
    size_t size = 1;
    while (size < cap)
        size *= 2;
    struct sample_queue *queue = aligned_alloc(CACHE_LINE, sizeof *queue);
    if (!queue)
        return -ENOMEM;
    *queue = (struct sample_queue){.mask = size - 1};
    queue->at = calloc(size, sizeof *queue->at);
    if (!queue->at) {
        free(queue);
        return -ENOMEM;
    }
    *out = queue;
    return 0;
}

void sample_queue_free(struct sample_queue *queue)
{
    if (!queue)
        return;
    free(queue->at);
    free(queue);
}

bool sample_queue_put(struct sample_queue *queue, const struct access_sample *sample)
{
    uint64_t put = atomic_load_explicit(&queue->put, memory_order_relaxed);
    uint64_t taken = atomic_load_explicit(&queue->taken, memory_order_acquire);
    if (put - taken > queue->mask)
        return false;
    queue->at[put & queue->mask] = *sample;
    atomic_store_explicit(&queue->put, put + 1, memory_order_release);
    return true;
}

void sample_queue_settle(struct sample_queue *queue, uint64_t time_ns)
{
    atomic_store_explicit(&queue->settled_ns, time_ns, memory_order_release);
}

size_t sample_queue_take(struct sample_queue *queue, struct access_sample *out, size_t cap)
{
    uint64_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
    uint64_t put = atomic_load_explicit(&queue->put, memory_order_acquire);
    size_t n = 0;
    for (; taken < put && n < cap; taken++)
        out[n++] = queue->at[taken & queue->mask];
    atomic_store_explicit(&queue->taken, taken, memory_order_release);
    return n;
}

uint64_t sample_queue_settled(const struct sample_queue *queue)
{
    return atomic_load_explicit(&queue->settled_ns, memory_order_acquire);
}
