/* The heap that brings the records of many streams into one order. */
#include "exporter/source/sampler/merge.h"
#include "tests/unit/support/unit.h"

static void assert_first(const struct merge *merge, uint64_t time, size_t event, size_t index)
{
    const struct merge_entry *first = merge_first(merge);
    assert_non_null(first);
    assert_int_equal(first->time, time);
    assert_int_equal(first->event, event);
    assert_int_equal(first->index, index);
}

static void push(struct merge *merge, struct merge_entry entry)
{
    assert_int_equal(merge_push(merge, entry), 0);
}

TEST(by_time_then_event_then_stream)
{
    struct merge merge = {0};
    assert_null(merge_first(&merge));
    push(&merge, (struct merge_entry){.time = 7, .event = 1, .index = 0});
    push(&merge, (struct merge_entry){.time = 7, .event = 0, .index = 5});
    push(&merge, (struct merge_entry){.time = 9, .event = 0, .index = 1});
    push(&merge, (struct merge_entry){.time = 7, .event = 0, .index = 3});
    push(&merge, (struct merge_entry){.time = UINT64_MAX, .event = 0, .index = 2});
    push(&merge, (struct merge_entry){.time = 0, .event = 3, .index = 9});
    assert_first(&merge, 0, 3, 9);
    merge_pop(&merge);
    assert_first(&merge, 7, 0, 3);
    merge_pop(&merge);
    assert_first(&merge, 7, 0, 5);
    merge_pop(&merge);
    assert_first(&merge, 7, 1, 0);
    merge_pop(&merge);
    assert_first(&merge, 9, 0, 1);
    merge_pop(&merge);
    assert_first(&merge, UINT64_MAX, 0, 2);
    merge_pop(&merge);
    assert_null(merge_first(&merge));
    merge_release(&merge);
}

TEST(the_first_is_replaced)
{
    struct merge merge = {0};
    for (uint64_t i = 1; i <= 3; i++)
        push(&merge, (struct merge_entry){.time = i, .index = i});
    merge_replace_first(&merge, (struct merge_entry){.time = 10, .index = 1});
    assert_first(&merge, 2, 0, 2);
    merge_replace_first(&merge, (struct merge_entry){.time = 2, .index = 2}); /* the same again */
    assert_first(&merge, 2, 0, 2);
    merge_pop(&merge);
    assert_first(&merge, 3, 0, 3);
    merge_clear(&merge);
    assert_null(merge_first(&merge));
    assert_int_equal(merge.n, 0);
    merge_release(&merge);
}

/* It grows as it is filled, and not when it is filled again. */
TEST(room)
{
    enum { N = 1000 };
    struct merge merge = {0};
    size_t cap = 0;
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = N; i > 0; i--)
            assert_int_equal(merge_push(&merge, (struct merge_entry){.time = i}), 0);
        assert_first(&merge, 1, 0, 0);
        assert_true(merge.cap >= N && (round == 0 || merge.cap == cap));
        cap = merge.cap;
        merge_clear(&merge);
        assert_null(merge_first(&merge));
    }
    merge_release(&merge);
    assert_null(merge_first(&merge));
}

static uint32_t random_of(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

/* As the sampler does it: each stream ascends, and all come out in one order. */
TEST(many_streams)
{
    enum { STREAMS = 37, RECORDS = 500 };
    struct merge merge = {0};
    uint64_t time[STREAMS];
    size_t left[STREAMS], n = 0;
    uint32_t seed = 1;
    for (size_t i = 0; i < STREAMS; i++) {
        time[i] = random_of(&seed) % 50;
        left[i] = RECORDS;
        push(&merge, (struct merge_entry){time[i], i % 3, i});
    }
    struct merge_entry last = {0};
    for (const struct merge_entry *first; (first = merge_first(&merge)); n++) {
        size_t i = first->index;
        assert_int_equal(first->time, time[i]);
        assert_int_equal(first->event, i % 3);
        assert_true(first->time > last.time || n == 0 ||
                    (first->time == last.time &&
                     (first->event > last.event ||
                      (first->event == last.event && first->index >= last.index))));
        last = *first;
        time[i] += 1 + random_of(&seed) % 5;
        if (--left[i] > 0)
            merge_replace_first(&merge, (struct merge_entry){time[i], i % 3, i});
        else
            merge_pop(&merge);
    }
    assert_int_equal(n, STREAMS * RECORDS);
    merge_release(&merge);
}
