#include <math.h>

#include "exporter/governor/decide/control/control_calibration.h"
#include "exporter/governor/decide/control/control_threshold.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/unit.h"

TEST(cpus_that_are_used)
{
    assert_float_equal(control_cpus_used(1.8e10, 2.1e9, 1), 8.571, 0.001);
    assert_true(control_cpus_are_full(control_cpus_used(1.8e10, 2.1e9, 1), 9));
    assert_false(control_cpus_are_full(control_cpus_used(1.79e10, 2.1e9, 1), 9));
    assert_true(control_cpus_are_full(control_cpus_used(3.6e10, 2.1e9, 2), 9));
    assert_true(isnan(control_cpus_used(NAN, 2.1e9, 1)));
    assert_true(isnan(control_cpus_used(1.8e10, NAN, 1)));
    assert_true(isnan(control_cpus_used(1.8e10, 2.1e9, 0)));
    assert_false(control_cpus_are_full(NAN, 9));
    assert_false(control_cpus_are_full(9, NAN));
}

struct run {
    struct control_calibration state;
    double interval;
    unsigned windows, held; /* since the start, and those in which best effort was held */
    bool was_held;
};

/* A window, and whatever it wants. Quiet is the second window of a hold. */
static void window(struct run *run, double latency, bool full)
{
    const struct control_calibration_window window = {.seconds = run->interval,
                                                      .interval = run->interval,
                                                      .latency = latency,
                                                      .full = full,
                                                      .quiet = run->was_held};
    bool held = run->state.phase == CONTROL_CALIBRATION_HOLDING;
    run->windows++;
    run->held += held;
    control_calibration_step(&run->state, &window);
    run->was_held = held;
    if (control_calibration_wants(&run->state))
        control_calibration_hold(&run->state, true);
}

/* Those of the first window of the hold, 500, are no samples. */
TEST(the_mean_of_thirty)
{
    static const double latencies[] = {98, 102, 101, 99, 100};
    struct run run = {.interval = 1};
    for (int i = 0; i < 4; i++)
        window(&run, 500, true);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_HOLDING);
    for (int i = 0; run.state.phase == CONTROL_CALIBRATION_HOLDING; i++)
        window(&run, latencies[i % 5], true);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_LEARNED);
    assert_int_equal(run.held, 31);
    assert_float_equal(run.state.held_seconds, 31, 1e-9);
    assert_float_equal(control_threshold_theta(run.state.samples, run.state.n), 100, 1e-9);
    window(&run, 500, true);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_LEARNED);
    assert_false(control_calibration_wants(&run.state));
}

TEST(it_begins_after_three_full_windows)
{
    struct run run = {.interval = 1};
    for (int i = 0; i < 100; i++)
        window(&run, 100, i % 3 > 0);
    assert_int_equal(run.held, 0);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_WAITING);
}

/* Three windows without are still a hold, four are not; what it has of samples stays. */
TEST(it_ends_when_it_idles)
{
    struct run run = {.interval = 1};
    for (int i = 0; i < 13; i++)
        window(&run, 100, true);
    assert_int_equal(run.state.n, 9);
    for (int i = 0; i < 3; i++)
        window(&run, NAN, false);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_HOLDING);
    window(&run, NAN, false);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_WAITING);
    assert_int_equal(run.state.n, 9);
    assert_float_equal(control_calibration_needs(&run.state, 1), 23, 1e-9);
}

/* One window in four: 30 samples would take longer than it has. */
TEST(too_few_in_two_minutes)
{
    struct run run = {.interval = 1};
    for (int i = 0; i < 3; i++)
        window(&run, 100, true);
    for (int i = 0; i < 400; i++)
        window(&run, 100, i % 4 == 0);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_TOO_FEW);
    assert_in_range(run.held, 100, 120);
    assert_true(run.state.held_seconds <= 120);
}

/* Nobody of best effort could be held: no sample in 91 s, and 30 are missing. */
TEST(without_a_sample_it_ends_early)
{
    struct control_calibration calibration = {.phase = CONTROL_CALIBRATION_HOLDING};
    const struct control_calibration_window window = {
        .seconds = 1, .interval = 1, .latency = 100, .full = true};
    for (int i = 0; i < 90; i++) {
        control_calibration_step(&calibration, &window);
        assert_int_equal(calibration.phase, CONTROL_CALIBRATION_HOLDING);
    }
    control_calibration_step(&calibration, &window);
    assert_int_equal(calibration.phase, CONTROL_CALIBRATION_TOO_FEW);
}

/* Of windows of 4 s only 30 fit, and two of a hold are lost: nobody is held at all. */
TEST(windows_that_are_too_long)
{
    struct run run = {.interval = 4};
    for (int i = 0; i < 50; i++)
        window(&run, 100, true);
    assert_int_equal(run.held, 0);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_TOO_FEW);
    run = (struct run){.interval = 3.75};
    for (int i = 0; i < 50; i++)
        window(&run, 100, true);
    assert_int_equal(run.state.phase, CONTROL_CALIBRATION_LEARNED);
}

TEST(ten_minutes_of_a_node)
{
    struct control_holds holds = {.n = 0};
    assert_true(control_holds_may_begin(&holds, 0, 32));
    for (int i = 0; i < 31; i++)
        control_holds_add(&holds, i, i + 1);
    for (int i = 91; i < 151; i++)
        control_holds_add(&holds, i, i + 1);
    assert_int_equal(holds.n, 2);
    assert_float_equal(control_holds_sum(&holds, 200), 91, 1e-9);
    assert_float_equal(control_holds_sum(&holds, 620), 71, 1e-9);
    assert_float_equal(control_holds_sum(&holds, 751), 0, 1e-9);
    assert_true(control_holds_may_go_on(&holds, 151, 29));
    assert_false(control_holds_may_go_on(&holds, 151, 30));
    assert_false(control_holds_may_begin(&holds, 210, 20)); /* a minute after the last one */
    assert_true(control_holds_may_begin(&holds, 211, 29));
    assert_false(control_holds_may_begin(&holds, 211, 32));
    assert_true(control_holds_may_begin(&holds, 631, 60));
}

/* However often it is asked for: never more than 120 s in any ten minutes. */
TEST(never_more_than_it_may)
{
    struct control_holds holds = {.n = 0};
    static bool held[7200];
    uint64_t seed = DRAW_SEED;
    bool holding = false;
    for (int t = 0; t < 7200; t++) {
        if (holding)
            control_holds_add(&holds, t - 1, t);
        draw(&seed);
        bool wanted = holding ? seed % 8 > 0 : seed % 2 > 0;
        holding = wanted && control_holds_may_go_on(&holds, t, 1) &&
                  (holding || control_holds_may_begin(&holds, t, (double)(seed % 32)));
        held[t] = holding;
    }
    unsigned most = 0;
    for (int end = 600; end <= 7200; end++) {
        unsigned sum = 0;
        for (int t = end - 600; t < end; t++)
            sum += held[t];
        most = sum > most ? sum : most;
    }
    assert_in_range(most, 30, 120);
}
