#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/formulas/control_threshold.h"
#include "tests/unit/support/draw.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define THETA 110.0

static struct control_threshold_config config_of(enum control_mode mode)
{
    struct control_threshold_config config;
    control_threshold_defaults(&config);
    config.mode = mode;
    return config;
}

static void expect_paper(const double *latencies, const double *quotas, size_t n, double max)
{
    struct control_threshold_config config = config_of(CONTROL_PAPER);
    struct control_threshold state;
    control_threshold_init(&state, &config, max, 0);
    assert_float_equal(state.quota_cores, quotas[0], 0);
    for (size_t i = 0; i < n; i++) {
        control_threshold_step(&state, &config, max, (double)i,
                               control_threshold_window(latencies[i], THETA), true);
        assert_float_equal(state.quota_cores, quotas[i + 1], 0);
    }
}

static void the_paper_s_algorithm(void **context)
{
    (void)context;
    static const double latencies[] = {100, 104, 103, 131, 129, 101, 102, 103, 104, 105, 99};
    static const double quotas[] = {1, 1.5, 2, 2.5, 1, 1, 1.5, 2, 2.5, 3, 3, 3};
    expect_paper(latencies, quotas, COUNT(latencies), 3);
    static const double clamped[] = {1, 1.5, 2, 2.25, 2.25};
    expect_paper(latencies, clamped, 3, 2.25);
}

static void a_latency_of_theta_is_a_violation(void **context)
{
    (void)context;
    assert_int_equal(control_threshold_window(110, THETA), CONTROL_OVER);
    assert_int_equal(control_threshold_window(109.9, THETA), CONTROL_BELOW);
    assert_int_equal(control_threshold_window(NAN, THETA), CONTROL_SILENT);
    assert_int_equal(control_threshold_window(0, THETA), CONTROL_SILENT);
    assert_int_equal(control_threshold_window(100, INFINITY), CONTROL_SILENT);
    assert_int_equal(control_threshold_window(100, 0), CONTROL_SILENT);
}

static void theta_is_the_mean(void **context)
{
    (void)context;
    static const double latencies[] = {98, 102, 101, 99, 100};
    assert_float_equal(control_threshold_theta(latencies, COUNT(latencies)), 100, 0);
    assert_float_equal(control_threshold_theta(NULL, 0), 0, 0);
}

/* A window is below theta with probability p: the mean quota is that of the Markov chain. */
static double mean_quota(double p)
{
    struct control_threshold_config config = config_of(CONTROL_PAPER);
    struct control_threshold state;
    control_threshold_init(&state, &config, 6, 0);
    uint64_t seed = DRAW_SEED;
    double sum = 0;
    enum { STEPS = 1000000 };
    for (int i = 0; i < STEPS; i++) {
        bool below = draw_unit(&seed) < p;
        control_threshold_step(&state, &config, 6, i, below ? CONTROL_BELOW : CONTROL_OVER, true);
        sum += state.quota_cores;
    }
    return sum / STEPS;
}

static void a_mean_as_theta_leaves_little(void **context)
{
    (void)context;
    assert_float_equal(mean_quota(0.5), 1.4995, 0.01);
    assert_float_equal(mean_quota(0.9), 3.9309, 0.03);
    assert_float_equal(mean_quota(0.99), 5.7331, 0.03);
}

static enum control_action safe_step(struct control_threshold *state, double t, double latency)
{
    struct control_threshold_config config = config_of(CONTROL_SAFE);
    return control_threshold_step(state, &config, 3, t, control_threshold_window(latency, THETA),
                                  true);
}

static struct control_threshold safe_state(void)
{
    struct control_threshold_config config = config_of(CONTROL_SAFE);
    struct control_threshold state;
    control_threshold_init(&state, &config, 3, 0);
    return state;
}

static void the_safe_one_confirms_and_holds(void **context)
{
    (void)context;
    struct control_threshold state = safe_state();
    for (int t = 0; t <= 40; t++) {
        enum control_action action = safe_step(&state, t, t == 5 || t == 7 ? 131 : 100);
        bool raised = (t >= 2 && t <= 4) || (t >= 27 && t <= 30);
        assert_int_equal(action, raised ? CONTROL_RAISE : t == 7 ? CONTROL_CUT : CONTROL_KEEP);
        if (t >= 4 && t < 7)
            assert_float_equal(state.quota_cores, 2.5, 0);
        if (t >= 7 && t < 27)
            assert_float_equal(state.quota_cores, 1, 0);
        if (t >= 30)
            assert_float_equal(state.quota_cores, 3, 0);
    }
}

/* Raised to 1.5, then two windows over theta: cut again and again. */
static void each_relapse_doubles_the_hold(void **context)
{
    (void)context;
    static const double holds[] = {20, 40, 80, 160, 320, 320};
    struct control_threshold state = safe_state();
    double t = 0;
    for (size_t i = 0; i < COUNT(holds); i++) {
        while (safe_step(&state, t, 100) != CONTROL_RAISE)
            t++;
        safe_step(&state, ++t, 131);
        assert_int_equal(safe_step(&state, ++t, 131), CONTROL_CUT);
        assert_float_equal(state.held_until, t + holds[i], 0);
    }
    double cut = t;
    while (t < cut + 600)
        safe_step(&state, ++t, 100);
    safe_step(&state, ++t, 131);
    assert_int_equal(safe_step(&state, ++t, 131), CONTROL_CUT);
    assert_float_equal(state.held_until, t + 10, 0); /* raised long ago, cut longer ago */
}

static void what_does_not_help_is_given_up(void **context)
{
    (void)context;
    struct control_threshold state = safe_state();
    double t = 0;
    enum control_action action;
    while ((action = safe_step(&state, t, 131)) == CONTROL_KEEP)
        t++;
    assert_int_equal(action, CONTROL_GIVE_UP);
    assert_float_equal(t, 120, 0);
    assert_float_equal(state.quota_cores, 3, 0);
    while (t < 719) {
        assert_int_equal(safe_step(&state, ++t, 131), CONTROL_KEEP);
        assert_float_equal(state.quota_cores, 3, 0);
    }
    assert_int_equal(safe_step(&state, 720, 131), CONTROL_KEEP);
    assert_int_equal(safe_step(&state, 721, 131), CONTROL_CUT);
}

static void a_violation_now_and_then_is_not_futile(void **context)
{
    (void)context;
    struct control_threshold state = safe_state();
    for (int t = 0; t < 1000; t++) /* three of four: never three calm ones, never 80 % */
        assert_int_equal(safe_step(&state, t, t % 4 ? 131 : 100), CONTROL_KEEP);
    assert_float_equal(state.quota_cores, 1, 0);
}

static void silence_changes_nothing(void **context)
{
    (void)context;
    struct control_threshold state = safe_state();
    safe_step(&state, 0, 100);
    safe_step(&state, 1, 100);
    for (int t = 2; t < 10; t++)
        assert_int_equal(safe_step(&state, t, NAN), CONTROL_KEEP);
    assert_int_equal(safe_step(&state, 10, 100), CONTROL_RAISE);
}

static void only_culprits_are_cut(void **context)
{
    (void)context;
    for (int mode = 0; mode < 2; mode++) {
        struct control_threshold_config config = config_of((enum control_mode)mode);
        struct control_threshold state;
        control_threshold_init(&state, &config, 3, 0);
        for (int t = 0; t < 10; t++)
            control_threshold_step(&state, &config, 3, t, CONTROL_BELOW, false);
        assert_float_equal(state.quota_cores, 3, 0);
        for (int t = 10; t < 20; t++)
            control_threshold_step(&state, &config, 3, t, CONTROL_OVER, false);
        assert_float_equal(state.quota_cores, 3, 0);
        for (int t = 20; t < 23; t++)
            control_threshold_step(&state, &config, 3, t, CONTROL_OVER, true);
        assert_float_equal(state.quota_cores, 1, 0);
    }
}

static void never_above_what_it_may_have(void **context)
{
    (void)context;
    struct control_threshold_config config = config_of(CONTROL_SAFE);
    struct control_threshold state;
    control_threshold_init(&state, &config, 0.75, 0);
    assert_float_equal(state.quota_cores, 0.75, 0);
    for (int t = 0; t < 10; t++)
        control_threshold_step(&state, &config, 3, t, CONTROL_BELOW, true);
    assert_float_equal(state.quota_cores, 3, 0);
    control_threshold_step(&state, &config, 2, 10, CONTROL_SILENT, true);
    assert_float_equal(state.quota_cores, 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_paper_s_algorithm),
        cmocka_unit_test(a_latency_of_theta_is_a_violation),
        cmocka_unit_test(theta_is_the_mean),
        cmocka_unit_test(a_mean_as_theta_leaves_little),
        cmocka_unit_test(the_safe_one_confirms_and_holds),
        cmocka_unit_test(each_relapse_doubles_the_hold),
        cmocka_unit_test(what_does_not_help_is_given_up),
        cmocka_unit_test(a_violation_now_and_then_is_not_futile),
        cmocka_unit_test(silence_changes_nothing),
        cmocka_unit_test(only_culprits_are_cut),
        cmocka_unit_test(never_above_what_it_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
