#include "tests/delay/cache.h"
#include "tests/unit/support/unit.h"

TEST(sizes)
{
    struct cache cache;
    assert_int_equal(cache_init(&cache, 0), -EINVAL);
    assert_int_equal(cache_init(&cache, 512), -EINVAL);
    assert_int_equal(cache_init(&cache, 3072), -EINVAL);
    assert_int_equal(cache_init(&cache, 1 << 20), 0);
    assert_int_equal(cache.sets, 1024);
    cache_release(&cache);
}

/* One set: 16 lines stay, the 17th takes the place of the one that was not used for longest. */
TEST(the_least_recently_used_goes)
{
    struct cache cache;
    assert_int_equal(cache_init(&cache, 1024), 0);
    for (uint64_t line = 0; line < 16; line++)
        assert_false(cache_access(&cache, line));
    assert_true(cache_access(&cache, 0)); /* now 1 is the oldest */
    assert_false(cache_access(&cache, 16));
    assert_true(cache_access(&cache, 0));
    assert_false(cache_access(&cache, 1));
    assert_false(cache_access(&cache, 2));
    assert_true(cache_access(&cache, 16));
    cache_release(&cache);
}

TEST(sets_do_not_meet)
{
    struct cache cache;
    assert_int_equal(cache_init(&cache, 2048), 0); /* two sets: even and odd lines */
    for (uint64_t line = 0; line < 32; line++)
        assert_false(cache_access(&cache, line));
    assert_false(cache_access(&cache, 32)); /* 0 goes */
    for (uint64_t line = 1; line < 32; line += 2)
        assert_true(cache_access(&cache, line));
    assert_false(cache_access(&cache, 0));
    cache_release(&cache);
}
