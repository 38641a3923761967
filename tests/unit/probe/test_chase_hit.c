/* Hits in the last-level cache: where the probe can measure them, when it does, and which results
 * it rejects. */
#include <sched.h>

#include "exporter/source/probe/hit.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

enum { BUFFER_BYTES = 4 << 20, LINES = BUFFER_BYTES / 512 };

struct world {
    struct fixture fixture;
    char *memory;
    int cpu;
    cpu_set_t allowed;
};

static void cache(struct world *w, int index, int level, const char *type, const char *size)
{
    char path[96];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu3/cache/index%d/level", index);
    fixture_write(&w->fixture, path, "%d\n", level);
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu3/cache/index%d/type", index);
    fixture_write(&w->fixture, path, "%s\n", type);
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu3/cache/index%d/size", index);
    fixture_write(&w->fixture, path, "%s\n", size);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    fixture_init(&w->fixture);
    w->memory = aligned_alloc(4096, BUFFER_BYTES);
    assert_non_null(w->memory);
    /* Whoever moves is measured nowhere. */
    w->cpu = sched_getcpu();
    assert_int_equal(sched_getaffinity(0, sizeof w->allowed, &w->allowed), 0);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)w->cpu, &only);
    assert_int_equal(sched_setaffinity(0, sizeof only, &only), 0);
    cache(w, 0, 1, "Data", "48K");
    cache(w, 1, 1, "Instruction", "32K");
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_int_equal(sched_setaffinity(0, sizeof w->allowed, &w->allowed), 0);
    fixture_release(&w->fixture);
    free(w->memory);
    free(w);
    return 0;
}

static int make(struct world *w, struct chase_hit *hit)
{
    return chase_hit_init(hit, &w->fixture.fs, 3, w->memory, BUFFER_BYTES, 42);
}

static double llc_hit(struct chase_hit *hit, int cpu, double memory_ns)
{
    struct probe_reading out = {.latency_ns = 7, .llc_hit_ns = 8, .l2_hit_ns = 9};
    chase_hit_burst(hit, cpu, memory_ns, &out);
    assert_true(out.latency_ns == 7);
    /* Hits in the L2 are measured after those behind it, and are faster, or discarded. */
    assert_true(out.l2_hit_ns == 0 || (out.l2_hit_ns > 0 && out.l2_hit_ns < out.llc_hit_ns));
    return out.llc_hit_ns;
}

TEST_WITH(sizes_are_the_unified_caches, setup, teardown)
{
    struct world *w = *state;
    size_t l2, llc;
    assert_int_equal(chase_hit_caches(&w->fixture.fs, 3, &l2, &llc), -ENOENT);
    cache(w, 2, 2, "Unified", "1280K");
    assert_int_equal(chase_hit_caches(&w->fixture.fs, 3, &l2, &llc), -ENOENT);
    cache(w, 3, 3, "Unified", "39936K");
    assert_int_equal(chase_hit_caches(&w->fixture.fs, 3, &l2, &llc), 0);
    assert_int_equal(l2, 1280 << 10);
    assert_int_equal(llc, 39936 << 10);
    assert_int_equal(chase_hit_caches(&w->fixture.fs, 4, &l2, &llc), -ENOENT);
    cache(w, 3, 3, "Unified", "39936");
    assert_int_equal(chase_hit_caches(&w->fixture.fs, 3, &l2, &llc), -ENOENT);
}

/* Without a ring nothing is ever measured. */
TEST_WITH(caches_that_do_not_fit_are_not_measured, setup, teardown)
{
    struct world *w = *state;
    struct chase_hit hit;
    assert_int_equal(make(w, &hit), -ENOTSUP);
    cache(w, 2, 2, "Unified", "3072K"); /* the buffer has 4096: not one and a half times */
    cache(w, 3, 3, "Unified", "39936K");
    assert_int_equal(make(w, &hit), -ENOTSUP);
    cache(w, 2, 2, "Unified", "2048K");
    cache(w, 3, 3, "Unified", "1023K"); /* two rings of 8192 lines do not fit */
    assert_int_equal(make(w, &hit), -ENOTSUP);
    for (int i = 0; i < 50; i++)
        assert_true(llc_hit(&hit, w->cpu, 1e9) == 0);
    assert_int_equal(hit.attempts, 0);
    cache(w, 3, 3, "Unified", "1024K");
    assert_int_equal(make(w, &hit), 0);
    assert_int_equal(hit.ring.lines, LINES);
    chase_hit_release(&hit);
}

/* The pointers go round through one line of every 512 bytes, beside the other ring's. */
TEST_WITH(both_rings_are_whole, setup, teardown)
{
    struct world *w = *state;
    struct chase_ring ring;
    struct chase_hit hit;
    uint8_t seen[LINES] = {0};
    cache(w, 2, 2, "Unified", "2048K");
    cache(w, 3, 3, "Unified", "39936K");
    assert_int_equal(chase_ring_init(&ring, w->memory, BUFFER_BYTES, 0, 1, 7), 0);
    assert_int_equal(make(w, &hit), 0);
    char *at = w->memory + 32;
    for (int i = 0; i < LINES; i++, at = *(char **)at) {
        size_t offset = (size_t)(at - w->memory);
        assert_true(offset < BUFFER_BYTES);
        assert_int_equal(offset % 512, 32);
        assert_false(seen[offset / 512]++);
    }
    assert_ptr_equal(at, w->memory + 32);
    char *start = w->memory + (size_t)ring.order[0] * CHASE_LINE_BYTES, *other = start;
    uint32_t n = 0;
    do
        other = *(char **)other;
    while (++n < ring.lines && other != start);
    assert_int_equal(n, ring.lines);
    assert_ptr_equal(other, start);
    /* And the ring of the L2: 256 lines, with pointers of its own. */
    assert_int_equal(hit.l2.lines, 256);
    char *l2 = chase_ring_line(&hit.l2, 0), *first = l2;
    for (n = 0; n < 256 && (n == 0 || l2 != first); n++, l2 = *(char **)l2) {
        assert_in_range(l2 - w->memory, 0, (128 << 10) - 1);
        assert_int_equal((l2 - w->memory) % 512, 40);
    }
    assert_int_equal(n, 256);
    assert_ptr_equal(l2, first);
    chase_hit_release(&hit);
    chase_ring_release(&ring);
}

/* Against memory of a second nothing is slow; against memory that takes no time everything is. */
TEST_WITH(measured_often_at_first_and_then_rarely, setup, teardown)
{
    struct world *w = *state;
    struct chase_hit hit;
    cache(w, 2, 2, "Unified", "2048K");
    cache(w, 3, 3, "Unified", "39936K");
    assert_int_equal(make(w, &hit), 0);
    uint32_t got = 0;
    for (int i = 1; i <= 3 * CHASE_HIT_RARELY; i++) {
        uint32_t attempts = hit.attempts;
        double ns = llc_hit(&hit, w->cpu, 1e9);
        assert_int_equal(hit.attempts - attempts, i <= CHASE_HIT_AT_FIRST * CHASE_HIT_EVERY
                                                      ? i % CHASE_HIT_EVERY == 0
                                                      : i % CHASE_HIT_RARELY == 0);
        assert_true(ns == 0 || (hit.attempts > attempts && ns > 0.1 && ns < 1e5));
        got += ns > 0;
    }
    assert_int_equal(hit.attempts, CHASE_HIT_AT_FIRST + 3);
    for (int i = 0; i < 2 * CHASE_HIT_RARELY; i++)
        assert_true(llc_hit(&hit, w->cpu, 0) == 0);
    assert_int_equal(hit.attempts, CHASE_HIT_AT_FIRST + 5);
    /* Others may take the CPU away in some, and on a crowded machine in many in a row. */
    for (int i = 0; got == 0 && i < 1000000; i++)
        got += llc_hit(&hit, w->cpu, 1e9) > 0;
    assert_true(got > 0);
    chase_hit_release(&hit);
}
