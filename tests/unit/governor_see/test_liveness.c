#include "exporter/governor/see/liveness.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

static const struct liveness_config config = {.stale_ns = 7 * SECOND / 2, .dead_ns = 10 * SECOND};

struct scene {
    struct liveness liveness;
    struct view view;
    uint64_t now_ns;
};

static enum liveness_verdict judge(struct scene *scene)
{
    return liveness_judge(&scene->liveness, &config, &scene->view, scene->now_ns);
}

static enum liveness_verdict next(struct scene *scene)
{
    scene->now_ns += SECOND;
    scene->view.tick++;
    scene->view.monotonic_ns = scene->now_ns;
    return judge(scene);
}

static void expect_five_ticks(struct scene *scene)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(next(scene), LIVENESS_DEAD);
    assert_int_equal(next(scene), LIVENESS_ACT);
}

static struct scene alive(void)
{
    struct scene scene = {.now_ns = 1000 * SECOND,
                          .view = {.source = "perf", .has_tick = true, .interval_ns = SECOND}};
    liveness_init(&scene.liveness, scene.now_ns);
    expect_five_ticks(&scene);
    return scene;
}

TEST(fresh_ticks_are_acted_on_once)
{
    struct scene scene = alive();
    assert_int_equal(judge(&scene), LIVENESS_WAIT);
    assert_int_equal(next(&scene), LIVENESS_ACT);
    assert_int_equal(judge(&scene), LIVENESS_WAIT);
}

/* By whatever an exporter counts on this machine; it may be the other one after it was started
 * again. */
TEST(counts_by_bpf_are_acted_on)
{
    struct scene scene = alive();
    scene.view.source = "bpf";
    assert_int_equal(next(&scene), LIVENESS_ACT);
    scene.now_ns += SECOND;
    scene.view.tick++;
    scene.view.monotonic_ns = scene.now_ns - 4 * SECOND; /* its own clock is believed, too */
    assert_int_equal(judge(&scene), LIVENESS_WAIT);
    const struct view view = {.source = "bpf",
                              .has_tick = true,
                              .interval_ns = SECOND,
                              .monotonic_ns = scene.now_ns - SECOND / 10};
    assert_int_equal(liveness_next_look(&view, SECOND, scene.now_ns),
                     scene.now_ns + SECOND / 100 * 92);
}

TEST(silence_kills_after_ten_seconds)
{
    struct scene scene = alive();
    for (int i = 0; i < 10; i++) {
        scene.now_ns += SECOND;
        assert_int_equal(liveness_judge(&scene.liveness, &config, NULL, scene.now_ns),
                         LIVENESS_WAIT);
    }
    scene.now_ns += SECOND;
    assert_int_equal(liveness_judge(&scene.liveness, &config, NULL, scene.now_ns), LIVENESS_DIED);
    assert_int_equal(scene.liveness.reason, DEAD_DOWN);
    assert_int_equal(liveness_judge(&scene.liveness, &config, NULL, scene.now_ns), LIVENESS_DEAD);
    expect_five_ticks(&scene);
}

TEST(an_old_tick_is_not_acted_on)
{
    struct scene scene = alive();
    scene.now_ns += 4 * SECOND; /* ours was stopped: the tick is 3.6 s old */
    scene.view.tick++;
    scene.view.monotonic_ns = scene.now_ns - 36 * SECOND / 10;
    assert_int_equal(judge(&scene), LIVENESS_WAIT);
    assert_int_equal(next(&scene), LIVENESS_ACT);
    scene.now_ns += 11 * SECOND; /* the exporter hangs */
    assert_int_equal(judge(&scene), LIVENESS_DIED);
    assert_int_equal(scene.liveness.reason, DEAD_STALE);
    expect_five_ticks(&scene);
}

/* A tick that began so long ago, a while after the last one that was acted on. */
static enum liveness_verdict judge_late(uint64_t interval_ns, uint64_t stale_ns, uint64_t age_ns)
{
    const struct liveness_config strict = {.stale_ns = stale_ns, .dead_ns = 10 * SECOND};
    struct scene scene = alive();
    scene.view.interval_ns = interval_ns;
    assert_int_equal(next(&scene), LIVENESS_ACT);
    scene.now_ns += 5 * SECOND;
    scene.view.tick++;
    scene.view.monotonic_ns = scene.now_ns - age_ns;
    return liveness_judge(&scene.liveness, &strict, &scene.view, scene.now_ns);
}

/* 3.5 intervals; at least a second, at most 'stale'. */
TEST(how_old_a_tick_may_be_goes_by_the_interval)
{
    static const uint64_t ms = SECOND / 1000;
    static const struct {
        uint64_t interval_ms, stale_ms, limit_ms;
    } cases[] = {{1000, 3500, 3500}, {100, 3500, 1000}, {10, 3500, 1000},  {400, 3500, 1400},
                 {100, 300, 300},    {400, 600, 600},   {600, 2000, 2000}, {10000, 3500, 3500}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t interval = cases[i].interval_ms * ms, stale = cases[i].stale_ms * ms;
        uint64_t limit = cases[i].limit_ms * ms;
        assert_int_equal(judge_late(interval, stale, limit), LIVENESS_ACT);
        assert_int_equal(judge_late(interval, stale, limit + 1), LIVENESS_WAIT);
    }
}

/* We were stopped for a minute; the exporter was not. */
TEST(a_gap_of_our_own_kills)
{
    struct scene scene = alive();
    scene.now_ns += 9 * SECOND;
    scene.view.tick += 9;
    assert_int_equal(next(&scene), LIVENESS_ACT);
    scene.now_ns += 60 * SECOND;
    scene.view.tick += 60;
    assert_int_equal(next(&scene), LIVENESS_DIED);
    assert_int_equal(scene.liveness.reason, DEAD_STALE);
    expect_five_ticks(&scene);
}

TEST(a_restarted_exporter_begins_anew)
{
    struct scene scene = alive();
    scene.view.tick = 0;
    assert_int_equal(next(&scene), LIVENESS_DIED);
    assert_int_equal(scene.liveness.reason, DEAD_TICK_RESET);
    expect_five_ticks(&scene);
}

/* It answers before its first tick: that is a restart, too, and nothing that came late. */
TEST(a_restarted_exporter_has_no_tick_at_first)
{
    struct scene scene = alive();
    scene.view.has_tick = false;
    scene.view.tick = 0;
    assert_int_equal(judge(&scene), LIVENESS_DIED);
    assert_int_equal(scene.liveness.reason, DEAD_TICK_RESET);
    for (int i = 0; i < 3; i++)
        assert_int_equal(judge(&scene), LIVENESS_DEAD);
    scene.view.has_tick = true;
    expect_five_ticks(&scene);
}

TEST(what_is_not_counted_now_is_never_acted_on)
{
    static const char *const sources[] = {"replay", "", "other"};
    for (size_t i = 0; i < 3; i++) {
        struct scene scene = alive();
        scene.view.source = sources[i];
        assert_int_equal(next(&scene), LIVENESS_DIED);
        for (int j = 0; j < 20; j++)
            assert_int_equal(next(&scene), LIVENESS_DEAD);
    }
    struct scene ended = alive();
    ended.view.replay_ended = true;
    assert_int_equal(next(&ended), LIVENESS_DIED);
    struct scene bare = alive();
    bare.view.has_tick = false;
    assert_int_equal(next(&bare), LIVENESS_DIED);
}

TEST(a_replay_is_live_where_it_is_allowed)
{
    const struct liveness_config allowed = {
        .stale_ns = SECOND, .dead_ns = 2 * SECOND, .allow_replay = true};
    struct liveness liveness;
    struct view view = {.source = "replay", .has_tick = true, .interval_ns = SECOND};
    liveness_init(&liveness, 0);
    for (int i = 1; i < 10; i++) { /* whose clock is another one */
        view.tick++;
        view.monotonic_ns = (uint64_t)i;
        assert_int_equal(liveness_judge(&liveness, &allowed, &view, 500 * SECOND),
                         i < 5 ? LIVENESS_DEAD : LIVENESS_ACT);
    }
    view.replay_ended = true;
    assert_int_equal(liveness_judge(&liveness, &allowed, &view, 500 * SECOND), LIVENESS_DIED);
}

/* An exporter with a tick every 10 s, or 15, or 30, or an hour, which is its most. */
TEST(a_slow_exporter_is_waited_for)
{
    static const uint64_t seconds[] = {10, 15, 30, 3600};
    for (size_t i = 0; i < 4; i++) {
        uint64_t interval = seconds[i] * SECOND;
        struct scene scene = {.now_ns = 1000 * SECOND,
                              .view = {.source = "perf", .has_tick = true, .tick = 1}};
        scene.view.interval_ns = interval;
        liveness_init(&scene.liveness, scene.now_ns);
        for (unsigned n = 0; n < 20; n++) {
            scene.now_ns += interval + SECOND / 50; /* a little late each time */
            scene.view.tick++;
            scene.view.monotonic_ns = scene.now_ns;
            assert_int_equal(judge(&scene), n < 4 ? LIVENESS_DEAD : LIVENESS_ACT);
        }
        scene.now_ns += interval / 2 * 7;
        assert_int_equal(liveness_judge(&scene.liveness, &config, NULL, scene.now_ns),
                         LIVENESS_WAIT);
        scene.now_ns++;
        assert_int_equal(liveness_judge(&scene.liveness, &config, NULL, scene.now_ns),
                         LIVENESS_DIED);
    }
}

/* An interval that cannot be does not put the dead man off for ever. */
TEST(an_absurd_interval_is_not_believed)
{
    struct scene scene = alive();
    scene.view.interval_ns = UINT64_MAX;
    assert_int_equal(next(&scene), LIVENESS_ACT);
    scene.now_ns += 10 * SECOND + 1;
    assert_int_equal(judge(&scene), LIVENESS_DIED);
}

/* The watchdog of systemd waits for a look, whatever the exporter's interval is. */
TEST(the_next_look_is_within_a_second)
{
    const uint64_t now = 1000 * SECOND, ms = SECOND / 1000;
    struct view view = {
        .source = "perf", .has_tick = true, .interval_ns = SECOND, .monotonic_ns = now - 100 * ms};
    assert_int_equal(liveness_next_look(&view, SECOND, now), now + 920 * ms);
    view.monotonic_ns = now - 2 * SECOND; /* overdue */
    assert_int_equal(liveness_next_look(&view, SECOND, now), now + 250 * ms);
    assert_int_equal(liveness_next_look(NULL, SECOND, now), now + 250 * ms);
    assert_int_equal(liveness_next_look(NULL, 60 * SECOND, now), now + SECOND);
    assert_int_equal(liveness_next_look(NULL, SECOND / 10, now), now + 50 * ms);
    view.interval_ns = 30 * SECOND;
    assert_int_equal(liveness_next_look(&view, 30 * SECOND, now), now + SECOND);
    view.monotonic_ns = now - 29500 * ms;
    assert_int_equal(liveness_next_look(&view, 30 * SECOND, now), now + 520 * ms);
}
