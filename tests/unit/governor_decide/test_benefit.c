/* What cuts show, pair by pair: windows go in, bars come out. */
#include "exporter/governor/decide/policies/benefit.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

enum { CART = 1, PAY, HOG, OTHER };

struct scene {
    struct benefit *benefit;
    double now, value; /* of four cores, one at least */
    double latency[OTHER];
};

static int setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){.value = 4, .latency = {[CART] = 100, [PAY] = NAN}};
    assert_int_equal(benefit_new(&scene.benefit), 0);
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    benefit_free(((struct scene *)*state)->benefit);
    return 0;
}

/* n windows in which cart, and pay where it has a latency, wait and accuse the hog. */
static void windows(struct scene *scene, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        scene->now++;
        benefit_begin(scene->benefit, scene->now);
        for (uint64_t victim = CART; victim <= PAY; victim++)
            benefit_hear(scene->benefit, victim, scene->latency[victim]);
        benefit_see(scene->benefit, HOG, scene->value / 2, 0.5, 2); /* it has two containers */
        benefit_see(scene->benefit, HOG, scene->value / 2, 0.5, 2);
        benefit_end(scene->benefit);
        benefit_accuse(scene->benefit, CART, HOG);
        if (!isnan(scene->latency[PAY]))
            benefit_accuse(scene->benefit, PAY, HOG);
    }
}

static void cut(struct scene *scene, double to, unsigned n)
{
    windows(scene, 5);
    scene->value = to;
    windows(scene, n);
}

/* It is tried, and everything comes back with the next window. */
static void try_hog(struct scene *scene)
{
    assert_true(benefit_try(scene->benefit, CART, HOG, true));
    assert_true(benefit_on_trial(scene->benefit, HOG));
    scene->value = 4;
}

TEST_ON(who_does_not_help_is_barred, struct scene *scene, setup, teardown)
{
    scene->latency[CART] = 140;
    cut(scene, 1, 12);
    try_hog(scene);
    windows(scene, 4); /* one of the change, and three */
    assert_false(benefit_on_trial(scene->benefit, HOG));
    assert_true(benefit_is_acquitted(scene->benefit, HOG));
    assert_true(benefit_is_barred(scene->benefit, CART, HOG));
    assert_false(benefit_is_barred(scene->benefit, PAY, HOG));
    assert_false(benefit_is_barred(scene->benefit, CART, OTHER));
    assert_int_equal(benefit_bars(scene->benefit), 1);
    windows(scene, 1);
    assert_false(benefit_is_acquitted(scene->benefit, HOG));
    windows(scene, 590);
    assert_true(benefit_is_barred(scene->benefit, CART, HOG));
    windows(scene, 10);
    assert_false(benefit_is_barred(scene->benefit, CART, HOG));
}

/* 10 minutes, 20, 40, an hour. */
TEST_ON(bars_last_longer_each_time, struct scene *scene, setup, teardown)
{
    static const unsigned seconds[] = {600, 1200, 2400, 3600, 3600};
    scene->latency[CART] = 140;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        unsigned barred = 0;
        cut(scene, 1, 31);
        try_hog(scene);
        while (!benefit_is_barred(scene->benefit, CART, HOG))
            windows(scene, 1);
        for (; benefit_is_barred(scene->benefit, CART, HOG); barred++)
            windows(scene, 1);
        assert_int_equal(barred, seconds[i]);
    }
}

/* By the cut itself: nobody need be set free to know it. */
TEST_ON(who_helps_is_not_tried, struct scene *scene, setup, teardown)
{
    scene->latency[CART] = 220;
    windows(scene, 5);
    scene->value = 1;
    scene->latency[CART] = 130;
    windows(scene, 100);
    assert_false(benefit_try(scene->benefit, CART, HOG, true));
    assert_false(benefit_is_barred(scene->benefit, CART, HOG));
}

/* Before the cut it was calm, for the hog had just begun: the trial says what the cut could not. */
TEST_ON(a_trial_finds_who_helps, struct scene *scene, setup, teardown)
{
    windows(scene, 20);
    scene->latency[CART] = 130;
    scene->value = 1;
    windows(scene, 31);
    try_hog(scene);
    scene->latency[CART] = 220;
    windows(scene, 5);
    assert_false(benefit_on_trial(scene->benefit, HOG));
    assert_false(benefit_is_acquitted(scene->benefit, HOG));
    assert_false(benefit_is_barred(scene->benefit, CART, HOG));
    scene->latency[CART] = 130;
    scene->value = 1;
    windows(scene, 3500); /* known for an hour */
    assert_false(benefit_try(scene->benefit, CART, HOG, true));
}

/* It begins to wait by chance while he is tried, and goes on when he is held: that was no proof. */
TEST_ON(chance_is_no_proof, struct scene *scene, setup, teardown)
{
    windows(scene, 5);
    scene->value = 1;
    windows(scene, 31);
    scene->latency[CART] = 140;
    windows(scene, 3);
    scene->latency[CART] = 100;
    windows(scene, 9);
    scene->latency[CART] = 101;
    windows(scene, 1);
    scene->latency[CART] = 140;
    try_hog(scene);
    windows(scene, 6);
    assert_int_equal(benefit_on_trial(scene->benefit, HOG), BENEFIT_NO_TRIAL);
    assert_false(benefit_is_barred(scene->benefit, CART, HOG));
    scene->value = 1;
    windows(scene, 8);
    assert_false(benefit_try(scene->benefit, CART, HOG, true)); /* known, as far as one can tell */
    windows(scene, 4);
    assert_true(benefit_try(scene->benefit, CART, HOG, true));
}

/* Cart waits for itself, pay for the hog: he is not set free at pay's cost, for the line of all
 * windows says as much. */
TEST_ON(nobody_is_tried_while_it_helps_another, struct scene *scene, setup, teardown)
{
    scene->latency[CART] = 140;
    scene->latency[PAY] = 220;
    windows(scene, 5);
    scene->value = 1;
    scene->latency[PAY] = 130;
    windows(scene, 31);
    assert_false(benefit_try(scene->benefit, CART, HOG, true));
    assert_true(benefit_is_barred(scene->benefit, CART, HOG));
    assert_false(benefit_try(scene->benefit, PAY, HOG, true));
    assert_false(benefit_is_barred(scene->benefit, PAY, HOG));
}

/* It is not known of cart yet: he gets a part back. */
TEST_ON(in_doubt_he_gets_a_part_back, struct scene *scene, setup, teardown)
{
    scene->latency[PAY] = 220;
    for (int i = 0; i < 36; i++) {
        scene->latency[CART] = i % 2 ? 100 : 140;
        scene->latency[PAY] = i < 5 ? 220 : 130;
        scene->value = i < 5 ? 4 : 1;
        windows(scene, 1);
    }
    assert_true(benefit_try(scene->benefit, CART, HOG, true));
    assert_int_equal(benefit_on_trial(scene->benefit, HOG), BENEFIT_PART_BACK);
    assert_true(benefit_tries(scene->benefit, CART, HOG));
    benefit_break_off(scene->benefit, HOG);
    assert_int_equal(benefit_on_trial(scene->benefit, HOG), BENEFIT_NO_TRIAL);
    assert_false(benefit_is_acquitted(scene->benefit, HOG));
}

/* Nobody knows what comes of it: he is held again, and tried again in a minute. */
TEST_ON(a_trial_without_a_witness_ends, struct scene *scene, setup, teardown)
{
    scene->latency[CART] = 140;
    cut(scene, 1, 12);
    try_hog(scene);
    scene->latency[CART] = NAN;
    windows(scene, 600);
    assert_int_equal(benefit_on_trial(scene->benefit, HOG), BENEFIT_ALL_BACK);
    windows(scene, 1);
    assert_int_equal(benefit_on_trial(scene->benefit, HOG), BENEFIT_NO_TRIAL);
    assert_false(benefit_is_acquitted(scene->benefit, HOG));
    scene->latency[CART] = 140;
    scene->value = 1;
    windows(scene, 50);
    assert_false(benefit_try(scene->benefit, CART, HOG, true));
    windows(scene, 20);
    assert_true(benefit_try(scene->benefit, CART, HOG, true));
}

TEST_ON(more_pairs_than_there_is_room_for, struct scene *scene, setup, teardown)
{
    scene->latency[CART] = 140;
    cut(scene, 1, 12);
    try_hog(scene);
    windows(scene, 6);
    assert_true(benefit_is_barred(scene->benefit, CART, HOG));
    for (uint64_t owner = 100; owner < 1000; owner++) /* of whom nobody hears any more */
        benefit_accuse(scene->benefit, CART, owner);
    windows(scene, 1);
    for (uint64_t owner = 100; owner < 1000; owner++)
        benefit_accuse(scene->benefit, CART, owner);
    assert_true(benefit_is_barred(scene->benefit, CART, HOG));
}

TEST_ON(windows_allocate_nothing, struct scene *scene, setup, teardown)
{
    uint64_t before = malloc_count();
    cut(scene, 1, 12);
    assert_int_equal(malloc_count() - before, 0);
}

TEST(without_memory)
{
    if (!malloc_fail(0))
        skip();
    for (uint64_t n = 1; n <= 4; n++) {
        struct benefit *benefit = NULL;
        malloc_fail(n);
        int err = benefit_new(&benefit);
        malloc_fail(0);
        assert_int_equal(err, -ENOMEM);
        assert_null(benefit);
    }
}
