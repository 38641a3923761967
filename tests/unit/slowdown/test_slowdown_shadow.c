/* Model shadow: the formula, and what the collector shows of it. */
#include "collectors/formulas/shadow.h"
#include "tests/unit/support/slowdown_rig.h"
#include "tests/unit/support/unit.h"

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

TEST(the_worked_number)
{
    const struct slowdown_shadow_counts counts = {
        .cycles = 5000000, .shadow_cycles = 2000000, .shadow_cache_cycles = 3500000};
    struct slowdown_shadow got;
    assert_int_equal(slowdown_shadow(&counts, &got), SLOWDOWN_OK);
    assert_near(got.ratio, 2.5, 1e-12);
    assert_near(got.cache_excess, 1.5e6, 1e-6);
    assert_near(got.memory_excess, 1.5e6, 1e-6);
}

/* A shadow clock may be a little slow; no container gains from neighbours. */
TEST(a_shadow_slower_than_the_clock_is_no_slowdown)
{
    const struct slowdown_shadow_counts counts = {
        .cycles = 1000, .shadow_cycles = 1010, .shadow_cache_cycles = 1005};
    struct slowdown_shadow got;
    assert_int_equal(slowdown_shadow(&counts, &got), SLOWDOWN_OK);
    assert_near(got.raw, 1000.0 / 1010, 1e-12);
    assert_true(got.ratio == 1 && got.cache_excess == 0 && got.memory_excess == 0);
}

TEST(shadow_without_an_estimate)
{
    const struct slowdown_shadow_counts idle = {0}, stuck = {.cycles = 1000};
    struct slowdown_shadow got = {.ratio = -1};
    assert_int_equal(slowdown_shadow(&idle, &got), SLOWDOWN_NO_ACCESSES);
    assert_int_equal(slowdown_shadow(&stuck, &got), SLOWDOWN_DENOMINATOR);
    assert_true(got.ratio == -1);
}

static double shadow(struct rig *rig, const char *name)
{
    return rig_value(rig, name, "model=\"shadow\"");
}

static double shadow_lost(struct rig *rig, const char *resource)
{
    char more[64];
    snprintf(more, sizeof more, "model=\"shadow\",resource=\"%s\"", resource);
    return rig_value(rig, C("interference_cycles"), more);
}

RIG_TEST(the_worked_number_in_series, slowdown_rig_setup)
{
    struct quantum q = worked_quantum;
    rig_container(rig, "a");
    q.shadow = 2000000;
    q.shadow_cache = 3500000;
    rig_quantum(rig, q);
    assert_true(shadow(rig, C("slowdown_ratio")) == 2.5);
    assert_true(shadow(rig, C("slowdown_observed_cycles")) == 5e6);
    assert_true(shadow_lost(rig, "cache") == 1.5e6 && shadow_lost(rig, "memory") == 1.5e6);
    assert_true(fabs(rig_asm_ratio(rig) - 1.2626263) < 1e-6); /* beside it */
    rig_quantum(rig, q);
    assert_true(shadow(rig, C("slowdown_observed_cycles")) == 10e6);
    q.shadow = 0; /* a clock that stands still says nothing */
    rig_quantum(rig, q);
    assert_true(isnan(shadow(rig, C("slowdown_ratio"))));
    assert_true(shadow(rig, C("slowdown_observed_cycles")) == 10e6);
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 1);
}

/* As recordings were before there was this model. */
RIG_TEST(epochs_without_shadow_clocks_give_asm_alone, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_quantum(rig, worked_quantum);
    assert_true(fabs(rig_asm_ratio(rig) - 1.2626263) < 1e-6);
    assert_true(isnan(shadow(rig, C("slowdown_ratio"))));
    assert_true(isnan(shadow(rig, C("slowdown_observed_cycles"))));
    assert_true(isnan(shadow_lost(rig, "cache")));
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 0);
}
