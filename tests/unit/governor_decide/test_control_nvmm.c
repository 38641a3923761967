#include <math.h>

#include "exporter/governor/decide/control/control_nvmm.h"
#include "tests/unit/support/unit.h"

enum { ROOM = 4, GENERAL = CONTROL_NVMM_GENERAL, WRITERS = CONTROL_NVMM_WRITERS };

struct world {
    struct control_nvmm_thread room[ROOM];
    struct control_nvmm table;
    struct control_nvmm_config config;
    unsigned left; /* in the last expiry */
    int tid, group;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    w->table = (struct control_nvmm){.threads = w->room, .room = ROOM};
    control_nvmm_defaults(&w->config, 10);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void left(void *context, int tid, int group)
{
    struct world *w = context;
    w->left++;
    w->tid = tid;
    w->group = group;
}

static enum control_nvmm_result sample(struct world *w, uint64_t now_ms, int tid, int group)
{
    w->left = 0;
    control_nvmm_expire(&w->table, &w->config, now_ms, left, w);
    return control_nvmm_associate(&w->table, &w->config, now_ms, tid, group);
}

static void expect(const struct world *w, int tid, int group, uint64_t expires_ms)
{
    const struct control_nvmm_thread *thread = control_nvmm_find(&w->table, tid);
    assert_non_null(thread);
    assert_int_equal(thread->group, group);
    assert_int_equal(thread->expires_ms, expires_ms);
}

TEST_ON(threads_by_the_worked_numbers, struct world *w, setup, teardown)
{
    assert_int_equal(sample(w, 0, 7, GENERAL), CONTROL_NVMM_JOINED);
    expect(w, 7, GENERAL, 60000);
    assert_int_equal(sample(w, 10, 7, WRITERS), CONTROL_NVMM_JOINED);
    expect(w, 7, WRITERS, 210);
    assert_int_equal(sample(w, 50, 7, GENERAL), CONTROL_NVMM_REFUSED);
    expect(w, 7, WRITERS, 210);
    assert_int_equal(sample(w, 150, 7, WRITERS), CONTROL_NVMM_RENEWED);
    expect(w, 7, WRITERS, 350);
    assert_int_equal(sample(w, 340, 7, GENERAL), CONTROL_NVMM_REFUSED);
    assert_int_equal(sample(w, 349, 8, GENERAL), CONTROL_NVMM_JOINED);
    assert_int_equal(w->left, 0);
    assert_int_equal(sample(w, 350, 8, GENERAL), CONTROL_NVMM_RENEWED);
    assert_true(w->left == 1 && w->tid == 7 && w->group == GENERAL);
    expect(w, 7, GENERAL, 60350);
    expect(w, 8, GENERAL, 60350);
    w->left = 0;
    control_nvmm_expire(&w->table, &w->config, 60349, left, w);
    assert_int_equal(w->left, 0);
    control_nvmm_expire(&w->table, &w->config, 60350, left, w);
    assert_true(w->left == 2 && w->group == -1);
    assert_int_equal(w->table.n, 0);
}

TEST_ON(without_room_nobody_comes, struct world *w, setup, teardown)
{
    static const int tids[ROOM] = {40, 10, 30, 20};
    for (int i = 0; i < ROOM; i++)
        assert_int_equal(sample(w, 0, tids[i], WRITERS), CONTROL_NVMM_JOINED);
    assert_int_equal(sample(w, 0, 25, WRITERS), CONTROL_NVMM_FULL);
    assert_null(control_nvmm_find(&w->table, 25));
    for (int i = 1; i < ROOM; i++)
        assert_true(w->room[i - 1].tid < w->room[i].tid);
    expect(w, 40, WRITERS, 200);
}

TEST(what_is_told_seldom_is_remembered_longer)
{
    assert_int_equal(control_nvmm_expiry_ms(10), 200);
    assert_int_equal(control_nvmm_expiry_ms(50), 200);
    assert_int_equal(control_nvmm_expiry_ms(51), 202);
    assert_int_equal(control_nvmm_expiry_ms(1000), 2100);
}

/* Above eight for five seconds, and at most four for sixty. */
TEST(few_writers_are_left_alone)
{
    struct control_nvmm_engage_config config;
    struct control_nvmm_engage it = {0};
    control_nvmm_engage_defaults(&config);
    for (int t = 0; t < 100; t++)
        assert_false(control_nvmm_engage_step(&it, &config, t, 8));
    for (int t = 100; t < 105; t++)
        assert_false(control_nvmm_engage_step(&it, &config, t, 8.5));
    assert_false(control_nvmm_engage_step(&it, &config, 105, 8)); /* from the start */
    for (int t = 106; t < 111; t++)
        assert_false(control_nvmm_engage_step(&it, &config, t, 9));
    assert_true(control_nvmm_engage_step(&it, &config, 111, 9));
    for (int t = 112; t < 300; t++)
        assert_true(control_nvmm_engage_step(&it, &config, t, 4.5));
    for (int t = 300; t < 360; t++)
        assert_true(control_nvmm_engage_step(&it, &config, t, 4));
    assert_false(control_nvmm_engage_step(&it, &config, 360, 4));
}
