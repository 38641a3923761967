/*
 * The pointer chase itself: one run through a part of a ring, and what a run must satisfy to count.
 */
#ifndef IE_SOURCE_PROBE_RUN_H
#define IE_SOURCE_PROBE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/probe/flush.h"
#include "exporter/source/source.h"

/* A small generator (splitmix64) for orders and jitter; nothing secret. */

static inline uint64_t chase_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

/*
 * A ring of cache lines, each of which holds the address of the next.
 *
 * One line in every 256 bytes belongs to the ring, so that no prefetcher that takes pairs or
 * neighbours brings a line of the ring. The order is random, so that none that looks for strides
 * does. The first 256 bytes of every huge page stay outside: a load there fetches the translation.
 */

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

/* What was seen around one run. */
struct chase_facts {
    uint64_t loads;
    uint64_t wall_ns;
    uint64_t cpu_ns;  /* the thread's CPU time, taken around wall_ns */
    int64_t switches; /* context switches, voluntary or not */
    int cpu_wanted;
    int cpu_before;
    int cpu_after;
};

/*
 * Flushes the next 'loads' lines of the ring, then loads them one after the other, each address
 * coming from the line before. CHASE_FLUSH_NONE leaves the caches alone (for rings that are larger
 * than they are). The caller sets facts->cpu_wanted, the CPU on which the run should be.
 */
void chase_run(struct chase_ring *ring, enum chase_flush how, uint32_t loads,
               struct chase_facts *facts);

/* True if the run counts, otherwise *cause says why not. Up to 2 % and 500 ns of lost time are the
 * clocks' own. */
bool chase_run_counts(const struct chase_facts *facts, enum probe_discard *cause);

/* The median; the mean of the middle two when n is even. Sorts in place. n >= 1. */
double chase_median(double *values, size_t n);

#endif
