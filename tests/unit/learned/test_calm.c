/* Which windows are calm, with histories made by hand: FORMULAS.md section 3. */
#include "collectors/learned/calm.h"
#include "tests/unit/support/unit.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)

static const double peak = 1e9;

/* n windows at one time; how many were calm. */
static int windows(struct calm *calm, uint64_t mono_ns, double rate, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += calm_window(calm, mono_ns, rate, peak);
    return found;
}

TEST(test_idle_neighbours)
{
    struct calm calm = {0};
    for (int i = 0; i < 4000; i++)
        assert_int_equal(calm_window(&calm, (uint64_t)i * SECOND, 0, peak), i >= 9);

    /* Also when the node never read anything. */
    calm = (struct calm){0};
    for (int i = 0; i < 20; i++)
        assert_int_equal(calm_window(&calm, (uint64_t)i * SECOND, 0, 0), i >= 9);
}

TEST(test_never_calm_node)
{
    struct calm calm = {0};
    /* All windows are each other's lowest decile, and at the peak. */
    assert_int_equal(windows(&calm, 0, peak, 5000), 0);
    /* Much lower than usual, but still not below a tenth. */
    assert_int_equal(windows(&calm, 0, peak * 0.5, 1), 0);
    assert_int_equal(windows(&calm, 0, peak * 0.1, 1), 0);
    assert_int_equal(windows(&calm, 0, peak * 0.0999, 1), 1);
}

TEST(test_no_peak_is_not_calm)
{
    struct calm calm = {0};
    assert_int_equal(windows(&calm, 0, 0, 100), 91);
    assert_false(calm_window(&calm, 0, 1, 0));
    assert_false(calm_window(&calm, 0, 1, NAN));
    assert_true(calm_window(&calm, 0, 0, NAN));
    assert_true(calm_window(&calm, 0, 1, 11)); /* same bucket as 0 */
}

/* 90 busy windows; then low ones are the lowest decile while fewer than a tenth lies below. */
TEST(test_decile)
{
    struct calm calm = {0};
    assert_int_equal(windows(&calm, 0, 1e6, 5), 0); /* too few windows yet */
    assert_int_equal(windows(&calm, 0, 1e6, 85), 81);

    assert_int_equal(windows(&calm, 0, 1000, 9), 9); /* 99 windows, 9 low ones */
    /* 9 of 100 lie below: fewer than a tenth, so the usual rate is still within the decile. */
    assert_true(calm_window(&calm, 0, 1e6, peak));
    assert_true(calm_window(&calm, 0, 1000, peak)); /* the tenth low one of 101 */
    assert_true(calm_window(&calm, 0, 1e6, peak));  /* 10 of 102 */
    assert_int_equal(windows(&calm, 0, 1000, 1), 1);
    assert_false(calm_window(&calm, 0, 1e6, peak)); /* 11 of 104: not any more */
    assert_true(calm_window(&calm, 0, 1000, peak));
    assert_false(calm_window(&calm, 0, 1e7, peak));
}

TEST(test_exact_tenth_is_not_below)
{
    struct calm calm = {0};
    windows(&calm, 0, 1000, 10);
    windows(&calm, 0, 1e6, 89);
    assert_false(calm_window(&calm, 0, 1e6, peak)); /* 10 of 100 */
    assert_true(calm_window(&calm, 0, 1e6, peak));  /* 10 of 101 */
}

/* Edges at 16 * 2^(i/2): a rate one step below an edge is in another bucket than the edge. */
TEST(test_buckets)
{
    for (int i = 0; i < 63; i++) {
        double edge = 16 * pow(2, i / 2.0);
        double above = edge * 1.0001, below = edge * 0.9999;
        struct calm calm = {0};
        windows(&calm, 0, below, 50);
        assert_false(calm_window(&calm, 0, above, 1e15)); /* 50 of 51 lie lower */
        calm = (struct calm){0};
        windows(&calm, 0, above, 50);
        assert_true(calm_window(&calm, 0, i < 62 ? edge * 1.41 : 1e13, 1e15));
    }
    struct calm calm = {0};
    windows(&calm, 0, 15.99, 50);
    assert_true(calm_window(&calm, 0, 0, peak));
    assert_true(calm_window(&calm, 0, 15.99, peak));
    assert_false(calm_window(&calm, 0, 16, peak)); /* exactly on the edge: above */
}

TEST(test_the_hour_forgets)
{
    /* Quiet windows in the first ten minutes make a later, louder one not calm ... */
    for (uint64_t minute = 10; minute <= 80; minute += 10) {
        struct calm calm = {0};
        windows(&calm, 0, 1000, 50);
        windows(&calm, 9 * MINUTE, 1000, 50);
        bool calm_later = false;
        for (uint64_t at = 10; at <= minute; at += 10)
            calm_later = windows(&calm, at * MINUTE, 1e6, 10) == 10;
        /* ... until their slice is seven slices old: 60 minutes after its end. */
        assert_int_equal(calm_later, minute >= 70);
    }
}

TEST(test_a_long_gap_forgets_everything)
{
    struct calm calm = {0};
    for (uint64_t at = 0; at < 70; at++)
        windows(&calm, at * MINUTE, 1000, 10);
    /* After a gap the minimum of windows counts anew. */
    assert_int_equal(windows(&calm, 1000000 * MINUTE, 1e6, 9), 0);
    assert_int_equal(windows(&calm, 1000000 * MINUTE, 1e6, 1), 1);
    /* A gap that leaves one slice: its 100 windows are still there. */
    memset(&calm, 0, sizeof calm);
    windows(&calm, 5 * MINUTE, 1000, 100);
    assert_int_equal(windows(&calm, 65 * MINUTE, 1e6, 20), 0);
    assert_int_equal(windows(&calm, 70 * MINUTE, 1e6, 1), 1);
}

TEST(test_time_backwards)
{
    struct calm calm = {0};
    windows(&calm, 100 * MINUTE, 1000, 100);
    assert_int_equal(windows(&calm, 0, 1e6, 1), 0); /* counted as now, nothing is forgotten */
    assert_int_equal(windows(&calm, 100 * MINUTE, 1000, 1), 1);
    assert_int_equal(windows(&calm, UINT64_MAX, 1e6, 10), 1);
    assert_int_equal(windows(&calm, 0, 1e6, 1), 1);
}

TEST(test_saturation)
{
    struct calm calm = {0};
    windows(&calm, 0, 0, 65535);
    windows(&calm, 0, 1e6, 7000);
    assert_false(calm_window(&calm, 0, 1e6, peak));
    /* The 65,536th entry of a bucket is not counted, but does not wrap to 0 either: otherwise the
     * quiet windows would be gone, and 1e6 would be the lowest decile. */
    assert_int_equal(windows(&calm, 0, 0, 10), 10);
    assert_false(calm_window(&calm, 0, 1e6, peak));
    /* Saturated in every slice, the sums hold. */
    for (uint64_t at = 0; at < 70; at += 10) {
        windows(&calm, at * MINUTE, 0, 65540);
        windows(&calm, at * MINUTE, 1e6, 65540);
    }
    assert_false(calm_window(&calm, 69 * MINUTE, 1e6, peak));
    assert_true(calm_window(&calm, 69 * MINUTE, 0, peak));
}

TEST(test_nonsense_is_not_remembered)
{
    struct calm calm = {0};
    windows(&calm, MINUTE, 1000, 9);
    struct calm before = calm;
    const double nonsense[] = {NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        assert_false(calm_window(&calm, MINUTE, nonsense[i], peak));
    assert_memory_equal(&calm, &before, sizeof calm);
    assert_true(calm_window(&calm, MINUTE, 1000, peak));
}
