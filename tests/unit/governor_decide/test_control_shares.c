#include <math.h>

#include "exporter/governor/decide/control/control_feedback.h"
#include "tests/unit/support/unit.h"

static void expect_in_steps(const double *slowdowns, const unsigned *want, unsigned floor,
                            unsigned gran)
{
    unsigned percent[4];
    control_mba_map(slowdowns, 4, floor, gran, percent);
    for (int i = 0; i < 4; i++)
        assert_int_equal(percent[i], want[i]);
}

static void expect_percent(const double *slowdowns, const unsigned *want, unsigned floor)
{
    expect_in_steps(slowdowns, want, floor, 10);
}

TEST(bandwidth_goes_by_slowdown)
{
    expect_percent((const double[]){2, 4, 1, 1}, (const unsigned[]){50, 100, 30, 30}, 20);
    expect_percent((const double[]){4, 2, 1.6, 1.2}, (const unsigned[]){100, 50, 40, 30}, 20);
    expect_percent((const double[]){4, 2, 1.6, 1.2}, (const unsigned[]){100, 50, 50, 50}, 50);
    expect_percent((const double[]){1, 1, 1, 1}, (const unsigned[]){100, 100, 100, 100}, 20);
    expect_percent((const double[]){9, 1, 0.5, 1}, (const unsigned[]){100, 20, 20, 20}, 20);
}

/* 96 is the last multiple of 12. */
TEST(the_slowest_has_all_in_any_steps)
{
    expect_in_steps((const double[]){2, 4, 1, 1}, (const unsigned[]){48, 100, 24, 24}, 20, 12);
    expect_in_steps((const double[]){2, 4, 1, 1}, (const unsigned[]){60, 100, 30, 30}, 20, 30);
    expect_in_steps((const double[]){4, 3.6, 3.2, 1}, (const unsigned[]){100, 90, 80, 25}, 20, 1);
}

TEST(bandwidth_moves_one_step_at_a_time)
{
    assert_int_equal(control_mba_step(100, 30, 10), 90);
    assert_int_equal(control_mba_step(35, 30, 10), 30);
    assert_int_equal(control_mba_step(30, 30, 10), 30);
    assert_int_equal(control_mba_step(30, 100, 10), 40);
    assert_int_equal(control_mba_step(95, 100, 10), 100);
}
