/* What calm windows teach about a container. */
#include "collectors/learned/unloaded.h"
#include "tests/unit/support/unit.h"

static void learn(struct unloaded *u, bool calm, uint64_t accesses, uint64_t misses, double latency)
{
    const struct unloaded_window window = {.calm = calm,
                                           .accesses = accesses,
                                           .misses = misses,
                                           .wait_seconds = latency * (double)misses};
    unloaded_learn(u, &window);
}

TEST(sums_over_calm_windows)
{
    struct unloaded u = {0};
    for (int i = 0; i < 9; i++)
        learn(&u, false, 1000, 900, 1);
    learn(&u, true, 4000, 1000, 100e-9);
    for (int i = 0; i < 8; i++)
        learn(&u, true, 1000, 250, 100e-9);
    assert_true(isnan(unloaded_latency_seconds(&u)));
    assert_true(isnan(unloaded_miss_ratio(&u)));
    learn(&u, true, 4000, 3000, 50e-9);
    /* (3000 * 100 + 3000 * 50) / 6000; 6000 of 16000. */
    assert_true(fabs(unloaded_latency_seconds(&u) - 75e-9) < 1e-15);
    assert_true(fabs(unloaded_miss_ratio(&u) - 0.375) < 1e-12);
    learn(&u, false, 1000000, 1000000, 1); /* loaded: teaches nothing */
    assert_true(fabs(unloaded_miss_ratio(&u) - 0.375) < 1e-12);
    assert_int_equal(u.calm_windows, 10);
}

TEST(the_ratio_may_be_known_and_the_latency_not)
{
    struct unloaded u = {0};
    for (int i = 0; i < 30; i++)
        learn(&u, true, 1000, 1, 100e-9);
    assert_true(fabs(unloaded_miss_ratio(&u) - 0.001) < 1e-12);
    assert_true(isnan(unloaded_latency_seconds(&u)));
}

TEST(idle_calm_windows_are_calm_but_teach_nothing)
{
    struct unloaded u = {0};
    for (int i = 0; i < 30; i++)
        learn(&u, true, 0, 0, 0);
    assert_int_equal(u.calm_windows, 0);
    assert_false(unloaded_never_calm(&u));
    assert_true(isnan(unloaded_miss_ratio(&u)));
}

TEST(never_calm_needs_windows_enough_to_tell)
{
    struct unloaded u = {0};
    for (int i = 0; i < 9; i++)
        learn(&u, false, 1000, 500, 100e-9);
    assert_false(unloaded_never_calm(&u));
    learn(&u, false, 1000, 500, 100e-9);
    assert_true(unloaded_never_calm(&u));
}

/* What was extrapolated from reads is nothing to go on once lines are measured. */
TEST(another_measure_begins_new_fits)
{
    static struct unloaded u;
    for (uint64_t t = 0; t < 3600; t++) {
        double corunners = 1e8 * (double)(1 + t / 60 * 7 % 10);
        struct unloaded_window window = {
            .accesses = 50000,
            .misses = 10000 + (uint64_t)(corunners / 1e6),
            .mono_ns = t * 1000000000u,
            .length_seconds = 1,
            .cpu_seconds = 1,
            .corunners_known = true,
            .corunner_rate = corunners,
        };
        window.wait_seconds = (double)window.misses * (80e-9 + corunners * 1e-17);
        unloaded_learn(&u, &window);
        if (t < 3599)
            continue;
        assert_int_equal(unloaded_latency_basis(&u), BASIS_EXTRAPOLATED);
        assert_int_equal(unloaded_ratio_basis(&u), BASIS_EXTRAPOLATED);
        window.measure = TRAFFIC_LINES;
        window.corunners_known = false;
        unloaded_learn(&u, &window);
        assert_int_equal(unloaded_latency_basis(&u), BASIS_EXTRAPOLATED);
        window.corunners_known = true;
        unloaded_learn(&u, &window);
        assert_int_equal(unloaded_latency_basis(&u), BASES);
        assert_int_equal(unloaded_ratio_basis(&u), BASES);
    }
}

/* After two memories at another latency the old one weighs e^-2. */
TEST(the_past_fades)
{
    struct unloaded u = {0};
    for (int i = 0; i < UNLOADED_MEMORY_WINDOWS; i++)
        learn(&u, true, 2000, 1000, 100e-9);
    assert_true(fabs(unloaded_latency_seconds(&u) - 100e-9) < 1e-13);
    for (int i = 0; i < 2 * UNLOADED_MEMORY_WINDOWS; i++)
        learn(&u, true, 2000, 1000, 200e-9);
    double want = 200e-9 - 100e-9 * exp(-2);
    assert_true(fabs(unloaded_latency_seconds(&u) - want) < 0.1e-9);
}

/* On another socket, far from its memory, its neighbours may be calm. */
TEST(who_has_moved_does_not_learn_that_as_alone)
{
    struct unloaded u = {0};
    for (uint64_t second = 0; second < 1400; second++) {
        bool moved = second >= 1200;
        const struct unloaded_window window = {
            .calm = moved && second < 1380,
            .accesses = 30000,
            .misses = 10000,
            .wait_seconds = 10000 * (moved && second < 1380 ? 160e-9 : 100e-9),
            .mono_ns = second * 1000000000,
            .length_seconds = 1,
            .cpu_seconds = 1,
        };
        unloaded_learn(&u, &window);
    }
    assert_true(isnan(unloaded_latency_seconds(&u)));
    assert_int_equal(u.calm_windows, 0);
}
