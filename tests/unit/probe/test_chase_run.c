#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/run.h"
#include "exporter/source/probe/thread.h"
#include "tests/unit/support/unit.h"

enum { RING_BYTES = 2 * CHASE_HUGE_BYTES };

static char *ring_memory(void)
{
    char *memory = aligned_alloc(CHASE_HUGE_BYTES, RING_BYTES);
    assert_non_null(memory);
    memset(memory, 0, RING_BYTES);
    return memory;
}

/* Follows the pointers, marks the slots seen, and returns how many lines until the start again. */
static size_t walk(const struct chase_ring *ring, uint8_t *slot_seen)
{
    char *start = ring->base + (size_t)ring->order[0] * CHASE_LINE_BYTES, *at = start;
    size_t n = 0;
    do {
        size_t offset = (size_t)(at - ring->base);
        assert_true(offset < RING_BYTES);
        assert_int_equal(offset % CHASE_LINE_BYTES, 0);
        assert_ptr_equal(at, ring->base + (size_t)ring->order[n] * CHASE_LINE_BYTES);
        assert_int_equal(slot_seen[offset / CHASE_SLOT_BYTES]++, 0);
        n++;
        at = *(char **)(void *)at;
    } while (at != start && n <= ring->lines);
    return n;
}

TEST(test_ring_is_one_cycle_of_spaced_lines)
{
    static uint8_t seen[RING_BYTES / CHASE_SLOT_BYTES];
    struct chase_ring ring;
    char *memory = ring_memory();
    memset(seen, 0, sizeof seen);
    assert_int_equal(chase_ring_init(&ring, memory, RING_BYTES, 0, 1, 7), 0);
    assert_int_equal(ring.lines, RING_BYTES / CHASE_SLOT_BYTES - 2);
    assert_int_equal(walk(&ring, seen), ring.lines);
    assert_int_equal(seen[0], 0); /* the lines that warm the TLB */
    assert_int_equal(seen[CHASE_HUGE_BYTES / CHASE_SLOT_BYTES], 0);
    chase_ring_release(&ring);
    free(memory);
}

/* Neighbours in the order are far apart and in no stride: otherwise a prefetcher could help. */
TEST(test_ring_is_shuffled)
{
    struct chase_ring ring;
    char *memory = ring_memory();
    uint32_t lines[CHASE_SLOT_BYTES / CHASE_LINE_BYTES] = {0};
    size_t near = 0, ascending = 0;
    assert_int_equal(chase_ring_init(&ring, memory, RING_BYTES, 0, 1, 7), 0);
    for (uint32_t i = 0; i + 1 < ring.lines; i++) {
        uint32_t a = ring.order[i], b = ring.order[i + 1];
        near += (a > b ? a - b : b - a) < 4096 / CHASE_LINE_BYTES;
        ascending += b > a;
        lines[a % 4]++;
    }
    /* Expected: 2 * 16 slots of 16382, so 32; half; a quarter each. */
    assert_in_range(near, 1, 100);
    assert_in_range(ascending, ring.lines * 45 / 100, ring.lines * 55 / 100);
    for (size_t i = 0; i < 4; i++)
        assert_in_range(lines[i], ring.lines * 22 / 100, ring.lines * 28 / 100);
    chase_ring_release(&ring);
    free(memory);
}

TEST(test_rings_of_several_initiators_share_no_line)
{
    static uint8_t seen[RING_BYTES / CHASE_SLOT_BYTES];
    struct chase_ring rings[3];
    char *memory = ring_memory();
    size_t total = 0;
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(chase_ring_init(&rings[i], memory, RING_BYTES, i, 3, 11 + i), 0);
    for (size_t i = 0; i < 3; i++) {
        total += walk(&rings[i], seen); /* asserts that each slot is seen once */
        chase_ring_release(&rings[i]);
    }
    assert_int_equal(total, RING_BYTES / CHASE_SLOT_BYTES - 2);
    assert_int_equal(chase_ring_init(&rings[0], memory, RING_BYTES, 3, 3, 1), -EINVAL);
    assert_int_equal(chase_ring_init(&rings[0], memory, RING_BYTES, 0, 0, 1), -EINVAL);
    assert_int_equal(chase_ring_init(&rings[0], memory, RING_BYTES, 16383, 16384, 1), -EINVAL);
    free(memory);
}

TEST(test_runs_go_on_where_the_last_ended)
{
    struct chase_ring ring;
    struct chase_facts facts = {.cpu_wanted = 0};
    char *memory = ring_memory();
    assert_int_equal(chase_ring_init(&ring, memory, RING_BYTES, 0, 1, 3), 0);
    chase_run(&ring, chase_flush_detect(), 16000, &facts);
    assert_int_equal(ring.next, 16000);
    chase_run(&ring, chase_flush_detect(), 501, &facts);
    assert_int_equal(ring.next, 16000 + 501 - 16382);
    assert_int_equal(facts.loads, 501);
    assert_true(facts.wall_ns > 0);
    assert_true(facts.cpu_ns > 0);
    chase_ring_release(&ring);
    free(memory);
}

TEST(test_discard_rules)
{
    const struct {
        struct chase_facts facts;
        int cause; /* -1: counts */
    } cases[] = {
        {{500, 70000, 70300, 0, 3, 3, 3}, -1},
        {{500, 70000, 70300, 0, 3, 2, 3}, PROBE_MIGRATED},
        {{500, 70000, 70300, 0, 3, 3, 2}, PROBE_MIGRATED},
        {{500, 70000, 70300, 2, 3, 2, 2}, PROBE_MIGRATED},
        {{500, 70000, 70300, 1, 3, 3, 3}, PROBE_PREEMPTED},
        {{500, 4070000, 70300, 1, 3, 3, 3}, PROBE_PREEMPTED},
        {{500, 70000, 60000, 0, 3, 3, 3}, PROBE_STOLEN},
        {{500, 70000, 68100, 0, 3, 3, 3}, -1},           /* 2 % of 70,000 and 500 are forgiven */
        {{500, 70000, 68099, 0, 3, 3, 3}, PROBE_STOLEN}, /* and not 1 ns more */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum probe_discard cause = PROBE_DISCARDS;
        bool counts = chase_run_counts(&cases[i].facts, &cause);
        assert_int_equal(counts ? -1 : (int)cause, cases[i].cause);
    }
}

TEST(test_median)
{
    assert_true(chase_median((double[]){4}, 1) == 4);
    assert_true(chase_median((double[]){9, 1}, 2) == 5);
    assert_true(chase_median((double[]){300, 80, 81}, 3) == 81);
    assert_true(chase_median((double[]){7, 1, 900, 3}, 4) == 5);
    assert_true(chase_median((double[]){5, 5, 1, 5, 9}, 5) == 5);
}

/* A machine whose load costs load_ns, for an hour, with something extra after every fifth burst:
 * the share of a CPU used, and bursts made. */
static double simulate(uint64_t interval_ns, uint64_t load_ns, uint64_t extra_ns, size_t *bursts)
{
    uint64_t turn_ns = interval_ns / CHASE_BURSTS;
    struct chase_account account;
    uint64_t used = 0, hour = 3600000000000U;
    chase_account_init(&account, turn_ns, 1000);
    *bursts = 0;
    for (uint64_t now = 1000; now < hour;) {
        uint64_t budget = chase_account_budget(&account, now), loads = 0, cpu = 4000;
        if (budget > 0) {
            uint64_t runs = (budget - CHASE_WARM_LOADS * load_ns) / (CHASE_RUN_LOADS * load_ns);
            runs = budget < CHASE_WARM_LOADS * load_ns ? 1 : runs > CHASE_RUNS ? CHASE_RUNS : runs;
            loads = CHASE_WARM_LOADS + runs * CHASE_RUN_LOADS;
            cpu += loads * load_ns;
            (*bursts)++;
        }
        chase_account_spend(&account, cpu, loads);
        used += cpu;
        if (loads > 0 && extra_ns > 0 && *bursts % 5 == 0) {
            chase_account_spend(&account, extra_ns, 0);
            used += extra_ns;
        }
        now += (chase_account_wait_ns(&account) / turn_ns + 1) * turn_ns;
    }
    return (double)used / (double)hour;
}

TEST(test_budget_holds_at_every_speed)
{
    const uint64_t load_ns[] = {90, 150, 300, 700, 2000};
    size_t bursts;
    for (size_t i = 0; i < sizeof load_ns / sizeof load_ns[0]; i++) {
        assert_true(simulate(1000000000, load_ns[i], 0, &bursts) <= 0.001);
        /* Still measuring: as often as the account pays for, or in every turn. */
        uint64_t burst_ns = load_ns[i] * (CHASE_WARM_LOADS + CHASE_RUNS * CHASE_RUN_LOADS) + 4000;
        uint64_t paid = 3600U * 900000 / burst_ns, all = 3600U * CHASE_BURSTS;
        assert_true(bursts >= (paid < all ? paid : all) * 3 / 5 && bursts <= all);
        assert_true(simulate(20000000, load_ns[i], 0, &bursts) <= 0.001);
        assert_true(bursts >= 900);
        assert_true(simulate(15000000000U, load_ns[i], 0, &bursts) <= 0.001);
        assert_true(bursts == 240 * CHASE_BURSTS);
    }
    assert_true(simulate(1000000000, 150, 0, &bursts) > 0.0007); /* and uses what it may */
    assert_int_equal(bursts, 3600 * CHASE_BURSTS);
    /* What goes beyond a burst's share is saved up for afterwards. */
    assert_true(simulate(1000000000, 150, 3000000, &bursts) <= 0.001);
    assert_in_range(bursts, 3000, 6000);
}

/* Three targets, of which number 1 is the thread's own; turns are skipped now and then. */
TEST(test_own_target_every_other_time)
{
    enum { HOLD = CHASE_BURSTS * CHASE_INTERVALS_PER_TARGET };
    static const size_t order[] = {1, 0, 1, 2, 1, 0};
    struct chase_targets targets;
    chase_targets_init(&targets, 3, 1, 0);
    for (uint64_t turn = 0; turn < 6 * HOLD; turn++)
        assert_int_equal(chase_targets_next(&targets, turn), order[turn / HOLD]);
    /* A memory so slow that most turns cannot be paid for: each target is still reached. */
    int reached[3] = {0};
    chase_targets_init(&targets, 3, 1, 0);
    for (uint64_t turn = 0; turn < 4000; turn += 13)
        reached[chase_targets_next(&targets, turn)]++;
    assert_true(reached[1] > 100 && reached[0] > 50 && reached[2] > 50);
    chase_targets_init(&targets, 1, 0, 0);
    for (uint64_t turn = 0; turn < 40; turn++)
        assert_int_equal(chase_targets_next(&targets, turn), 0);
    /* A node without memory of its own, of three. */
    chase_targets_init(&targets, 2, 2, 1);
    for (uint64_t turn = 0; turn < 4 * HOLD; turn++)
        assert_int_equal(chase_targets_next(&targets, turn), (turn / HOLD + 1) % 2);
}

TEST(test_turns_do_not_overlap)
{
    enum { N = 4 };
    const uint64_t interval = 1000000000, burst = 2000000;
    uint64_t random = 1, smallest = UINT64_MAX, largest = 0;
    for (uint64_t turn = 0; turn < 2000; turn++) {
        uint64_t last_end = turn * interval;
        for (size_t i = 0; i < N; i++) {
            uint64_t at = chase_turn_ns(interval, i, N, turn, chase_random(&random));
            assert_true(at >= last_end);
            last_end = at + burst;
            uint64_t phase = at - turn * interval - i * (interval / N);
            smallest = phase < smallest ? phase : smallest;
            largest = phase > largest ? phase : largest;
        }
        assert_true(last_end < (turn + 1) * interval);
    }
    assert_true(smallest < 10000000 && largest > 190000000); /* moves over 200 ms of 250 */
}

TEST(test_queue_keeps_order_and_bounds)
{
    struct chase_queue queue = {.put = 0};
    struct probe_reading reading;
    assert_false(chase_queue_take(&queue, &reading));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < CHASE_QUEUE; i++)
            assert_true(
                chase_queue_put(&queue, &(struct probe_reading){round, i, 1.5 * i, 0, 0, -1}));
        assert_false(chase_queue_put(&queue, &(struct probe_reading){9, 9, 9, 0, 0, -1}));
        for (int i = 0; i < CHASE_QUEUE; i++) {
            assert_true(chase_queue_take(&queue, &reading));
            assert_int_equal(reading.initiator_numa_node, round);
            assert_int_equal(reading.target_numa_node, i);
            assert_true(reading.latency_ns == 1.5 * i);
        }
        assert_false(chase_queue_take(&queue, &reading));
    }
}
