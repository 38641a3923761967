/* What collectors of the core group keep for a container: the lengths of windows, and which windows
 * are calm. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/core_lane.h"
#include "tests/unit/support/fake_source.h"

#define SECOND 1000000000ull

/* One container that was found at 10.4 s, while ticks come each second. */
struct bench {
    struct fake_source fake;
    struct log log;
    struct container container;
    struct collector_env env;
    struct collector_status status;
    struct core_lane lane;
    struct tick tick;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    fake_source_init(&b->fake);
    b->log.fd = -1;
    b->container = (struct container){.path = "a", .cgroup_fd = -1, .found_mono_ns = 10400000000u};
    strcpy(b->container.key, "a");
    b->env.log = &b->log;
    b->env.sources = source_set_new(&b->log);
    assert_int_equal(source_set_route(b->env.sources, SCOPE_CGROUP, GROUP_CORE, &b->fake.source),
                     0);
    core_lane_init(&b->lane, &b->container);
    b->tick = (struct tick){.mono_ns = 10 * SECOND, .interval_ns = SECOND};
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    core_lane_close(&b->lane, b->env.sources);
    assert_int_equal(b->fake.n_open, 0);
    source_set_free(b->env.sources);
    free(b);
    return 0;
}

static int open_lane(struct bench *b)
{
    return core_lane_open(&b->lane, &b->env, &b->status, "test", "is not counted");
}

static int read_after(struct bench *b, uint64_t ns)
{
    struct window_sum sum;
    enum window_status window;
    b->tick.number++;
    b->tick.mono_ns += ns;
    assert_int_equal(source_set_begin(b->env.sources, &b->tick), 0);
    return core_lane_read(&b->lane, b->env.sources, &b->status, &b->tick, &sum, &window);
}

static bool lasted(const struct bench *b, double seconds)
{
    return fabs(b->lane.window_seconds - seconds) < 1e-12;
}

static void a_window_lasts_from_reading_to_reading(void **state)
{
    struct bench *b = *state;
    assert_int_equal(open_lane(b), 0);
    assert_true(core_lane_is_open(&b->lane) && b->lane.opened);
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 0.6)); /* since it was found */
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 1));
    assert_int_equal(read_after(b, 3 * SECOND), 0); /* ticks were missed */
    assert_true(lasted(b, 3));
}

static void the_window_after_a_failed_read_reaches_back(void **state)
{
    struct bench *b = *state;
    assert_int_equal(open_lane(b), 0);
    struct fake_group *group = fake_group(&b->fake, "a", GROUP_CORE);
    read_after(b, SECOND);
    group->read_error = -EIO;
    assert_int_equal(read_after(b, SECOND), -EIO);
    group->read_error = 0;
    group->no_reading = true;
    assert_int_equal(read_after(b, SECOND), -ENODATA);
    group->no_reading = false;
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 3));
}

/* It was found long ago, and could not be opened until now. */
static void the_first_window_is_no_longer_than_an_interval(void **state)
{
    struct bench *b = *state;
    verdict_set(&b->fake.open_error, REASON_FD_LIMIT, "too many open files");
    assert_int_equal(open_lane(b), -EMFILE);
    assert_false(core_lane_is_open(&b->lane) || b->lane.opened);
    assert_int_equal(b->status.open_failures[REASON_FD_LIMIT], 1);
    assert_string_equal(b->status.verdict.words, "too many open files");
    assert_int_equal(read_after(b, 60 * SECOND), -ENODATA);
    b->fake.open_error.reason = REASON_OK;
    assert_int_equal(open_lane(b), 0);
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 1));
}

static void only_a_new_reason_is_worth_a_line(void **state)
{
    (void)state;
    struct collector_status status = {0};
    struct verdict why;
    verdict_set(&why, REASON_NO_DEVICE, "gone");
    assert_false(container_group_lacking(&status, -ESRCH, &why));
    assert_int_equal(status.verdict.reason, REASON_OK);
    assert_true(container_group_lacking(&status, -ENODEV, &why));
    verdict_set(&why, REASON_NO_DEVICE, "another is gone");
    assert_false(container_group_lacking(&status, -ENODEV, &why));
    assert_string_equal(status.verdict.words, "another is gone");
    verdict_set(&why, REASON_FD_LIMIT, "too many open files");
    assert_true(container_group_lacking(&status, -EMFILE, &why));
}

/* Neighbours count with what they read in the time that the window spans. */
static void beside_quiet_neighbours_a_window_is_calm(void **state)
{
    struct bench *b = *state;
    struct node_peak peak = {0};
    assert_int_equal(open_lane(b), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(read_after(b, SECOND), 0);
        node_peak_update(&peak, &b->tick, 1000000);
        assert_int_equal(core_lane_calm(&b->lane, &b->tick, 999000, 1000000, &peak), i >= 9);
    }
    assert_true(peak.rate == 1e6);
    read_after(b, SECOND);
    assert_false(core_lane_calm(&b->lane, &b->tick, 998000, 1000000, &peak));
    read_after(b, 2 * SECOND); /* as many reads, in twice the time */
    assert_true(core_lane_calm(&b->lane, &b->tick, 998000, 1000000, &peak));
}

static void the_peak_is_the_highest_rate_of_a_tick(void **state)
{
    (void)state;
    struct node_peak peak = {0};
    struct tick tick = {.mono_ns = 5 * SECOND, .interval_ns = SECOND / 2};
    node_peak_update(&peak, &tick, 100); /* the first: one interval */
    assert_true(peak.rate == 200);
    tick.mono_ns += 4 * SECOND;
    node_peak_update(&peak, &tick, 1600);
    assert_true(peak.rate == 400);
    node_peak_update(&peak, &tick, 1600); /* no time went by: no rate */
    tick.mono_ns += SECOND;
    node_peak_update(&peak, &tick, 300);
    assert_true(peak.rate == 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_window_lasts_from_reading_to_reading),
        T(the_window_after_a_failed_read_reaches_back),
        T(the_first_window_is_no_longer_than_an_interval),
        T(only_a_new_reason_is_worth_a_line),
        T(beside_quiet_neighbours_a_window_is_calm),
        T(the_peak_is_the_highest_rate_of_a_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
