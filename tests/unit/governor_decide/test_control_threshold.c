#include <math.h>

#include "exporter/governor/decide/control/control_threshold.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define THETA 110.0

#define CONFIG                                                                                     \
    {                                                                                              \
        .base_cores = 1, .step_cores = 0.5                                                         \
    }

static void expect_paper(const double *latencies, const double *quotas, size_t n, double max)
{
    static const struct control_threshold_config config = CONFIG;
    struct control_threshold state;
    control_threshold_init(&state, &config, max);
    assert_float_equal(state.quota_cores, quotas[0], 0);
    for (size_t i = 0; i < n; i++) {
        control_threshold_step(&state, &config, max, control_threshold_window(latencies[i], THETA),
                               true);
        assert_float_equal(state.quota_cores, quotas[i + 1], 0);
    }
}

TEST(the_paper_s_algorithm)
{
    static const double latencies[] = {100, 104, 103, 131, 129, 101, 102, 103, 104, 105, 99};
    static const double quotas[] = {1, 1.5, 2, 2.5, 1, 1, 1.5, 2, 2.5, 3, 3, 3};
    expect_paper(latencies, quotas, COUNT(latencies), 3);
    static const double clamped[] = {1, 1.5, 2, 2.25, 2.25};
    expect_paper(latencies, clamped, 3, 2.25);
}

TEST(a_latency_of_theta_is_a_violation)
{
    assert_int_equal(control_threshold_window(110, THETA), CONTROL_OVER);
    assert_int_equal(control_threshold_window(109.9, THETA), CONTROL_BELOW);
    assert_int_equal(control_threshold_window(NAN, THETA), CONTROL_SILENT);
    assert_int_equal(control_threshold_window(0, THETA), CONTROL_SILENT);
    assert_int_equal(control_threshold_window(100, INFINITY), CONTROL_SILENT);
    assert_int_equal(control_threshold_window(100, 0), CONTROL_SILENT);
}

TEST(theta_is_the_mean)
{
    static const double latencies[] = {98, 102, 101, 99, 100};
    assert_float_equal(control_threshold_theta(latencies, COUNT(latencies)), 100, 0);
    assert_float_equal(control_threshold_theta(NULL, 0), 0, 0);
}

/* A window is below theta with probability p: the mean quota is that of the Markov chain. */
static double mean_quota(double p)
{
    static const struct control_threshold_config config = CONFIG;
    struct control_threshold state;
    control_threshold_init(&state, &config, 6);
    uint64_t seed = DRAW_SEED;
    double sum = 0;
    enum { STEPS = 1000000 };
    for (int i = 0; i < STEPS; i++) {
        bool below = draw_unit(&seed) < p;
        control_threshold_step(&state, &config, 6, below ? CONTROL_BELOW : CONTROL_OVER, true);
        sum += state.quota_cores;
    }
    return sum / STEPS;
}

TEST(a_mean_as_theta_leaves_little)
{
    assert_float_equal(mean_quota(0.5), 1.4995, 0.01);
    assert_float_equal(mean_quota(0.9), 3.9309, 0.03);
    assert_float_equal(mean_quota(0.99), 5.7331, 0.03);
}

TEST(only_culprits_are_cut)
{
    static const struct control_threshold_config config = CONFIG;
    struct control_threshold threshold;
    control_threshold_init(&threshold, &config, 3);
    for (int t = 0; t < 10; t++)
        control_threshold_step(&threshold, &config, 3, CONTROL_BELOW, false);
    assert_float_equal(threshold.quota_cores, 3, 0);
    assert_int_equal(control_threshold_step(&threshold, &config, 3, CONTROL_OVER, false),
                     CONTROL_KEEP);
    assert_float_equal(threshold.quota_cores, 3, 0);
    assert_int_equal(control_threshold_step(&threshold, &config, 3, CONTROL_OVER, true),
                     CONTROL_CUT);
    assert_float_equal(threshold.quota_cores, 1, 0);
    assert_int_equal(control_threshold_step(&threshold, &config, 3, CONTROL_OVER, true),
                     CONTROL_KEEP);
}

TEST(never_above_what_it_may_have)
{
    static const struct control_threshold_config config = CONFIG;
    struct control_threshold threshold;
    control_threshold_init(&threshold, &config, 0.75);
    assert_float_equal(threshold.quota_cores, 0.75, 0);
    for (int t = 0; t < 10; t++)
        control_threshold_step(&threshold, &config, 3, CONTROL_BELOW, true);
    assert_float_equal(threshold.quota_cores, 3, 0);
    assert_int_equal(control_threshold_step(&threshold, &config, 2, CONTROL_SILENT, true),
                     CONTROL_KEEP);
    assert_float_equal(threshold.quota_cores, 2, 0);
}
