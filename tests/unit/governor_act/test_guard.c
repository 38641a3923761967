#include "exporter/governor/act/guard.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)

static const struct guard_limits limits = {.claims = 2, .writes_per_second = 5, .cuts_per_10m = 3};

struct scene {
    struct guard guard;
    struct guard_memory memory;
    struct claim claim;
    uint64_t tick, now_ns, period_ns;
    double value;
};

static struct scene scene_of(void)
{
    struct scene scene = {.claim = {.id = 1, .least = 1, .most = 4, .value = 4}, .now_ns = MINUTE};
    guard_init(&scene.guard, &limits, scene.now_ns);
    return scene;
}

/* One tick of a second; what passes is made. */
static enum guard_verdict ask(struct scene *scene, double wanted)
{
    scene->tick++;
    scene->now_ns += SECOND;
    enum guard_verdict verdict =
        guard_check(&scene->guard, &scene->memory, &scene->claim, wanted, scene->period_ns, 1,
                    scene->tick, scene->now_ns, &scene->value);
    if (verdict == GUARD_PASS)
        scene->claim.value = scene->value;
    return verdict;
}

TEST(values_stay_within_the_limits)
{
    static const double wanted[] = {0, -5, NAN, -INFINITY, 0.999};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct scene scene = scene_of();
        assert_int_equal(ask(&scene, wanted[i]), GUARD_PASS);
        assert_float_equal(scene.value, 1, 0);
        assert_int_equal(ask(&scene, 1e300), GUARD_PASS);
        assert_float_equal(scene.value, 4, 0);
        assert_int_equal(ask(&scene, 4), GUARD_SAME);
    }
}

TEST(a_claim_gives_way_where_no_rule_forbids_it)
{
    struct scene scene = scene_of();
    struct guard *guard = &scene.guard;
    const struct guard_memory free_to_go = {0};
    assert_true(guard_may_give_way(guard, &scene.memory, &scene.claim, 1, scene.now_ns));
    scene.memory.based_until_ns = scene.now_ns + 1; /* flapping, it stays at its least */
    assert_false(guard_may_give_way(guard, &scene.memory, &scene.claim, 1, scene.now_ns));
    scene.memory = free_to_go;
    guard_failed(&scene.memory.release, scene.now_ns);
    assert_false(guard_may_give_way(guard, &scene.memory, &scene.claim, 1, scene.now_ns));
    scene.memory = free_to_go;
    scene.memory.settle_until_ns = scene.now_ns + 1;
    assert_false(guard_may_give_way(guard, &scene.memory, &scene.claim, 1, scene.now_ns));
    scene.memory = free_to_go;
    assert_int_equal(guard_give_way(guard, &scene.memory, 1, scene.now_ns), GUARD_PASS);
    assert_false(guard_may_give_way(guard, &scene.memory, &scene.claim, 1, scene.now_ns));
    assert_true(guard_may_give_way(guard, &scene.memory, &scene.claim, 2, scene.now_ns));
    for (unsigned i = 2; i <= limits.writes_per_second; i++)
        assert_int_equal(guard_give_way(guard, &scene.memory, i, scene.now_ns), GUARD_PASS);
    assert_int_equal(guard_give_way(guard, &scene.memory, 9, scene.now_ns), GUARD_RATE);
}

TEST(one_change_a_tick)
{
    struct scene scene = scene_of();
    assert_int_equal(ask(&scene, 2), GUARD_PASS);
    assert_int_equal(guard_check(&scene.guard, &scene.memory, &scene.claim, 3, 0, 1, scene.tick,
                                 scene.now_ns, &scene.value),
                     GUARD_TICK);
    assert_int_equal(ask(&scene, 3), GUARD_PASS);
}

TEST(so_many_writes_a_second)
{
    struct scene scene = scene_of();
    unsigned passed = 0;
    for (unsigned i = 0; i < 20; i++) {
        struct guard_memory fresh = {0};
        passed += guard_check(&scene.guard, &fresh, &scene.claim, 2, 0, 1, 1, scene.now_ns,
                              &scene.value) == GUARD_PASS;
    }
    assert_int_equal(passed, 5);
    struct guard_memory fresh = {0};
    assert_int_equal(
        guard_check(&scene.guard, &fresh, &scene.claim, 2, 0, 1, 1, scene.now_ns, &scene.value),
        GUARD_RATE);
    assert_int_equal(guard_check(&scene.guard, &fresh, &scene.claim, 2, 0, 1, 1,
                                 scene.now_ns + SECOND / 4, &scene.value),
                     GUARD_PASS);
}

TEST(so_many_claims)
{
    struct scene scene = scene_of();
    assert_int_equal(guard_check(&scene.guard, &scene.memory, &scene.claim, 2, 0, 2, 1,
                                 scene.now_ns, &scene.value),
                     GUARD_PASS); /* it is one of them */
    scene.claim.id = 0;
    assert_int_equal(guard_check(&scene.guard, &scene.memory, &scene.claim, 2, 0, 2, 2,
                                 scene.now_ns, &scene.value),
                     GUARD_CLAIMS);
}

/* Up and down: at the fourth cut it stays at least for 5 minutes, the next time for 10, up to 40.
 */
TEST(what_flaps_stays_at_least)
{
    static const uint64_t minutes[] = {5, 10, 20, 40, 40};
    struct scene scene = scene_of();
    for (size_t round = 0; round < sizeof minutes / sizeof *minutes; round++) {
        for (int i = 0; i < 4; i++) {
            if (i > 0)
                assert_int_equal(ask(&scene, 4), GUARD_PASS);
            assert_int_equal(ask(&scene, 2), GUARD_PASS);
        }
        uint64_t until = scene.now_ns + minutes[round] * MINUTE;
        assert_int_equal(ask(&scene, 3), GUARD_PASS);
        assert_float_equal(scene.value, 1, 0);
        while (scene.now_ns + SECOND < until)
            assert_int_equal(ask(&scene, 3), GUARD_SAME);
        assert_int_equal(ask(&scene, 4), GUARD_PASS);
        assert_float_equal(scene.value, 4, 0);
    }
}

/* Cuts until it stays at least. */
static void flap(struct scene *scene)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            assert_int_equal(ask(scene, 4), GUARD_PASS);
        assert_int_equal(ask(scene, 2), GUARD_PASS);
    }
    assert_true(scene->memory.based_until_ns > scene->now_ns);
}

/* A policy gave up, or somebody is in charge: it is not taken again against their will. */
TEST(what_is_given_back_does_not_flap)
{
    struct scene scene = scene_of();
    flap(&scene);
    assert_int_equal(ask(&scene, 4), GUARD_PASS);
    assert_float_equal(scene.value, 1, 0);
    scene.claim.value = 4;
    assert_int_equal(ask(&scene, 4), GUARD_SAME);
    assert_int_equal(ask(&scene, 3), GUARD_PASS);
    assert_float_equal(scene.value, 1, 0);
}

TEST(after_a_calm_hour_flapping_begins_anew)
{
    static const uint64_t waits[] = {59, 61}, minutes[] = {10, 5};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene = scene_of();
        flap(&scene);
        scene.now_ns = scene.memory.based_until_ns + (waits[i] * MINUTE - 30 * SECOND);
        scene.claim.value = 4;
        flap(&scene);
        assert_int_equal(scene.memory.based_ns, minutes[i] * MINUTE);
    }
}

TEST(slow_cuts_are_none_of_flapping)
{
    struct scene scene = scene_of();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask(&scene, 2), GUARD_PASS);
        assert_float_equal(scene.value, 2, 0);
        assert_int_equal(ask(&scene, 4), GUARD_PASS);
        scene.now_ns += 4 * MINUTE;
    }
}

/* Algorithm 1 raises and cuts in two windows: 300 times in ten minutes. What comes sooner than its
 * policy means it is flapping. */
TEST(a_policy_s_own_course_is_no_flapping)
{
    struct scene scene = scene_of();
    scene.period_ns = 2 * SECOND;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(ask(&scene, 2), GUARD_PASS);
        assert_float_equal(scene.value, 2, 0);
        assert_int_equal(ask(&scene, 4), GUARD_PASS);
    }
    assert_int_equal(scene.memory.n_cuts, 0);
    scene.period_ns = 4 * SECOND;
    flap(&scene);
}

TEST(resets_are_answered_six_times_an_hour)
{
    struct guard_memory memory = {0};
    uint64_t now = 100 * MINUTE;
    for (int i = 0; i < 6; i++)
        assert_int_equal(guard_reset(&memory, now += MINUTE), GUARD_REASSERT);
    assert_int_equal(guard_reset(&memory, now += MINUTE), GUARD_YIELD);
    assert_true(guard_has_yielded(&memory, now + 60 * MINUTE - 1));
    assert_false(guard_has_yielded(&memory, now + 60 * MINUTE));
    assert_int_equal(guard_reset(&memory, now += 60 * MINUTE), GUARD_REASSERT);
    struct guard_memory slow = {0};
    for (int i = 0; i < 100; i++)
        assert_int_equal(guard_reset(&slow, now += 10 * MINUTE), GUARD_REASSERT);
}

TEST(a_third_specification_in_ten_minutes_wins)
{
    struct guard_memory memory = {0};
    struct scene scene = scene_of();
    uint64_t now = 100 * MINUTE;
    assert_int_equal(guard_changed(&memory, now), GUARD_ADOPT);
    scene.memory = memory;
    scene.now_ns = now;
    assert_int_equal(ask(&scene, 2), GUARD_SETTLE);
    scene.now_ns = now + MINUTE;
    assert_int_equal(ask(&scene, 2), GUARD_PASS);
    assert_int_equal(guard_changed(&memory, now += 4 * MINUTE), GUARD_ADOPT);
    assert_int_equal(guard_changed(&memory, now += 4 * MINUTE), GUARD_YIELD);
    assert_true(guard_has_yielded(&memory, now + 10 * MINUTE - 1));
    assert_false(guard_has_yielded(&memory, now + 10 * MINUTE));
    scene.memory = memory;
    scene.now_ns = now;
    scene.claim.value = 4;
    assert_int_equal(ask(&scene, 2), GUARD_YIELDED);
    struct guard_memory slow = {0};
    for (int i = 0; i < 20; i++)
        assert_int_equal(guard_changed(&slow, now += 5 * MINUTE), GUARD_ADOPT);
}

/* Whoever goes on resizing is left alone for longer each time, and never for good. */
TEST(pauses_for_others_double_up_to_an_hour)
{
    static const uint64_t pauses[] = {10, 20, 40, 60, 60};
    struct guard_memory memory = {0};
    uint64_t now = 100 * MINUTE;
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        for (int n = 1; n < GUARD_CHANGES_MAX; n++)
            assert_int_equal(guard_changed(&memory, now += MINUTE), GUARD_ADOPT);
        assert_int_equal(guard_changed(&memory, now += MINUTE), GUARD_YIELD);
        assert_true(guard_has_yielded(&memory, now + pauses[i] * MINUTE - 1));
        now += pauses[i] * MINUTE;
        assert_false(guard_has_yielded(&memory, now));
    }
    now += 61 * MINUTE; /* without any */
    for (int n = 1; n < GUARD_CHANGES_MAX; n++)
        guard_changed(&memory, now += MINUTE);
    assert_int_equal(guard_changed(&memory, now += MINUTE), GUARD_YIELD);
    assert_false(guard_has_yielded(&memory, now + 10 * MINUTE));
}

static struct claim claim_of(uint64_t ino)
{
    return (struct claim){.knob = KNOB_CPU, .dev = 7, .ino = ino};
}

static bool is_known_again(struct memories *memories, const struct claim *claim)
{
    struct guard_memory memory = {0};
    memories_take(memories, claim, &memory);
    return memory.n_cuts > 0;
}

TEST(who_left_is_known_again_once)
{
    struct memories *memories = calloc(1, sizeof *memories);
    const struct guard_memory cut = {.n_cuts = 1}, nothing = {.changed_tick = 3};
    const struct claim claim = claim_of(1);
    struct claim others[] = {claim, claim, claim, claim, claim};
    others[0].knob = KNOB_WAYS;
    others[1].dev = 8;
    others[2].ino = 2;
    others[3].tid = 4;
    others[4].tid_start = 5;
    memories_keep(memories, &claim, &cut);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_known_again(memories, &others[i]));
    assert_true(is_known_again(memories, &claim));
    assert_false(is_known_again(memories, &claim));
    memories_keep(memories, &claim, &nothing);
    assert_int_equal(memories->n, 0);
    const struct claim never_read = claim_of(0);
    memories_keep(memories, &never_read, &cut);
    assert_int_equal(memories->n, 0);
    free(memories);
}

TEST(who_left_first_is_forgotten_first)
{
    struct memories *memories = calloc(1, sizeof *memories);
    const struct guard_memory cut = {.n_cuts = 1};
    struct claim claim;
    for (uint64_t ino = 1; ino <= MEMORIES_MAX; ino++) {
        claim = claim_of(ino);
        memories_keep(memories, &claim, &cut);
    }
    claim = claim_of(1);
    assert_true(is_known_again(memories, &claim)); /* the last one is at its place now */
    memories_keep(memories, &claim, &cut);
    for (uint64_t ino = 1; ino <= 10; ino++) {
        claim = claim_of(MEMORIES_MAX + ino);
        memories_keep(memories, &claim, &cut);
    }
    for (uint64_t ino = 1; ino <= MEMORIES_MAX + 10; ino++) {
        claim = claim_of(ino);
        assert_int_equal(is_known_again(memories, &claim), ino == 1 || ino > 11);
    }
    free(memories);
}

TEST(failures_wait_longer_each_time)
{
    static const unsigned waits[] = {1, 2, 4, 8, 16, 32, 60, 60};
    struct scene scene = scene_of();
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        guard_failed(&scene.memory.retry, scene.now_ns);
        uint64_t until = scene.now_ns + waits[i] * SECOND;
        while (scene.now_ns + SECOND < until)
            assert_int_equal(ask(&scene, 2), GUARD_BACK_OFF);
        scene.claim.value = 4;
        assert_int_equal(ask(&scene, 3), GUARD_PASS);
        scene.claim.value = 4;
    }
    guard_succeeded(&scene.memory.retry);
    guard_failed(&scene.memory.retry, scene.now_ns);
    assert_int_equal(scene.memory.retry.at_ns, scene.now_ns + SECOND);
}
