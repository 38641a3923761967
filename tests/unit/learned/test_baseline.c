#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/learned/baseline.h"

/* A second of a container at work beside neighbours that do nothing. */
static const struct baseline_window calm_and_busy = {
    .calm = true,
    .length_seconds = 1,
    .reads = 100000,
    .cpu_seconds = 0.5,
    .known = true,
    .latency_seconds = 100e-9,
};

static void feed(struct baseline *baseline, struct baseline_window window, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        baseline_learn(baseline, &window);
}

static void the_mean_of_busy_calm_windows(void **state)
{
    (void)state;
    struct baseline baseline = {0};
    double seconds = -1;
    feed(&baseline, calm_and_busy, 9);
    assert_false(baseline_find(&baseline, &seconds)); /* too few */
    assert_true(seconds == -1);
    struct baseline_window slower = calm_and_busy;
    slower.latency_seconds = 140e-9;
    feed(&baseline, slower, 27);
    assert_true(baseline_find(&baseline, &seconds));
    assert_true(seconds > 129.9e-9 && seconds < 130.1e-9);
}

static void learn_nothing_from(struct baseline_window window)
{
    struct baseline baseline = {0};
    double seconds;
    feed(&baseline, window, 100);
    assert_false(baseline_find(&baseline, &seconds));
}

static void idle_windows_teach_nothing(void **state)
{
    (void)state;
    struct baseline_window window = calm_and_busy;
    window.cpu_seconds = 0.09;
    learn_nothing_from(window);
    window = calm_and_busy;
    window.reads = 999;
    learn_nothing_from(window);
    window = calm_and_busy;
    window.known = false;
    learn_nothing_from(window);
}

static void windows_beside_busy_neighbours_teach_nothing(void **state)
{
    (void)state;
    struct baseline_window window = calm_and_busy;
    window.calm = false;
    learn_nothing_from(window);
}

/* The mean follows a change within an hour of windows, not within a day of them. */
static void the_mean_forgets(void **state)
{
    (void)state;
    struct baseline baseline = {0};
    double seconds;
    feed(&baseline, calm_and_busy, 20000);
    struct baseline_window slower = calm_and_busy;
    slower.latency_seconds = 200e-9;
    feed(&baseline, slower, 4 * 3600);
    assert_true(baseline_find(&baseline, &seconds));
    assert_true(seconds > 195e-9); /* 200 - 100 / e^4 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_of_busy_calm_windows),
        cmocka_unit_test(idle_windows_teach_nothing),
        cmocka_unit_test(windows_beside_busy_neighbours_teach_nothing),
        cmocka_unit_test(the_mean_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
