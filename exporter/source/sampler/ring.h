/*
 * The reader's side of one perf ring buffer: bytes are copied out at once, so that the kernel has
 * its room back before they are parsed.
 */
#ifndef IE_SOURCE_SAMPLER_RING_H
#define IE_SOURCE_SAMPLER_RING_H

#include "exporter/source/sampler/record.h"

struct perf_ring {
    void *mapping; /* borrowed: the control page, then data_size bytes */
    uint8_t *data;
    size_t data_size;
    uint8_t *bytes;    /* copied out, of which start..end are unread */
    size_t start, end; /* bytes holds 2 * data_size */
};

/* 'mapping' is the control page, 'page_size' long, and data_size bytes behind it, a power of two.
 * 0, -EINVAL for other sizes, or -ENOMEM. */
int perf_ring_init(struct perf_ring *ring, void *mapping, size_t page_size, size_t data_size);
void perf_ring_release(struct perf_ring *ring);

/* Copies what the kernel has written. 0, or 1 when there was no room for all of it; -EIO when the
 * kernel's positions make no sense: everything in the ring was thrown away. */
int perf_ring_copy(struct perf_ring *ring);

/*
 * The next record, which stays. 1 with *out and its *size; 0 when all are read; -EINVAL for bytes
 * that are no record, with which all that was copied is thrown away.
 * Pointers in *out live until the next copy.
 */
int perf_ring_peek(struct perf_ring *ring, uint64_t sample_type, struct kernel_record *out,
                   size_t *size);
void perf_ring_skip(struct perf_ring *ring, size_t size);

#endif
