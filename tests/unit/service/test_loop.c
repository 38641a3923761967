#include <unistd.h>

#include "exporter/service/loop.h"
#include "tests/unit/support/unit.h"

TEST(ticks_keep_to_the_grid)
{
    struct ticker ticker;
    struct tick tick;
    ticker_init(&ticker, 100, 1000);
    assert_false(ticker_take(&ticker, 1099, 0, &tick));
    assert_true(ticker_take(&ticker, 1130, 7, &tick));
    assert_int_equal(tick.number, 1);
    assert_int_equal(tick.mono_ns, 1130);
    assert_int_equal(tick.wall_ns, 7);
    assert_int_equal(tick.interval_ns, 100);
    assert_int_equal(ticker.due_ns, 1200); /* not 1230: no drift */
    assert_int_equal(ticker.missed, 0);
}

TEST(late_ticks_swallow_those_behind_them)
{
    struct ticker ticker;
    struct tick tick;
    ticker_init(&ticker, 100, 1000);
    assert_true(ticker_take(&ticker, 1350, 0, &tick)); /* 1100, with 1200 and 1300 missed */
    assert_int_equal(ticker.missed, 2);
    assert_int_equal(tick.number, 1);
    assert_int_equal(ticker.due_ns, 1400);
    assert_false(ticker_take(&ticker, 1399, 0, &tick));
    assert_true(ticker_take(&ticker, 1400, 0, &tick));
    assert_int_equal(tick.number, 2);
}

/* ---- the loop, with real clocks: orders are asserted, never durations ---- */

struct scene {
    struct loop *loop;
    struct ticker ticker;
    int pipe[2];
    uint64_t deadline_ns;
    unsigned ticks, deadlines, reads, signals;
};

static uint64_t tick_due(void *context)
{
    return ((struct scene *)context)->ticker.due_ns;
}

static void on_tick(void *context, uint64_t now_ns)
{
    struct scene *scene = context;
    struct tick tick;
    assert_true(now_ns >= scene->ticker.due_ns);
    assert_true(ticker_take(&scene->ticker, now_ns, 0, &tick));
    if (++scene->ticks == 3)
        loop_stop(scene->loop);
}

static uint64_t deadline(void *context)
{
    return ((struct scene *)context)->deadline_ns;
}

static void on_deadline(void *context, uint64_t now_ns)
{
    struct scene *scene = context;
    assert_true(now_ns >= scene->deadline_ns);
    scene->deadlines++;
    scene->deadline_ns = UINT64_MAX;
}

static void on_readable(void *context, uint64_t now_ns)
{
    struct scene *scene = context;
    char byte;
    assert_int_equal(read(scene->pipe[0], &byte, 1), 1);
    scene->reads++;
}

static void on_signal(void *context, int signo)
{
    struct scene *scene = context;
    assert_int_equal(signo, SIGUSR1);
    scene->signals++;
}

TEST(ticks_deadlines_descriptors_and_signals_are_served)
{
    const struct loop_callbacks callbacks = {
        .tick_due = tick_due,
        .tick = on_tick,
        .deadline = deadline,
        .on_deadline = on_deadline,
        .readable = on_readable,
        .on_signal = on_signal,
    };
    struct scene scene = {0};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &signals, NULL), 0);
    assert_int_equal(pipe(scene.pipe), 0);
    assert_int_equal(write(scene.pipe[1], "x", 1), 1);
    ticker_init(&scene.ticker, 2000000, loop_now_ns());
    scene.deadline_ns = loop_now_ns() + 1000000;
    assert_int_equal(raise(SIGUSR1), 0);

    assert_int_equal(loop_new(&callbacks, &scene, &signals, scene.pipe[0], &scene.loop), 0);
    assert_int_equal(loop_run(scene.loop), 0);
    assert_int_equal(scene.ticks, 3);
    assert_int_equal(scene.deadlines, 1);
    assert_int_equal(scene.reads, 1);
    assert_int_equal(scene.signals, 1);
    loop_free(scene.loop);
    close(scene.pipe[0]);
    close(scene.pipe[1]);
}
