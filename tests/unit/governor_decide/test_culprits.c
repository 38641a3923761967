/* Who is cut: counters of containers go in, window by window. */
#include "exporter/governor/decide/policies/culprits.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

enum { CART, ONE, TWO, THREE, CONTAINERS }; /* cart is protected, the others are the policy's own */

struct scene {
    struct culprits *culprits;
    struct view_container containers[CONTAINERS];
    struct holding holdings[CONTAINERS];
    struct governed governed[CONTAINERS];
    size_t order[CONTAINERS], n; /* of those that are there */
    double now;
};

static int setup(void **state)
{
    static const char *const paths[] = {"/cart", "/one", "/two", "/three"};
    static struct scene scene;
    scene = (struct scene){.n = CONTAINERS, .now = 1000};
    for (size_t i = 0; i < CONTAINERS; i++) {
        scene.containers[i] = (struct view_container){.namespace_ = "jobs",
                                                      .pod = "",
                                                      .container = paths[i] + 1,
                                                      .path = paths[i],
                                                      .cgroup_id = 1 + i,
                                                      .caused_latency_seconds = NAN,
                                                      .caused_wait_seconds = NAN,
                                                      .probability = NAN};
        scene.holdings[i].policy = i == CART ? POLICY_NONE : POLICY_THRESHOLD;
        scene.order[i] = i;
    }
    assert_int_equal(culprits_new(0.6, CULPRITS_SURE, &scene.culprits), 0);
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    culprits_free(((struct scene *)*state)->culprits);
    return 0;
}

static void window(struct scene *scene)
{
    scene->now++;
    for (size_t i = 0; i < scene->n; i++) {
        struct governed *governed = &scene->governed[i];
        size_t which = scene->order[i];
        *governed = (struct governed){.container = &scene->containers[which]};
        if (which != CART)
            governed->holdings[KNOB_CPU] = &scene->holdings[which];
    }
    const struct policy_tick tick = {
        .governed = scene->governed, .n = scene->n, .now = scene->now, .interval = 1};
    culprits_window(scene->culprits, &tick, KNOB_CPU, POLICY_THRESHOLD);
}

/* Of cart, one, two, three. */
static void read_more(struct scene *scene, const double reads[CONTAINERS])
{
    for (size_t i = 0; i < CONTAINERS; i++)
        scene->containers[i].memory_reads += reads[i];
}

static const double reads[CONTAINERS] = {900, 91, 1, 8};

static void name(struct scene *scene, const double nanoseconds[CONTAINERS])
{
    for (size_t i = 0; i < CONTAINERS; i++) {
        double *counter = &scene->containers[i].caused_latency_seconds;
        if (isnan(*counter))
            *counter = 0; /* there from the first suspicion on */
        else
            *counter += nanoseconds[i] * 1e-9;
    }
}

static void expect(const struct scene *scene, enum chosen_by by, bool one, bool two, bool three)
{
    const bool wanted[CONTAINERS] = {[ONE] = one, [TWO] = two, [THREE] = three};
    assert_string_equal(chosen_by_names[culprits_chosen_by(scene->culprits)], chosen_by_names[by]);
    for (size_t i = 0; i < scene->n; i++)
        if (scene->order[i] != CART)
            assert_int_equal(culprits_include(scene->culprits, i), wanted[scene->order[i]]);
}

/* Of the next window. */
static void expect_next(struct scene *scene, enum chosen_by by, bool one, bool two, bool three)
{
    window(scene);
    expect(scene, by, one, two, three);
}

/* 91, 1 and 8 % of what the policy's own read; what cart reads is nothing to them. */
TEST_ON(by_reads, struct scene *scene, setup, teardown)
{
    expect_next(scene, CHOSEN_BY_NOTHING, false, false, false);
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_READS, true, false, false);
    scene->containers[TWO].memory_reads = 0; /* it began anew: not known */
    read_more(scene, (const double[CONTAINERS]){0, 80, 0, 200});
    expect_next(scene, CHOSEN_BY_READS, true, false,
                true); /* 171 and 208: the least set that does 60 % has both */
    expect_next(scene, CHOSEN_BY_NOTHING, false, false, false); /* nobody reads */
}

/* two adds 24.8 ns and three 2 ns, which is 93 and 7 %; one reads most. */
TEST_ON(by_latency, struct scene *scene, setup, teardown)
{
    static const double named[CONTAINERS] = {50, 0, 24.8, 2};
    name(scene, named);
    window(scene);
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_READS, true, false, false);
    name(scene, named);
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_LATENCY, false, true, false);
    name(scene, (const double[CONTAINERS]){0, 0, 24, 38}); /* 48.8 and 40 in all */
    expect_next(scene, CHOSEN_BY_LATENCY, false, true, true);
}

/* The name of another acquits nobody: who is always equally active has none. */
TEST_ON(names_of_others_do_not_choose, struct scene *scene, setup, teardown)
{
    name(scene, reads);
    window(scene);
    name(scene, (const double[CONTAINERS]){50, 0, 0, 0});
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_READS, true, false, false);
}

/* Who was cut is active no more, and named no more. */
TEST_ON(an_answer_holds_for_ten_seconds, struct scene *scene, setup, teardown)
{
    name(scene, reads);
    window(scene);
    name(scene, (const double[CONTAINERS]){0, 0, 20, 0});
    for (int i = 0; i <= 10; i++) {
        read_more(scene, reads);
        expect_next(scene, CHOSEN_BY_LATENCY, false, true, false);
    }
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_READS, true, false, false);
    name(scene, (const double[CONTAINERS]){0, 0, 0, 5});
    expect_next(scene, CHOSEN_BY_LATENCY, false, false, true); /* two has done nothing for 11 s */
}

static void make_wait(struct scene *scene, const double seconds[CONTAINERS])
{
    for (size_t i = 0; i < CONTAINERS; i++) {
        double *counter = &scene->containers[i].caused_wait_seconds;
        *counter = isnan(*counter) ? 0 : *counter + seconds[i];
    }
}

/* The seconds of ATTRIBUTION.md's example, section 6: 71, 26 and 3 % of 0.26 s. */
TEST_ON(by_wait, struct scene *scene, setup, teardown)
{
    make_wait(scene, reads);
    name(scene, reads);
    window(scene);
    make_wait(scene, (const double[CONTAINERS]){0.1847619, 0.0085714, 0.0666667, 0});
    name(scene, (const double[CONTAINERS]){0, 20, 0, 0});
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_WAIT, false, true, false);
    /* It is known of everybody: where the policy's own do little of it, none of them is cut. */
    make_wait(scene, (const double[CONTAINERS]){2.4, 0.0085714, 0.0085714, 0});
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_WAIT, false, false, false);
}

TEST_ON(no_share_is_asked_for, struct scene *scene, setup, teardown)
{
    culprits_free(scene->culprits);
    assert_int_equal(culprits_new(0, CULPRITS_SURE, &scene->culprits), 0);
    expect_next(scene, CHOSEN_BY_ALL, true, true, true);
    name(scene, reads);
    window(scene);
    name(scene, reads);
    expect_next(scene, CHOSEN_BY_ALL, true, true, true);
}

/* Another order, somebody gone, and a path that another cgroup has now. */
TEST_ON(containers_come_and_go, struct scene *scene, setup, teardown)
{
    name(scene, reads);
    window(scene);
    name(scene, (const double[CONTAINERS]){0, 0, 20, 0});
    expect_next(scene, CHOSEN_BY_LATENCY, false, true, false);
    memcpy(scene->order, (const size_t[]){THREE, TWO, CART}, 3 * sizeof *scene->order);
    scene->n = 3;
    expect_next(scene, CHOSEN_BY_LATENCY, false, true, false);
    memcpy(scene->order, (const size_t[]){ONE, TWO, THREE, CART}, 4 * sizeof *scene->order);
    scene->n = 4;
    name(scene, (const double[CONTAINERS]){0, 1000, 1, 10});   /* one's growth is not known */
    expect_next(scene, CHOSEN_BY_LATENCY, false, true, false); /* 21 and 10 */
    name(scene, (const double[CONTAINERS]){0, 0, 1, 40});
    expect_next(scene, CHOSEN_BY_LATENCY, false, false, true);
    scene->containers[THREE].cgroup_id = 99; /* its owner is still the same */
    expect_next(scene, CHOSEN_BY_LATENCY, false, false, true);
}

/* Replicas are one owner: 8 of 13, and 9 of 17, which is not enough. */
TEST_ON(replicas_are_one_owner, struct scene *scene, setup, teardown)
{
    scene->containers[ONE].pod = "report-6b7f9c8d5b-x2x4z";
    scene->containers[TWO].pod = "report-6b7f9c8d5b-k9q7w";
    scene->containers[ONE].container = scene->containers[TWO].container = "work";
    window(scene);
    assert_true(culprits_owner(scene->culprits, ONE) == culprits_owner(scene->culprits, TWO));
    assert_true(culprits_owner(scene->culprits, ONE) != culprits_owner(scene->culprits, THREE));
    scene->containers[TWO].container =
        "sidecar"; /* another container of the same pods is another one */
    scene->containers[TWO].cgroup_id = 66;
    window(scene);
    assert_true(culprits_owner(scene->culprits, ONE) != culprits_owner(scene->culprits, TWO));
    scene->containers[TWO].container = "work";
    scene->containers[TWO].cgroup_id = 67;
    window(scene);
    read_more(scene, (const double[CONTAINERS]){0, 4, 4, 5});
    expect_next(scene, CHOSEN_BY_READS, true, true, false);
    read_more(scene, (const double[CONTAINERS]){0, 1, 0, 3});
    expect_next(scene, CHOSEN_BY_READS, true, true, true);
    /* Another namespace's of the same name are others. */
    scene->containers[TWO].namespace_ = "other";
    scene->containers[TWO].cgroup_id = 77;
    window(scene);
    assert_true(culprits_owner(scene->culprits, ONE) != culprits_owner(scene->culprits, TWO));
}

/* Tenants who take turns: it is not who did most before; who is held is still known. */
TEST_ON(who_does_nothing_now_is_not_cut, struct scene *scene, setup, teardown)
{
    window(scene);
    read_more(scene, (const double[CONTAINERS]){0, 50, 0, 0});
    expect_next(scene, CHOSEN_BY_READS, true, false, false);
    read_more(scene, (const double[CONTAINERS]){0, 0, 0, 10});
    expect_next(scene, CHOSEN_BY_READS, false, false, true);
    scene->holdings[ONE].claim.id = 7;
    for (int i = 0; i < 10; i++) {
        read_more(scene, (const double[CONTAINERS]){0, 0, 0, 1});
        expect_next(scene, CHOSEN_BY_READS, i < 9, false, i >= 9);
    }
}

static bool is_owner(void *context, uint64_t owner)
{
    return *(const uint64_t *)context == owner;
}

TEST_ON(who_is_left_out_leaves_room_for_others, struct scene *scene, setup, teardown)
{
    window(scene);
    read_more(scene, reads);
    window(scene);
    uint64_t one = culprits_owner(scene->culprits, ONE);
    uint64_t two = culprits_owner(scene->culprits, TWO);
    culprits_choose(scene->culprits, is_owner, &one);
    expect(scene, CHOSEN_BY_READS, false, false, true); /* 8 of 9 */
    culprits_choose(scene->culprits, NULL, NULL);
    expect(scene, CHOSEN_BY_READS, true, false, false);
    name(scene, reads);
    window(scene);
    name(scene, (const double[CONTAINERS]){0, 0, 20, 0});
    read_more(scene, reads);
    expect_next(scene, CHOSEN_BY_LATENCY, false, true, false);
    culprits_choose(scene->culprits, is_owner, &two); /* nobody else is named: who reads */
    expect(scene, CHOSEN_BY_READS, true, false, false);
}

/* 1/e in ten minutes: one's 91 become 33, and three does 62 % with 63 of 101, not 41 % of 164. */
TEST_ON(what_is_past_counts_less, struct scene *scene, setup, teardown)
{
    window(scene);
    read_more(scene, reads);
    window(scene);
    scene->now += 599;
    read_more(scene, (const double[CONTAINERS]){0, 5, 0, 60});
    expect_next(scene, CHOSEN_BY_READS, false, false, true);
}

TEST_ON(windows_allocate_nothing, struct scene *scene, setup, teardown)
{
    uint64_t before = malloc_count();
    for (int i = 0; i < 10; i++)
        window(scene);
    assert_int_equal(malloc_count() - before, 0);
}

TEST(without_memory)
{
    if (!malloc_fail(0))
        skip();
    for (uint64_t n = 1; n <= 5; n++) {
        struct culprits *culprits = NULL;
        malloc_fail(n);
        int err = culprits_new(0.6, CULPRITS_SURE, &culprits);
        malloc_fail(0);
        assert_int_equal(err, -ENOMEM);
        assert_null(culprits);
    }
}

/* The name stays from 95 down to 80 %; by these alone nobody is cut, unless so configured. */
TEST_ON(whose_name_is_not_sure_is_not_cut_by_it, struct scene *scene, setup, teardown)
{
    const double three[CONTAINERS] = {[THREE] = 20};
    name(scene, three);
    window(scene);
    scene->containers[THREE].probability = 0.95;
    read_more(scene, reads);
    name(scene, three);
    expect_next(scene, CHOSEN_BY_LATENCY, false, false, true);
    for (int i = 0; i < 11; i++) { /* the answer holds for ten seconds */
        scene->containers[THREE].probability = 0.94;
        read_more(scene, reads);
        name(scene, three);
        window(scene);
    }
    expect(scene, CHOSEN_BY_READS, true, false, false);
    culprits_free(scene->culprits);
    assert_int_equal(culprits_new(0.6, 0.9, &scene->culprits), 0);
    window(scene);
    name(scene, three);
    expect_next(scene, CHOSEN_BY_LATENCY, false, false, true);
}
