#include <math.h>

#include "exporter/governor/decide/control/control_feedback.h"
#include "tests/unit/support/unit.h"

/* ---- a bound of 1.5 ---- */

/* So many steps; the last one's answer. The others must be none. */
static enum control_move steps(struct control_qos *state, unsigned n, double slowdown, double part)
{
    for (unsigned i = 1; i < n; i++)
        assert_int_equal(control_qos_step(state, 1.5, slowdown, part), CONTROL_MOVE_NONE);
    return control_qos_step(state, 1.5, slowdown, part);
}

TEST(what_is_lost)
{
    struct control_loss loss = {0};
    assert_true(control_loss(9e9, 2e9, 1e9, &loss));
    assert_float_equal(loss.slowdown, 1.5, 1e-12);
    assert_float_equal(loss.memory_part, 2.0 / 3, 1e-12);
    assert_float_equal(loss.cache_part, 1.0 / 3, 1e-12);
    assert_true(control_loss(9e9, 3e9, NAN, &loss));
    assert_float_equal(loss.slowdown, 1.5, 1e-12);
    assert_float_equal(loss.cache_part, 0, 0);
    assert_true(control_loss(1, 0, 0, &loss));
    assert_float_equal(loss.slowdown, 1, 0);
    assert_float_equal(loss.memory_part, 0, 0);
    loss.slowdown = 7;
    assert_false(control_loss(9e9, NAN, 1e9, &loss));
    assert_false(control_loss(0, 0, 0, &loss));
    assert_false(control_loss(NAN, 0, 0, &loss));
    assert_false(control_loss(9e9, 8e9, 1e9, &loss));
    assert_float_equal(loss.slowdown, 7, 0);
}

TEST(a_bound_is_kept_by_single_ways)
{
    struct control_qos qos = {0};
    assert_int_equal(steps(&qos, 3, 1.6, 0.3), CONTROL_MOVE_TAKE);
    assert_int_equal(steps(&qos, 3, 1.6, 0.3), CONTROL_MOVE_TAKE);
    assert_int_equal(steps(&qos, 2, 1.6, 0.3), CONTROL_MOVE_NONE);
    assert_int_equal(steps(&qos, 1, 1.5, 0.3), CONTROL_MOVE_NONE); /* not slower than the bound */
    assert_int_equal(steps(&qos, 2, 1.6, 0.3), CONTROL_MOVE_NONE);
    assert_int_equal(steps(&qos, 1, NAN, NAN), CONTROL_MOVE_NONE);
    assert_int_equal(steps(&qos, 9, 1.6, 0.29), CONTROL_MOVE_NONE); /* it is not the cache */
    assert_int_equal(steps(&qos, 1, 1.6, 0.5), CONTROL_MOVE_TAKE);
    assert_int_equal(steps(&qos, 6, 1.3, 0.5), CONTROL_MOVE_GIVE);
    assert_int_equal(steps(&qos, 5, 1.3, 0.5), CONTROL_MOVE_NONE);
    assert_int_equal(steps(&qos, 20, 1.4, 0.5), CONTROL_MOVE_NONE);
    assert_int_equal(steps(&qos, 6, 1.3, 0.5), CONTROL_MOVE_GIVE);
}

TEST(who_has_most_gives)
{
    static const unsigned ways[] = {2, 5, 5, 9}, floors[] = {1, 2, 2, 9};
    assert_int_equal(control_donor(ways, floors, 4), 1);
    assert_int_equal(control_donor(ways, floors, 1), 0);
    assert_int_equal(control_donor(ways + 3, floors + 3, 1), 1);
    assert_int_equal(control_donor(NULL, NULL, 0), 0);
}

/* ---- bandwidth ---- */

TEST(bandwidth_by_feedback)
{
    struct control_mba mba = {0};
    assert_int_equal(control_mba_feedback(&mba, 100, 10, 20, true, 0.6, true), 90);
    assert_int_equal(control_mba_feedback(&mba, 90, 10, 20, true, 0.4, true), 90);
    assert_int_equal(control_mba_feedback(&mba, 90, 10, 20, true, NAN, true), 90);
    assert_int_equal(control_mba_feedback(&mba, 90, 10, 20, true, 0.6, false), 90);
    assert_int_equal(control_mba_feedback(&mba, 25, 10, 20, true, 0.6, true), 20);
    assert_int_equal(control_mba_feedback(&mba, 20, 10, 20, true, 0.6, true), 20);
    assert_int_equal(control_mba_feedback(&mba, 20, 10, 20, false, 0.6, true), 20);
    assert_int_equal(control_mba_feedback(&mba, 20, 10, 20, false, 0.6, true), 20);
    assert_int_equal(control_mba_feedback(&mba, 20, 10, 20, false, 0.6, true), 30);
    assert_int_equal(control_mba_feedback(&mba, 30, 10, 20, false, 0.6, true), 30);
    assert_int_equal(control_mba_feedback(&mba, 30, 10, 20, true, 0, true), 30);
    for (int i = 0; i < 2; i++)
        assert_int_equal(control_mba_feedback(&mba, 95, 10, 20, false, 0, true), 95);
    assert_int_equal(control_mba_feedback(&mba, 95, 10, 20, false, 0, true), 100);
}
