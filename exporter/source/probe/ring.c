#include "exporter/source/probe/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/random.h"

enum { SLOTS_PER_PAGE = CHASE_HUGE_BYTES / CHASE_SLOT_BYTES };

/* Below n, without a modulo's bias worth mentioning: n is far below 2^32. */
static uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((chase_random(state) >> 32) * n >> 32);
}

/* A random line of each slot: all channels are reached, whatever bits of the address choose them.
 */
static void pick_lines(struct chase_ring *ring, uint32_t share, uint32_t shares, uint64_t *seed)
{
    enum { LINES_PER_SLOT = CHASE_SLOT_BYTES / CHASE_LINE_BYTES };
    uint32_t slots = (uint32_t)(ring->bytes / CHASE_SLOT_BYTES);
    ring->lines = 0;
    for (uint32_t slot = share; slot < slots; slot += shares)
        if (slot % SLOTS_PER_PAGE != 0)
            ring->order[ring->lines++] = slot * LINES_PER_SLOT + random_below(seed, LINES_PER_SLOT);
}

/* A shuffled order closed to a ring is a uniformly random cyclic permutation. */
static void tie(struct chase_ring *ring, uint64_t *seed)
{
    for (uint32_t i = ring->lines - 1; i > 0; i--) {
        uint32_t j = random_below(seed, i + 1), line = ring->order[i];
        ring->order[i] = ring->order[j];
        ring->order[j] = line;
    }
    for (uint32_t i = 0; i < ring->lines; i++)
        *(void **)chase_ring_line(ring, i) = chase_ring_line(ring, (i + 1) % ring->lines);
}

int chase_ring_init(struct chase_ring *ring, char *base, size_t bytes, uint32_t share,
                    uint32_t shares, uint64_t seed)
{
    struct chase_ring made = {.base = base, .bytes = bytes};
    if (shares == 0 || share >= shares || bytes / CHASE_SLOT_BYTES > UINT32_MAX / 8)
        return -EINVAL;
    made.order = malloc((bytes / CHASE_SLOT_BYTES / shares + 1) * sizeof *made.order);
    if (!made.order)
        return -ENOMEM;
    pick_lines(&made, share, shares, &seed);
    if (made.lines < 2) {
        chase_ring_release(&made);
        return -EINVAL;
    }
    tie(&made, &seed);
    *ring = made;
    return 0;
}

int chase_ring_init_spaced(struct chase_ring *ring, char *base, size_t bytes, uint32_t slot_bytes,
                           uint32_t offset, uint64_t seed)
{
    size_t lines = bytes / slot_bytes;
    struct chase_ring made = {.base = base, .bytes = bytes, .offset = offset};
    if (lines < 2 || lines > UINT32_MAX / 8)
        return -EINVAL;
    made.order = malloc(lines * sizeof *made.order);
    if (!made.order)
        return -ENOMEM;
    for (made.lines = 0; made.lines < lines; made.lines++)
        made.order[made.lines] = made.lines * (slot_bytes / CHASE_LINE_BYTES);
    tie(&made, &seed);
    *ring = made;
    return 0;
}

void chase_ring_release(struct chase_ring *ring)
{
    free(ring->order);
    *ring = (struct chase_ring){0};
}
