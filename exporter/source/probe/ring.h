/*
 * A ring of cache lines, each of which holds the address of the next.
 *
 * One line in every 256 bytes belongs to the ring, so that no prefetcher that takes pairs or
 * neighbours brings a line of the ring. The order is random, so that none that looks for strides
 * does. The first 256 bytes of every huge page stay outside: a load there fetches the translation.
 */
#ifndef IE_SOURCE_PROBE_RING_H
#define IE_SOURCE_PROBE_RING_H

#include <stddef.h>
#include <stdint.h>

enum { CHASE_LINE_BYTES = 64, CHASE_SLOT_BYTES = 256 };

struct chase_ring {
    char *base;      /* borrowed; the chase_buffer's */
    size_t bytes;    /* of the buffer */
    uint32_t *order; /* owned; the lines in the ring's order, as multiples of CHASE_LINE_BYTES */
    uint32_t offset; /* of the pointers in their lines */
    uint32_t lines;  /* in the ring */
    uint32_t next;   /* index into order where the next run starts */
};

/*
 * Makes a ring of a buffer's lines: of the 256-byte slots whose number is 'share' modulo 'shares'.
 * Several initiators share a target's buffer but must not share lines, since a directory would
 * remember the other socket. 0, -ENOMEM, or -EINVAL when fewer than two lines would be left.
 */
int chase_ring_init(struct chase_ring *ring, char *base, size_t bytes, uint32_t share,
                    uint32_t shares, uint64_t seed);
/* As init, of the first line in every 'slot_bytes' (a multiple of a line's bytes) of the whole
 * buffer, with the pointers at an offset in their lines. */
int chase_ring_init_spaced(struct chase_ring *ring, char *base, size_t bytes, uint32_t slot_bytes,
                           uint32_t offset, uint64_t seed);
void chase_ring_release(struct chase_ring *ring);

/* Where the pointer of the i-th line in the ring's order lies. The order array says so, not the
 * ring itself: nothing is loaded from the ring. */
static inline char *chase_ring_line(const struct chase_ring *ring, uint32_t i)
{
    return ring->base + (size_t)ring->order[i] * CHASE_LINE_BYTES + ring->offset;
}

#endif
