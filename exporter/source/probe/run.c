#include "exporter/source/probe/run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/buffer.h"

/* ---- the ring ---- */

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

/* A shuffled order closed to a ring is a uniformly random cyclic permutation. Owns the order. */
static int tie(struct chase_ring *ring, uint64_t *seed, struct chase_ring *out)
{
    if (ring->lines < 2) {
        chase_ring_release(ring);
        return -EINVAL;
    }
    for (uint32_t i = ring->lines - 1; i > 0; i--) {
        uint32_t j = random_below(seed, i + 1), line = ring->order[i];
        ring->order[i] = ring->order[j];
        ring->order[j] = line;
    }
    for (uint32_t i = 0; i < ring->lines; i++)
        *(void **)chase_ring_line(ring, i) = chase_ring_line(ring, (i + 1) % ring->lines);
    *out = *ring;
    return 0;
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
    return tie(&made, &seed, ring);
}

int chase_ring_init_spaced(struct chase_ring *ring, char *base, size_t bytes, uint32_t slot_bytes,
                           uint32_t offset, uint64_t seed)
{
    size_t lines = bytes / slot_bytes;
    struct chase_ring made = {.base = base, .bytes = bytes, .offset = offset};
    if (lines > UINT32_MAX / 8)
        return -EINVAL;
    made.order = malloc(lines * sizeof *made.order);
    if (!made.order)
        return -ENOMEM;
    for (made.lines = 0; made.lines < lines; made.lines++)
        made.order[made.lines] = made.lines * (slot_bytes / CHASE_LINE_BYTES);
    return tie(&made, &seed, ring);
}

void chase_ring_release(struct chase_ring *ring)
{
    free(ring->order);
    *ring = (struct chase_ring){0};
}

#define NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_thread))

static int64_t context_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) < 0 ? 0 : usage.ru_nvcsw + usage.ru_nivcsw;
}

NO_SANITIZE static void flush(const struct chase_ring *ring, enum chase_flush how, uint32_t loads)
{
    uint32_t at = ring->next;
    for (uint32_t i = 0; i < loads; i++) {
        chase_flush_line(how, chase_ring_line(ring, at));
        if (++at == ring->lines)
            at = 0;
    }
}

/* Fetches the translations of the huge pages. Those of small pages were fetched by the flush. */
NO_SANITIZE static void warm_translations(const struct chase_ring *ring)
{
    for (size_t at = 0; at < ring->bytes; at += CHASE_HUGE_BYTES)
        (void)*(volatile char *)(ring->base + at);
}

NO_SANITIZE static void *chase(void *start, uint32_t loads)
{
    void *volatile *at = start;
    for (; loads >= 4; loads -= 4) {
        at = *at;
        at = *at;
        at = *at;
        at = *at;
    }
    for (; loads > 0; loads--)
        at = *at;
    return (void *)at;
}

void chase_run(struct chase_ring *ring, enum chase_flush how, uint32_t loads,
               struct chase_facts *facts)
{
    if (how != CHASE_FLUSH_NONE) {
        flush(ring, how, loads);
        warm_translations(ring);
    }
    void *start = chase_ring_line(ring, ring->next);
    ring->next = (uint32_t)(((uint64_t)ring->next + loads) % ring->lines);
    facts->loads = loads;
    facts->switches = -context_switches();
    facts->cpu_before = sched_getcpu();
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    chase_flush_fence();
    uint64_t wall = clock_ns(CLOCK_MONOTONIC_RAW);
    void *end = chase(start, loads);
    __asm__ volatile("" : : "r"(end) : "memory");
    facts->wall_ns = clock_ns(CLOCK_MONOTONIC_RAW) - wall;
    facts->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    facts->cpu_after = sched_getcpu();
    facts->switches += context_switches();
}

bool chase_run_counts(const struct chase_facts *facts, enum probe_discard *cause)
{
    if (facts->cpu_before != facts->cpu_wanted || facts->cpu_after != facts->cpu_wanted)
        *cause = PROBE_MIGRATED;
    else if (facts->switches != 0)
        *cause = PROBE_PREEMPTED;
    else if (facts->cpu_ns + facts->wall_ns / 50 + 500 < facts->wall_ns)
        *cause = PROBE_STOLEN;
    else
        return true;
    return false;
}

double chase_median(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
