#include "exporter/governor/decide/control/control_response.h"
#include "exporter/governor/decide/control/control_safe.h"
#include "tests/unit/support/unit.h"

struct run {
    struct control_safe_config config;
    struct control_safe state;
    double t, most;
};

static struct run run_of(double most)
{
    struct run run = {.most = most, .t = -1};
    control_safe_defaults(&run.config);
    control_safe_init(&run.state, &run.config, most);
    return run;
}

static enum control_action step(struct run *run, enum control_window window)
{
    run->t++;
    return control_safe_step(&run->state, &run->config, run->most, run->t, window, NAN, true);
}

/* Windows are over while the quota is above the limit, until t. */
static void until(struct run *run, double t, double limit)
{
    while (run->t < t)
        step(run, run->state.quota_cores > limit ? CONTROL_OVER : CONTROL_BELOW);
}

/* The header's. */
TEST(the_worked_example)
{
    static const struct {
        double t, cores;
    } expected[] = {{0, 6},     {1, 5.5},    {2, 5.5},   {3, 1},     {12, 1},     {13, 1.5},
                    {22, 1.5},  {23, 2},     {33, 2.5},  {43, 3},    {44, 3},     {45, 2.5},
                    {104, 2.5}, {105, 2.75}, {107, 2.5}, {166, 2.5}, {167, 2.75}, {169, 2.5},
                    {288, 2.5}, {289, 2.75}, {291, 2.5}, {530, 2.5}, {531, 2.75}};
    struct run run = run_of(6);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        until(&run, expected[i].t, 2.6);
        assert_float_equal(run.state.quota_cores, expected[i].cores, 1e-9);
    }
}

/* 60 s, then doubled up to half an hour; and as at first when it was long ago. */
TEST(the_wait_doubles_up_to_half_an_hour)
{
    static const double waits[] = {60, 60, 120, 240, 480, 960, 1800, 1800};
    struct run run = run_of(6);
    until(&run, 45, 2.6);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        assert_float_equal(run.state.wait_seconds, waits[i], 0);
        double failed = run.t;
        until(&run, failed + waits[i] - 1, 2.6);
        assert_float_equal(run.state.quota_cores, 2.5, 0);
        until(&run, failed + waits[i] + 2, 2.6);
    }
    until(&run, 30000, 10); /* nobody waits any more */
    assert_float_equal(run.state.quota_cores, 6, 0);
    until(&run, 30002, 2.6);
    assert_float_equal(run.state.wait_seconds, 60, 0);
}

/* One window in thirty: never two of three, and more than one in a hundred. */
TEST(a_level_with_too_many_windows_over_is_left)
{
    struct run run = run_of(6);
    for (int i = 0; i < 65; i++)
        assert_int_equal(step(&run, i % 30 == 5 ? CONTROL_OVER : CONTROL_BELOW), CONTROL_KEEP);
    assert_int_equal(step(&run, CONTROL_OVER), CONTROL_CUT); /* the third */
    assert_float_equal(run.state.quota_cores, 5.75, 0);
    struct run calm = run_of(6);
    for (int i = 0; i < 5000; i++) /* one in two hundred */
        assert_int_equal(step(&calm, i % 200 == 5 ? CONTROL_OVER : CONTROL_BELOW), CONTROL_KEEP);
}

/* Somebody else has gone: the wait ends. A scatter of as much does not end it. */
TEST(a_latency_that_falls_ends_the_wait)
{
    for (int falls = 0; falls < 2; falls++) {
        struct run run = run_of(6);
        until(&run, 45, 2.6);
        run.state.wait_seconds = 1800;
        run.state.retry_at = run.t + 1800;
        for (int i = 0; i < 300; i++) {
            run.t++;
            control_safe_step(&run.state, &run.config, 6, run.t, CONTROL_BELOW,
                              i >= 100 && falls ? 0.75
                              : i % 2           ? 0.82
                                                : 0.88,
                              true);
        }
        assert_true(falls ? run.state.quota_cores > 4 : run.state.quota_cores == 2.5);
    }
}

/* With a scatter of 4 %: 0.9 is 2.6 deviations below the limit, and the next step would cost as
 * much
 * as the last ones. */
TEST(without_room_it_is_not_raised)
{
    struct run run = run_of(6);
    until(&run, 3, 2.6);
    for (int i = 0; i < 800; i++) {
        double latency = 0.7 + 0.1 * run.state.quota_cores;
        run.t++;
        control_safe_step(&run.state, &run.config, 6, run.t, CONTROL_BELOW,
                          latency * (i % 2 ? 0.96 : 1.04), true);
    }
    assert_float_equal(run.state.quota_cores, 2, 0);
}

TEST(nobody_is_cut_for_what_is_not_his)
{
    struct run run = run_of(6);
    for (int t = 0; t < 100; t++)
        assert_int_equal(control_safe_step(&run.state, &run.config, 6, t, CONTROL_OVER, NAN, false),
                         CONTROL_KEEP);
    assert_float_equal(run.state.quota_cores, 6, 0);
}

TEST(silence_changes_nothing)
{
    struct run run = run_of(6);
    until(&run, 12, 2.6);
    for (int i = 0; i < 100; i++)
        assert_int_equal(step(&run, CONTROL_SILENT), CONTROL_KEEP);
    assert_int_equal(step(&run, CONTROL_BELOW), CONTROL_RAISE);
}

TEST(never_above_what_it_may_have_and_never_below_base)
{
    struct run run = run_of(0.75);
    for (int i = 0; i < 50; i++)
        assert_int_equal(step(&run, CONTROL_OVER), CONTROL_KEEP);
    assert_float_equal(run.state.quota_cores, 0.75, 0);
    run.most = 3;
    for (int i = 0; i < 2000; i++)
        step(&run, CONTROL_BELOW);
    assert_float_equal(run.state.quota_cores, 3, 0);
    run.most = 2;
    step(&run, CONTROL_SILENT);
    assert_float_equal(run.state.quota_cores, 2, 0);
    for (int i = 0; i < 50; i++)
        step(&run, CONTROL_OVER);
    assert_float_equal(run.state.quota_cores, 1, 0);
}

/* Whatever was seen while it was held for another reason. */
TEST(what_it_was_moved_for_does_not_count)
{
    struct run run = run_of(6);
    step(&run, CONTROL_OVER);
    control_safe_move(&run.state, &run.config, 1, 1);
    assert_float_equal(run.state.base_since, 1, 0);
    control_safe_move(&run.state, &run.config, 6, 2);
    run.t = 2;
    assert_int_equal(step(&run, CONTROL_OVER), CONTROL_KEEP);
    assert_int_equal(step(&run, CONTROL_OVER), CONTROL_CUT);
}

/* The header's. */
TEST(a_response_is_a_line)
{
    struct control_response response = {0};
    for (int i = 0; i < 15; i++)
        control_response_add(&response, i < 10 ? 0 : 1, log(i < 10 ? 130 : 220), 0);
    assert_float_equal(control_response_slope(&response), log(220.0 / 130), 1e-9);
    assert_float_equal(control_response_deviation(&response), 0, 1e-6);
    static const double points[][2] = {{0, 0}, {0, 0.1}, {1, 0.2}, {1, 0.3}};
    struct control_response few = {0};
    assert_true(isnan(control_response_slope(&few)));
    for (size_t i = 0; i < 4; i++) {
        assert_true(i == 3 || isnan(control_response_deviation(&few)));
        control_response_add(&few, points[i][0], points[i][1], 0);
    }
    assert_float_equal(control_response_slope(&few), 0.2, 1e-9);
    assert_float_equal(control_response_deviation(&few), 0.0707107, 1e-6);
}

/* A tenth of the weight goes with each window: 66 older windows count 1/1000. */
TEST(what_is_past_counts_less)
{
    struct control_response response = {0};
    for (int i = 0; i < 100; i++)
        control_response_add(&response, i % 2, i % 2 ? 5 : 4, 0.1);
    for (int i = 0; i < 100; i++)
        control_response_add(&response, i % 2, i % 2 ? 3 : 4, 0.1);
    assert_float_equal(control_response_slope(&response), -1, 0.001);
    assert_float_equal(response.n, 10, 0.001);
}
