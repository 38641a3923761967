#include <math.h>

#include "exporter/governor/decide/control/control_billing.h"
#include "tests/unit/support/unit.h"

/* A minute each; the last one's answer. */
static bool minutes(struct control_admission *state, unsigned n, double slowdown)
{
    struct control_admission_config config;
    bool hold = state->hold;
    control_admission_defaults(&config);
    for (unsigned i = 0; i < n; i++)
        hold = control_admission_step(state, &config, slowdown);
    return hold;
}

TEST(three_bad_minutes_of_five_hold)
{
    struct control_admission admission = {0};
    assert_false(minutes(&admission, 2, 2.1));
    assert_false(minutes(&admission, 3, 1));
    assert_false(minutes(&admission, 2, 2.1)); /* the first two are six minutes back */
    assert_false(minutes(&admission, 1, 2.0)); /* not above */
    assert_true(minutes(&admission, 1, 2.1));
}

TEST(ten_good_minutes_release)
{
    struct control_admission admission = {0};
    assert_true(minutes(&admission, 3, 3));
    assert_true(minutes(&admission, 9, 1.4));
    assert_true(minutes(&admission, 1, 1.5)); /* not below: again from the start */
    assert_true(minutes(&admission, 9, 1.4));
    assert_true(minutes(&admission, 1, NAN));
    assert_true(minutes(&admission, 9, 1.4));
    assert_false(minutes(&admission, 1, 1.4));
    assert_false(minutes(&admission, 20, NAN));
}

TEST(an_epoch_tells_how_it_would_be_alone)
{
    const struct control_epoch worked = {.alone_reads = 6818,
                                         .alone_cycles = 1e6,
                                         .shared_reads = 27000,
                                         .shared_cycles = 5e6,
                                         .alone_cpus = 1,
                                         .shared_cpus = 1};
    double slowdown = 0;
    assert_true(control_epoch_slowdown(&worked, &slowdown));
    assert_true(fabs(slowdown - 1.2626) < 5e-5);
    struct control_epoch epoch = worked;
    epoch.alone_reads = 5000;
    assert_true(control_epoch_slowdown(&epoch, &slowdown));
    assert_true(slowdown == 1);
}

TEST(an_epoch_of_other_work_tells_nothing)
{
    const struct control_epoch good = {.alone_reads = 1000,
                                       .alone_cycles = 1e6,
                                       .shared_reads = 27000,
                                       .shared_cycles = 5e6,
                                       .alone_cpus = 1.2,
                                       .shared_cpus = 1};
    struct control_epoch bad[6] = {good, good, good, good, good, good};
    double slowdown = 7;
    assert_true(control_epoch_slowdown(&good, &slowdown));
    bad[0].alone_reads = 999;
    bad[1].shared_reads = 999;
    bad[2].alone_cycles = 0;
    bad[3].shared_cycles = 0;
    bad[4].alone_cpus = 1.21;
    bad[5].alone_cpus = 0.79;
    slowdown = 7;
    for (int i = 0; i < 6; i++)
        assert_false(control_epoch_slowdown(&bad[i], &slowdown));
    assert_true(slowdown == 7);
}

/* Miss ratios of a thousand reads each. */
static bool refills(double shared, double warm, double alone)
{
    const struct control_epoch epoch = {.shared_reads = 1000,
                                        .shared_misses = 1000 * shared,
                                        .warm_reads = 1000,
                                        .warm_misses = 1000 * warm,
                                        .alone_reads = 1000,
                                        .alone_misses = 1000 * alone};
    return control_epoch_refills(&epoch);
}

/* Means of two ticks of an exponential fall from 0.5 to 0.1. */
static bool refills_with(double tau)
{
    double q = exp(-1 / tau), k = tau * (1 - q);
    return refills(0.5, 0.1 + 0.4 * k, 0.1 + 0.4 * k * q);
}

TEST(a_miss_ratio_that_falls_on_is_a_cache_being_filled)
{
    assert_true(refills(0.5, 0.3528, 0.1930));
    assert_false(refills(0.5, 0.1795, 0.1005));
    assert_true(refills_with(0.38) && refills_with(1) && refills_with(10));
    assert_false(refills_with(0.37) || refills_with(0.1));
    assert_false(refills(0.5, 0.1, 0.5));
    assert_false(refills(0.1, 0.1, 0.0951)); /* noise */
    assert_true(refills(0.1, 0.1, 0.0949));
    assert_false(refills(NAN, 0.1, 0.05) || refills(0.1, NAN, 0.05) || refills(0.1, 0.1, NAN));
}
