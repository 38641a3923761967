/* The slowdown collector: containers that come and go, its series, and failures. */
#include <fcntl.h>
#include <unistd.h>

#include "collectors/table.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/slowdown_rig.h"
#include "tests/unit/support/unit.h"

RIG_TEST(a_default_container_has_four_series, slowdown_rig_setup_default)
{
    rig_container(rig, "a");
    rig_learn(rig, 20);
    assert_false(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_int_equal(rig_series(rig, A), 4 + 1); /* and interference_container_info */
}

RIG_TEST(an_ended_container_keeps_its_counters_only, slowdown_rig_setup)
{
    struct container *a = rig_container(rig, "a");
    rig_learn(rig, 20);
    rig_work(rig, "a", load_alone);
    rig_end(rig, a);
    rig_tick(rig);
    assert_true(isnan(rig_passive(rig, C("slowdown_ratio"))));
    assert_true(isnan(rig_passive(rig, C("alone_llc_access_rate_hertz"))));
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 3e9);
    assert_int_equal(rig->fake.n_open, 0);
    rig_tick(rig);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 3e9);
    rig_forget(rig, a);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, A), 0);
}

RIG_TEST(new_names_keep_the_numbers, slowdown_rig_setup)
{
    struct container *a = rig_container(rig, "a");
    rig_learn(rig, 20);
    rig_rename(rig, a, "b");
    rig_learn(rig, 1);
    assert_int_equal(rig_series(rig, A), 0);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 3e9);
    assert_true(fabs(rig_value(rig, C("slowdown_ratio"), "container=\"b\"") - 1) < 1e-9);
}

RIG_TEST(names_may_come_late, slowdown_rig_setup)
{
    struct container *a = rig_unnamed(rig, "a");
    rig_learn(rig, 20);
    assert_int_equal(rig_series(rig, A), 0);
    rig_name(rig, a);
    rig_learn(rig, 1);
    assert_true(rig_passive(rig, C("slowdown_observed_cycles")) == 3e9);
}

RIG_TEST(a_dead_counter_switches_the_collector_off, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_learn(rig, 1);
    rig->facts.l3_miss_reads_filtered = true;
    assert_int_not_equal(rig_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_int_equal(rig_series(rig, A), 0);
    assert_int_equal(rig->fake.n_open, 0);
    rig_container(rig, "b"); /* and stays off */
    assert_int_not_equal(rig_tick(rig), 0);
}

RIG_TEST(without_file_descriptors_it_says_so_and_tries_again, slowdown_rig_setup)
{
    struct container *hogger = rig_container(rig, "hog");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "a");
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, A), 0); /* no zeros for what was never counted */
    assert_true(rig_of_a(rig, "slowdown_no_estimate", "not_counted") == 1);
    rig->fake.open_error.reason = REASON_OK;
    rig_end(rig, hogger);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    rig_learn(rig, 20);
    assert_true(fabs(rig_of_a(rig, C("slowdown_ratio"), "passive") - 1) < 1e-9);
}

/* Containers that end while they are opened are common, and no user can act on that. */
RIG_TEST(one_that_is_gone_already_is_not_worth_a_line, slowdown_rig_setup)
{
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    rig->log.fd = pipes[1];
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "cgroup c0.1 is gone");
    rig->fake.open_errno = -ESRCH;
    rig_container(rig, "a");
    char text[256];
    assert_int_equal(read(pipes[0], text, sizeof text), -1);
    assert_true(rig->status.open_failures[REASON_NO_DEVICE] > 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);

    /* What cannot be counted at all has the same reason, and is one. */
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "perf cannot count per cgroup");
    rig->fake.open_errno = -ENOENT;
    rig_container(rig, "b");
    assert_true(read(pipes[0], text, sizeof text) > 0);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    rig->log.fd = -1;
    close(pipes[0]);
    close(pipes[1]);
}

RIG_TEST(what_an_ended_container_frees_is_used_at_once, slowdown_rig_setup)
{
    struct container *hogger = rig_container(rig, "hog");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "a");
    rig_end(rig, hogger);
    rig->fake.open_error.reason = REASON_OK; /* from when the first is closed */
    rig_tick(rig);
    assert_true(rig->fake.n_open > 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_false(rig->status.wants_reconcile);
}

RIG_TEST(a_failed_read_is_reported, slowdown_rig_setup)
{
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_CORE)->read_error = -EIO;
    assert_int_equal(rig_tick(rig), -EIO);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 1);
}

RIG_TEST(a_steady_tick_allocates_nothing, slowdown_rig_setup)
{
    if (!malloc_count_works())
        skip();
    rig_know(rig);
    rig_disturb(rig, load_disturbed);
    rig_quantum(rig, worked_quantum);
    uint64_t before = malloc_count();
    for (int i = 0; i < 20; i++) {
        rig_work(rig, "a", load_disturbed);
        rig_work(rig, "hog", load_hog);
        rig_quantum(rig, worked_quantum);
    }
    assert_int_equal(malloc_count() - before, 0);
    assert_false(isnan(rig_asm_ratio(rig)));
}

/* ---- what people are shown ---- */

static int setup_live(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    assert_non_null(rig);
    rig_init(rig, &slowdown_collector);
    rig->facts.machine.llc_hit_cycles = 20;
    assert_int_equal(live_new(&rig->env.live), 0);
    assert_int_equal(live_reserve(rig->env.live, RIG_CONTAINERS), 0);
    rig_start(rig);
    fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS)->no_reading = true;
    fake_group(&rig->fake, "b", GROUP_ASM_EPOCHS)->no_reading = true;
    *state = rig;
    return 0;
}

static int teardown_live(void **state)
{
    struct rig *rig = *state;
    struct live *live = rig->env.live;
    thresholds_release(&rig->thresholds);
    rig_teardown(state);
    live_free(live);
    return 0;
}

struct walk {
    const struct rig *rig;
    size_t next;
};

static const struct container *next(void *context)
{
    struct walk *walk = context;
    return walk->next < walk->rig->n_containers ? &walk->rig->containers[walk->next++] : NULL;
}

/* After a tick, what is shown as the limit of the container in this slot. */
static double shown_limit(struct rig *rig, size_t slot)
{
    struct walk walk = {rig, 0};
    struct live_view view;
    live_begin(rig->env.live);
    rig_learn(rig, 1);
    live_show(rig->env.live, &rig->tick, next, &walk);
    assert_int_equal(live_copy(rig->env.live, &view), 0);
    double limit = view.containers[slot].number[LIVE_SLOWDOWN_LIMIT];
    live_view_release(&view);
    return limit;
}

static void reload(struct rig *rig, const char *text)
{
    struct thresholds fresh;
    char error[256];
    assert_int_equal(thresholds_parse(text, strlen(text), &fresh, error, sizeof error), 0);
    fresh.version = rig->thresholds.version + 1;
    thresholds_release(&rig->thresholds);
    rig->thresholds = fresh;
}

TEST_ON(a_container_may_have_a_limit_of_its_own, struct rig *rig, setup_live, teardown_live)
{
    reload(rig, "[{\"container\":\"a\",\"slowdown_ratio\":2},"
                " {\"container\":\"b\",\"latency_seconds\":1e-7}]");
    struct container *a = rig_container(rig, "a");
    rig_container(rig, "b");
    assert_true(shown_limit(rig, 0) == 2);
    assert_true(isnan(shown_limit(rig, 1)));
    rig_rename(rig, a, "c");
    assert_true(isnan(shown_limit(rig, 0)));
    reload(rig, "[{\"slowdown_ratio\":3}]");
    assert_true(shown_limit(rig, 0) == 3);
    assert_true(shown_limit(rig, 1) == 3);
}
