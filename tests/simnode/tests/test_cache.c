/* Tags: LRU, way masks, dirty victims. */
#include "tests/simnode/model/cache.h"
#include "tests/unit/support/unit.h"

TEST(test_lru_replaces_the_least_recently_used)
{
    struct cache cache;

    assert_int_equal(cache_init(&cache, 1, 3), 0);
    cache_insert(&cache, 10, false, CACHE_ALL_WAYS);
    cache_insert(&cache, 11, false, CACHE_ALL_WAYS);
    cache_insert(&cache, 12, false, CACHE_ALL_WAYS);
    assert_true(cache_lookup(&cache, 10, false)); /* now 11 is the oldest */

    struct cache_victim victim = cache_insert(&cache, 13, false, CACHE_ALL_WAYS);

    assert_true(victim.valid);
    assert_int_equal(victim.line, 11);
    assert_true(cache_contains(&cache, 10));
    assert_false(cache_contains(&cache, 11));
    /* cache_contains touched nothing: 12 goes next, then 10. */
    assert_int_equal(cache_insert(&cache, 14, false, CACHE_ALL_WAYS).line, 12);
    assert_int_equal(cache_insert(&cache, 15, false, CACHE_ALL_WAYS).line, 10);
    cache_release(&cache);
}

TEST(test_lines_of_other_sets_do_not_meet)
{
    struct cache cache;

    /* Five sets, not a power of two: lines 3 and 8 share set 3, 4 does not. */
    assert_int_equal(cache_init(&cache, 5, 1), 0);
    cache_insert(&cache, 3, false, CACHE_ALL_WAYS);
    assert_false(cache_insert(&cache, 4, false, CACHE_ALL_WAYS).valid);
    assert_int_equal(cache_insert(&cache, 8, false, CACHE_ALL_WAYS).line, 3);
    cache_release(&cache);
}

TEST(test_way_masks_confine_replacement_not_hits)
{
    struct cache cache;

    assert_int_equal(cache_init(&cache, 1, 4), 0);
    for (uint64_t line = 0; line < 4; line++)
        cache_insert(&cache, line, false, CACHE_ALL_WAYS); /* line i in way i */
    /* Only ways 2 and 3 may be replaced, however old the others are. */
    assert_int_equal(cache_insert(&cache, 20, false, 0xc).line, 2);
    assert_int_equal(cache_insert(&cache, 21, false, 0xc).line, 3);
    assert_int_equal(cache_insert(&cache, 22, false, 0xc).line, 20);
    assert_true(cache_lookup(&cache, 0, false)); /* a hit in a way outside the mask */
    assert_false(cache_insert(&cache, 1, false, 0xc).valid);
    cache_release(&cache);
}

TEST(test_dirty_lines_leave_dirty)
{
    struct cache cache;

    assert_int_equal(cache_init(&cache, 1, 1), 0);
    cache_insert(&cache, 1, false, CACHE_ALL_WAYS);
    assert_true(cache_lookup(&cache, 1, true));
    assert_true(cache_lookup(&cache, 1, false)); /* reading does not clean */
    assert_true(cache_peek_victim(&cache, 2, CACHE_ALL_WAYS).dirty);
    assert_true(cache_insert(&cache, 2, false, CACHE_ALL_WAYS).dirty);
    assert_false(cache_insert(&cache, 3, true, CACHE_ALL_WAYS).dirty);
    assert_true(cache_insert(&cache, 4, false, CACHE_ALL_WAYS).dirty);
    cache_release(&cache);
}

TEST(test_impossible_geometry_is_refused)
{
    struct cache cache;

    assert_int_equal(cache_init(&cache, 0, 4), -EINVAL);
    assert_int_equal(cache_init(&cache, 4, 0), -EINVAL);
    assert_int_equal(cache_init(&cache, 4, CACHE_MAX_WAYS + 1), -EINVAL);
}
