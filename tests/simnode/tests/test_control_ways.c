#include "tests/simnode/formulas/ways.h"
#include "tests/unit/support/unit.h"

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g instead of %.12g", got, want);
}

/* ---- how slow it would be ---- */

static const struct control_cache_counts counts = {
    .quantum_cycles = 5e6,
    .hits = 16000,
    .misses = 8000,
    .hit_time = 240000,
    .miss_time = 1800000,
    .alone_rate = 6e-3,
};

static void expect_slowdowns(const double *hits, const double *want)
{
    double slowdown[5];
    assert_true(control_slowdown_by_ways(&counts, hits, 4, slowdown));
    for (int n = 0; n < 5; n++)
        near(slowdown[n], want[n]);
}

TEST(slowdowns_by_the_worked_numbers)
{
    static const double hits[] = {0, 8000, 16000, 20000, 22000};
    static const double want[] = {2.09, 1.67, 1.25, 1.04, 0.935};
    expect_slowdowns(hits, want);
}

TEST(sampled_sets_stand_for_all)
{
    static const double way_hits[] = {300, 100, 60, 40};
    static const double want_hits[] = {0, 12000, 16000, 18400, 20000};
    static const double want[] = {2.09, 1.46, 1.25, 1.124, 1.04};
    double hits[5];
    control_hits_by_ways(way_hits, 100, 4, 24000, hits);
    for (int n = 0; n < 5; n++)
        near(hits[n], want_hits[n]);
    expect_slowdowns(hits, want);
    static const double none[4] = {0};
    control_hits_by_ways(none, 0, 4, 24000, hits);
    assert_true(hits[4] == 0);
}

/* 16000 hits more than there were, of 210 cycles each: more than two fifths of the quantum each. */
TEST(what_samples_promise_has_a_limit)
{
    static const double hits[] = {1e6, 16000};
    double slowdown[2];
    assert_true(control_slowdown_by_ways(&counts, hits, 1, slowdown));
    near(slowdown[0], 6e-3 * 0.02 * 5e6 / 24000);
}

TEST(who_only_hits_or_misses_tells_nothing)
{
    static const double hits[] = {0, 1};
    double slowdown[2];
    for (int i = 0; i < 3; i++) {
        struct control_cache_counts none = counts;
        *(i == 0 ? &none.hits : i == 1 ? &none.misses : &none.alone_rate) = 0;
        assert_false(control_slowdown_by_ways(&none, hits, 1, slowdown));
        assert_true(slowdown[0] == 1 && slowdown[1] == 1);
    }
}

/* ---- who gets what ---- */

/* A knee after three ways, a smooth curve, and one that does not gain. */
static const double knee[] = {8, 5, 4.8, 4.7, 1.6, 1.5, 1.4, 1.35, 1.3};
static const double smooth[] = {3, 2.6, 2.3, 2.1, 2, 1.95, 1.92, 1.9, 1.89};
static const double flat[] = {1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5};
static const struct control_cache own = {.ways = 8, .min_bits = 1};
static const struct control_cache with_pool = {.ways = 8, .min_bits = 1, .pool = true};

static void three(struct control_ways apps[3])
{
    memset(apps, 0, 3 * sizeof *apps);
    apps[0].slowdown = knee;
    apps[1].slowdown = smooth;
    apps[2].slowdown = flat;
}

static void expect(const struct control_ways *apps, const unsigned *ways, const uint32_t *masks)
{
    for (int i = 0; i < 3; i++) {
        assert_int_equal(apps[i].ways, ways[i]);
        assert_int_equal(apps[i].mask, masks[i]);
    }
}

TEST(look_ahead_sees_over_a_knee)
{
    struct control_ways apps[3];
    three(apps);
    assert_true(control_ways_divide(apps, 3, &own));
    expect(apps, (const unsigned[]){4, 3, 1}, (const uint32_t[]){0x0f, 0x70, 0x80});
    assert_true(control_ways_divide(apps, 3, &with_pool));
    expect(apps, (const unsigned[]){4, 3, 0}, (const uint32_t[]){0x0f, 0x70, 0x80});
}

/* Where single ways gain nothing, only who looks ahead gives any. */
TEST(look_ahead_sees_over_a_plain)
{
    static const double cliff[] = {4, 4, 4, 4, 1, 1, 1, 1, 1};
    struct control_ways apps[3];
    three(apps);
    apps[0].slowdown = cliff;
    assert_true(control_ways_divide(apps, 3, &own));
    expect(apps, (const unsigned[]){4, 3, 1}, (const uint32_t[]){0x0f, 0x70, 0x80});
}

/* From nothing, with all 8 ways: the design's second table. Nine ways of which one is the pool's.
 */
TEST(from_zero_ways)
{
    static const struct control_cache nine = {.ways = 9, .min_bits = 1, .pool = true};
    static const double longer[] = {1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5};
    double knee9[10], smooth9[10];
    struct control_ways apps[3];
    three(apps);
    memcpy(knee9, knee, sizeof knee);
    memcpy(smooth9, smooth, sizeof smooth);
    knee9[9] = knee[8];
    smooth9[9] = smooth[8];
    apps[0].slowdown = knee9;
    apps[1].slowdown = smooth9;
    apps[2].slowdown = longer;
    assert_true(control_ways_divide(apps, 3, &nine));
    expect(apps, (const unsigned[]){5, 3, 0}, (const uint32_t[]){0x1f, 0xe0, 0x100});
}

TEST(who_gains_nothing_has_as_many_as_the_others)
{
    struct control_ways apps[3];
    three(apps);
    apps[0].slowdown = apps[1].slowdown = flat;
    assert_true(control_ways_divide(apps, 3, &own));
    expect(apps, (const unsigned[]){3, 3, 2}, (const uint32_t[]){0x07, 0x38, 0xc0});
    /* Nobody needs the pool. */
    assert_true(control_ways_divide(apps, 3, &with_pool));
    expect(apps, (const unsigned[]){3, 3, 2}, (const uint32_t[]){0x07, 0x38, 0xc0});
}

TEST(a_bound_is_kept_with_the_fewest_ways)
{
    static const struct {
        double bound;
        unsigned ways[3];
        bool missed;
    } cases[] = {
        {5, {1, 6, 1}, false},    {4.75, {3, 4, 1}, false}, {2, {4, 3, 1}, false},
        {1.55, {5, 2, 1}, false}, {1.45, {6, 1, 1}, false}, {1.2, {6, 1, 1}, true},
    };
    struct control_ways apps[3];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        three(apps);
        apps[0].bound = cases[i].bound;
        assert_true(control_ways_qos(apps, 3, &own));
        for (int k = 0; k < 3; k++)
            assert_int_equal(apps[k].ways, cases[i].ways[k]);
        assert_int_equal(apps[0].missed, cases[i].missed);
    }
}

/* The first takes what it needs, the second what is left; the third keeps its one. */
TEST(two_bounds_in_their_order)
{
    struct control_ways apps[3];
    three(apps);
    apps[0].bound = 1.5;
    apps[1].bound = 2.1;
    assert_true(control_ways_qos(apps, 3, &own));
    expect(apps, (const unsigned[]){5, 2, 1}, (const uint32_t[]){0x1f, 0x60, 0x80});
    assert_true(!apps[0].missed && apps[1].missed);
    assert_true(control_ways_qos(apps, 3, &with_pool));
    expect(apps, (const unsigned[]){5, 2, 0}, (const uint32_t[]){0x1f, 0x60, 0x80});
}

TEST(masks_have_so_many_bits_at_least)
{
    static const struct control_cache wide = {.ways = 8, .min_bits = 2, .pool = true};
    struct control_ways apps[5];
    three(apps);
    assert_true(control_ways_divide(apps, 3, &wide));
    expect(apps, (const unsigned[]){4, 2, 0}, (const uint32_t[]){0x0f, 0x30, 0xc0});
    for (int i = 0; i < 5; i++)
        apps[i] = (struct control_ways){.slowdown = knee};
    const struct control_cache narrow = {.ways = 8, .min_bits = 2};
    assert_false(control_ways_divide(apps, 5, &narrow));
    assert_true(control_ways_divide(apps, 4, &narrow));
    assert_true(control_ways_divide(apps, 5, &wide));
}

/* Random curves: all ways are given, masks are contiguous, do not overlap, and none is empty. */
TEST(whatever_the_curves_masks_are_masks)
{
    enum { APPS = 12 };
    static double curves[APPS][CONTROL_WAYS + 1];
    srand(1);
    for (int round = 0; round < 3000; round++) {
        struct control_cache cache = {.ways = 1 + (unsigned)rand() % CONTROL_WAYS,
                                      .min_bits = 1 + (unsigned)rand() % 3,
                                      .pool = rand() % 2};
        struct control_ways apps[APPS];
        size_t n = 1 + (size_t)rand() % APPS;
        for (size_t i = 0; i < n; i++) {
            for (unsigned k = 0; k <= cache.ways; k++)
                curves[i][k] = 1 + rand() % 20 / 4.;
            apps[i] = (struct control_ways){.slowdown = curves[i],
                                            .bound = rand() % 4 ? 0 : 1 + rand() % 3};
        }
        if (!control_ways_qos(apps, n, &cache))
            continue;
        uint32_t all = 0, pool = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t mask = apps[i].mask, low = mask & -mask;
            assert_true(mask != 0 && (((uint64_t)mask + low) & mask) == 0);
            assert_true(__builtin_popcount(mask) >= (int)cache.min_bits);
            assert_true(apps[i].ways == 0 || (all & mask) == 0);
            assert_true(apps[i].ways > 0 || !(apps[i].bound > 0));
            *(apps[i].ways ? &all : &pool) |= mask;
        }
        assert_true((all & pool) == 0);
        /* Bounds may leave some to nobody. */
        bool open = false;
        for (size_t i = 0; i < n; i++)
            open |= !(apps[i].bound > 0) && apps[i].ways > 0;
        if (open)
            assert_int_equal(all | pool, (1ull << cache.ways) - 1);
    }
}
