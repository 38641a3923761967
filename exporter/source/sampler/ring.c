#include "exporter/source/sampler/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

int perf_ring_init(struct perf_ring *ring, void *mapping, size_t page_size, size_t data_size)
{
    if (data_size < page_size || (data_size & (data_size - 1)) != 0)
        return -EINVAL;
    *ring = (struct perf_ring){
        .mapping = mapping, .data = (uint8_t *)mapping + page_size, .data_size = data_size};
    ring->bytes = malloc(2 * data_size);
    return ring->bytes ? 0 : -ENOMEM;
}

void perf_ring_release(struct perf_ring *ring)
{
    free(ring->bytes);
    *ring = (struct perf_ring){0};
}

int perf_ring_copy(struct perf_ring *ring)
{
    struct perf_event_mmap_page *page = ring->mapping;
    memmove(ring->bytes, ring->bytes + ring->start, ring->end - ring->start);
    ring->end -= ring->start;
    ring->start = 0;

    /* Pairs with the kernel's barriers: bytes before head are written, bytes before tail are free.
     */
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    if (head - tail > ring->data_size) {
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
        ring->end = 0;
        return -EIO;
    }
    size_t n = (size_t)(head - tail), room = 2 * ring->data_size - ring->end;
    bool cut = n > room;
    if (cut)
        n = room;
    size_t at = (size_t)tail & (ring->data_size - 1), first = ring->data_size - at;
    if (first > n)
        first = n;
    memcpy(ring->bytes + ring->end, ring->data + at, first);
    memcpy(ring->bytes + ring->end + first, ring->data, n - first);
    ring->end += n;
    __atomic_store_n(&page->data_tail, tail + n, __ATOMIC_RELEASE);
    return cut;
}

int perf_ring_peek(struct perf_ring *ring, uint64_t sample_type, struct kernel_record *out,
                   size_t *size)
{
    size_t left = ring->end - ring->start;
    struct perf_event_header header;
    if (left == 0)
        return 0;
    if (left >= sizeof header) {
        memcpy(&header, ring->bytes + ring->start, sizeof header);
        /* Cut for want of room: the rest comes with the next copy. */
        if (header.size > left && header.size <= ring->data_size)
            return 0;
    }
    if (kernel_record_parse(ring->bytes + ring->start, left, sample_type, out, size) == 0)
        return 1;
    ring->start = ring->end;
    return -EINVAL;
}

void perf_ring_skip(struct perf_ring *ring, size_t size)
{
    ring->start += size;
}
