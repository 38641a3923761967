/* The percentile of an hour of the probe's latencies. */
#include <math.h>

#include "collectors/learned/hour.h"
#include "tests/unit/support/unit.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)

TEST(a_percentile_within_its_bucket)
{
    struct hour_percentile hour = {0};
    assert_true(isnan(hour_percentile_seconds(&hour, 0.05)));
    for (int i = 1; i <= 100; i++) /* 80.0 ... 178 ns: the fifth is 83.96 */
        hour_percentile_add(&hour, SECOND, 79e-9 + i * 0.99e-9);
    assert_int_equal(hour_percentile_readings(&hour), 100);
    double got = hour_percentile_seconds(&hour, 0.05);
    assert_true(fabs(got / 83.95e-9 - 1) < 0.011);
    got = hour_percentile_seconds(&hour, 1);
    assert_true(fabs(got / 178e-9 - 1) < 0.011);
}

TEST(nonsense_is_ignored_and_extremes_are_kept)
{
    struct hour_percentile hour = {0};
    hour_percentile_add(&hour, 0, 0);
    hour_percentile_add(&hour, 0, -1);
    hour_percentile_add(&hour, 0, NAN);
    hour_percentile_add(&hour, 0, INFINITY);
    assert_true(isnan(hour_percentile_seconds(&hour, 0.5)));
    hour_percentile_add(&hour, 0, 1e-12);
    assert_true(hour_percentile_seconds(&hour, 1) < 10.3e-9);
    hour_percentile_add(&hour, 0, 1);
    assert_true(hour_percentile_seconds(&hour, 1) > 9e-6);
}

TEST(after_an_hour_it_is_forgotten)
{
    struct hour_percentile hour = {0};
    hour_percentile_add(&hour, 5 * MINUTE, 50e-9);
    hour_percentile_add(&hour, 65 * MINUTE, 100e-9);
    assert_true(hour_percentile_seconds(&hour, 0.05) < 51e-9);
    hour_percentile_add(&hour, 75 * MINUTE, 100e-9);
    assert_true(hour_percentile_seconds(&hour, 0.05) > 99e-9);
    hour_percentile_add(&hour, 1000 * MINUTE, 200e-9);
    assert_true(hour_percentile_seconds(&hour, 0.05) > 198e-9);
    hour_percentile_add(&hour, 10 * MINUTE, 50e-9); /* backwards: now */
    assert_true(hour_percentile_seconds(&hour, 0.05) < 51e-9);
}
