/* What the probe's bursts tell about the machine, without a probe. */
#include "collectors/probe/calibration.h"
#include "tests/unit/support/unit.h"

/* Latencies from 80 ns on in steps of 1 ns, in no order; c_cache 40 to 49 cycles where nobody
 * disturbs, 100 and more elsewhere: the median is between 44 and 45. */
TEST(the_median_of_the_ten_shortest_of_thirty)
{
    struct cache_calibration calibration = {0};
    double got = -1;
    for (int i = 0; i < 30; i++) {
        int rank = i * 7 % 30;
        double cycles = rank < 10 ? 40 + rank * 3 % 10 : 100 + rank;
        assert_true(got == -1);
        assert_int_equal(cache_calibration_add(&calibration, (80 + rank) * 1e-9, cycles, &got),
                         i == 29);
    }
    assert_true(got == 44.5);
}

TEST(what_is_calibrated_is_frozen)
{
    struct cache_calibration calibration = {0};
    double got = -1;
    for (int i = 0; i < CALIBRATION_BURSTS; i++)
        cache_calibration_add(&calibration, 80e-9, 44, &got);
    assert_true(got == 44);
    for (int i = 0; i < 2 * CALIBRATION_BURSTS; i++)
        assert_false(cache_calibration_add(&calibration, 10e-9, 20, &got));
    assert_true(got == 44);
}

TEST(a_hit_is_the_second_shortest_of_eight_and_more)
{
    static const struct {
        double ns, known_ns; /* 0: not yet */
    } hits[] = {{50, 0}, {33, 0}, {90, 0},  {31, 0},      {70, 0},
                {34, 0}, {60, 0}, {45, 33}, {32.5, 32.5}, {99, 32.5}};
    struct hit_calibration calibration = {0};
    for (size_t i = 0; i < sizeof hits / sizeof *hits; i++) {
        double got = 0;
        assert_int_equal(hit_calibration_add(&calibration, hits[i].ns * 1e-9, &got), i >= 7);
        assert_true(fabs(got - hits[i].known_ns * 1e-9) < 1e-15);
    }
}

/* The shortest comes first, or last, or twice. */
TEST(the_order_of_hits_does_not_matter)
{
    for (size_t at = 0; at < 8; at++) {
        struct hit_calibration calibration = {0};
        double got = 0;
        for (size_t i = 0; i < 8; i++)
            hit_calibration_add(&calibration, i == at ? 20e-9 : (30 + (double)i) * 1e-9, &got);
        assert_true(fabs(got - (at == 0 ? 31e-9 : 30e-9)) < 1e-15);
    }
    struct hit_calibration calibration = {0};
    double got = 0;
    for (size_t i = 0; i < 8; i++)
        hit_calibration_add(&calibration, i < 2 ? 20e-9 : 30e-9, &got);
    assert_true(fabs(got - 20e-9) < 1e-15);
}
