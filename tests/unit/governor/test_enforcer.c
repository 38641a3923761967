#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/governor/enforcer.h"
#include "tests/unit/support/fake_knobs.h"
#include "tests/unit/support/governor_rig.h"

#define SECOND UINT64_C(1000000000)

static const struct log no_log = {.fd = -1};
static const struct guard_limits limits = {
    .claims = 64, .writes_per_second = 50, .cuts_per_10m = 20};
static const struct because because = {
    .cause = "shop/cart-0/cart", .measured = 131e-9, .limit = 110e-9};

struct scene {
    struct governor_rig rig; /* for the journal's file */
    struct fake_knobs fake;
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    uint64_t tick, now_ns;
    struct decision last;
    unsigned decisions;
};

static void decided(void *context, const struct decision *decision)
{
    struct scene *scene = context;
    scene->last = *decision;
    scene->decisions++;
    assert_int_equal(decision->seq, scene->decisions);
}

static void start_with(struct scene *scene, bool dry,
                       void (*tell)(void *context, const struct decision *decision))
{
    char error[256] = "";
    struct enforcer_config config = {
        .dry = dry, .limits = limits, .log = &no_log, .decided = tell, .context = scene};
    if (dry)
        journal_open_nowhere(&scene->journal);
    else if (journal_open(&scene->journal, scene->rig.state, true, &scene->rig.write,
                          &scene->rig.fs, error, sizeof error))
        fail_msg("%s", error);
    scene->fake.journal = dry ? NULL : &scene->journal;
    scene->actuators = fake_knobs_actuators(&scene->fake);
    assert_int_equal(enforcer_new(&config, &scene->journal, &scene->actuators, &scene->enforcer),
                     0);
}

static void start(struct scene *scene, bool dry)
{
    start_with(scene, dry, decided);
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    fake_knobs_init(&scene->fake);
    fake_knobs_make(&scene->fake, 0, 4);
    fake_knobs_make(&scene->fake, 1, 1000000); /* no limit but the CPUs */
    scene->now_ns = 1000 * SECOND;
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(scene->fake.wrong, 0);
    enforcer_free(scene->enforcer);
    journal_close(&scene->journal);
    governor_rig_release(&scene->rig);
    free(scene);
    return 0;
}

static struct holding *see(struct scene *scene, size_t i)
{
    char path[16], name[32];
    snprintf(path, sizeof path, "/%zu", i);
    snprintf(name, sizeof name, "batch/job/worker-%zu", i);
    const struct subject subject = {.container_id = "0a1b", .name = name, .path = path, .floor = 1};
    return enforcer_see(scene->enforcer, KNOB_CPU, &subject);
}

static void begin(struct scene *scene)
{
    scene->tick++;
    scene->now_ns += SECOND;
    enforcer_begin(scene->enforcer, scene->tick, scene->now_ns, scene->now_ns);
}

/* A tick in which both are there, and knob 0 is wished to have this; NaN: no wish. */
static void tick(struct scene *scene, double wanted)
{
    begin(scene);
    struct holding *holding = see(scene, 0);
    see(scene, 1);
    if (!isnan(wanted))
        enforcer_want(holding, wanted, &because);
    enforcer_commit(scene->enforcer);
}

static void expect_quota(const struct scene *scene, double value)
{
    assert_float_equal(fake_knobs_value(&scene->fake, 0), value, 1e-6);
}

static void expect_last(const struct scene *scene, enum action action, enum outcome outcome)
{
    assert_int_equal(scene->last.action, action);
    assert_int_equal(scene->last.outcome, outcome);
}

static size_t journal_bytes(struct scene *scene)
{
    char text[16384] = "";
    governor_rig_text(&scene->rig, "state/journal", text, sizeof text);
    return strlen(text);
}

static void down_up_and_back(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, NAN);
    assert_int_equal(scene->fake.writes, 0);
    assert_int_equal(journal_bytes(scene), 0);
    tick(scene, 1.5);
    expect_quota(scene, 1.5);
    expect_last(scene, ACTION_CUT, OUTCOME_APPLIED);
    assert_string_equal(scene->last.from, "4000000");
    assert_string_equal(scene->last.to, "1500000");
    assert_int_equal(scene->last.policy, POLICY_THRESHOLD);
    assert_string_equal(scene->last.container, "batch/job/worker-0");
    assert_string_equal(scene->last.cause, "shop/cart-0/cart");
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    tick(scene, 2);
    expect_quota(scene, 2);
    expect_last(scene, ACTION_RAISE, OUTCOME_APPLIED);
    tick(scene, 99);
    expect_quota(scene, 4);
    expect_last(scene, ACTION_RELEASE, OUTCOME_APPLIED);
    assert_string_equal(scene->last.why, "calm");
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    tick(scene, 0);
    expect_quota(scene, 1);
    assert_int_equal(scene->decisions, 4);
}

static void a_steady_view_writes_nothing(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    unsigned writes = scene->fake.writes, calls = scene->rig.calls;
    for (int i = 0; i < 100; i++)
        tick(scene, 2);
    assert_int_equal(scene->fake.writes, writes);
    assert_int_equal(scene->rig.calls, calls);
    assert_int_equal(scene->decisions, 1);
}

static void a_dry_run_writes_nothing_at_all(void **state)
{
    struct scene *scene = *state;
    start(scene, true);
    tick(scene, 1.5);
    expect_last(scene, ACTION_CUT, OUTCOME_DRY_RUN);
    assert_string_equal(scene->last.from, "4000000");
    assert_string_equal(scene->last.to, "1500000");
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    tick(scene, 1.5);
    assert_int_equal(scene->decisions, 1);
    tick(scene, 2);
    expect_last(scene, ACTION_RAISE, OUTCOME_DRY_RUN);
    assert_string_equal(scene->last.from, "1500000");
    fake_knobs_set(&scene->fake, 0, 1.75);
    tick(scene, 2);
    expect_last(scene, ACTION_RAISE, OUTCOME_DRY_RUN);
    tick(scene, 1);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0), 0);
    expect_last(scene, ACTION_RELEASE, OUTCOME_DRY_RUN);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(scene->fake.writes, 0);
    assert_int_equal(scene->rig.calls, 0);
}

static void what_is_reset_is_set_again_and_then_yielded(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    for (int i = 0; i < 6; i++) {
        fake_knobs_reset(&scene->fake, 0);
        tick(scene, 2);
        expect_quota(scene, 2);
    }
    fake_knobs_reset(&scene->fake, 0);
    tick(scene, 2);
    expect_quota(scene, 4);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(enforcer_counts(scene->enforcer)->foreign[KNOB_CPU][FOREIGN_RESET], 7);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_YIELDED], 1);
    for (int i = 0; i < 3599; i++)
        tick(scene, 2);
    expect_quota(scene, 4);
    tick(scene, 2);
    expect_quota(scene, 2);
}

static void a_new_specification_is_adopted(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    fake_knobs_set(&scene->fake, 0, 3);
    tick(scene, 2);
    expect_quota(scene, 3);
    for (int i = 0; i < 59; i++)
        tick(scene, 2);
    expect_quota(scene, 3);
    tick(scene, 2);
    expect_quota(scene, 2);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0), 0);
    expect_quota(scene, 3);
    assert_int_equal(enforcer_counts(scene->enforcer)->foreign[KNOB_CPU][FOREIGN_CHANGED], 1);
}

static void who_writes_each_second_wins(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    for (int i = 0; i < 10; i++) {
        fake_knobs_set(&scene->fake, 0, 3 + i * 0.1);
        tick(scene, 2);
    }
    expect_quota(scene, 3.9);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    for (int i = 0; i < 10000; i++)
        tick(scene, 2);
    expect_quota(scene, 3.9);
}

static void a_specification_below_the_floor_is_left(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    fake_knobs_set(&scene->fake, 0, 0.5);
    for (int i = 0; i < 100; i++)
        tick(scene, 2);
    expect_quota(scene, 0.5);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

static void a_cgroup_that_ends_is_forgotten(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    fake_knobs_make(&scene->fake, 0, 4); /* another one at once */
    begin(scene);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    enforcer_want(see(scene, 0), 2, &because);
    enforcer_commit(scene->enforcer);
    expect_quota(scene, 2);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_VANISHED], 1);
    fake_knobs_end(&scene->fake, 0);
    tick(scene, 2);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

static void what_is_not_seen_is_let_go(void **state)
{
    struct scene *scene = *state;
    size_t n;
    start(scene, false);
    tick(scene, 2);
    begin(scene);
    see(scene, 1);
    enforcer_commit(scene->enforcer);
    expect_quota(scene, 4);
    enforcer_holdings(scene->enforcer, &n);
    assert_int_equal(n, 1);
}

static void failures_change_nothing_and_are_tried_again(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 3);
    scene->fake.fail_next = -EBUSY;
    tick(scene, 2);
    expect_last(scene, ACTION_CUT, OUTCOME_FAILED);
    expect_quota(scene, 3);
    tick(scene, 2);
    expect_last(scene, ACTION_CUT, OUTCOME_APPLIED);
    expect_quota(scene, 2);
    scene->fake.fail_next = -EIO; /* to write worked, to read back did not */
    scene->fake.fail_after = true;
    tick(scene, 1);
    expect_last(scene, ACTION_CUT, OUTCOME_FAILED);
    assert_int_equal(enforcer_counts(scene->enforcer)->errors[KNOB_CPU][ERROR_APPLY][ERROR_EBUSY],
                     1);
    assert_int_equal(enforcer_counts(scene->enforcer)->errors[KNOB_CPU][ERROR_APPLY][ERROR_OTHER],
                     1);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0), 0);
    expect_quota(scene, 4);
}

/* A change failed, and then a look at what came of it: what is there is ours, whichever it is. */
static void an_unknown_value_is_not_changed_again(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 3);
    scene->fake.fail_next = -EIO;
    tick(scene, 2);
    scene->fake.fail_checks = 1;
    unsigned decisions = scene->decisions;
    tick(scene, 1);
    assert_int_equal(scene->decisions, decisions);
    expect_quota(scene, 3);
    for (int i = 0; i < 70; i++)
        tick(scene, 1);
    expect_quota(scene, 1);
    assert_int_equal(enforcer_counts(scene->enforcer)->foreign[KNOB_CPU][FOREIGN_CHANGED], 0);
    scene->fake.fail_next = -EIO;
    tick(scene, 2);
    scene->fake.fail_checks = 1;
    tick(scene, 99); /* to give back is always right */
    expect_quota(scene, 4);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

static void a_release_that_fails_is_tried_again(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    scene->fake.fail_next = -EBUSY;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_PAUSED, 0), -EAGAIN);
    expect_last(scene, ACTION_RELEASE, OUTCOME_FAILED);
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_PAUSED, 0), 0);
    expect_quota(scene, 4);
}

static void without_a_journal_nothing_is_changed(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 2);
    scene->rig.fail_from = scene->rig.calls + 1;
    scene->rig.fail_to = 1000000;
    scene->rig.fail_with = -ENOSPC;
    for (int i = 0; i < 60; i++)
        tick(scene, 1);
    expect_quota(scene, 2);
    assert_true(enforcer_journal_failing_since(scene->enforcer) > 0);
    tick(scene, 1);
    expect_quota(scene, 4); /* a minute: all is let go */
    tick(scene, 1);
    expect_quota(scene, 4);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_JOURNAL], 1);
    scene->rig.fail_from = 0;
    tick(scene, 1);
    assert_int_equal(enforcer_journal_failing_since(scene->enforcer), 0);
    expect_quota(scene, 1);
}

static void a_floor_that_is_raised_raises_what_is_below(void **state)
{
    struct scene *scene = *state;
    start(scene, false);
    tick(scene, 1);
    begin(scene);
    const struct subject subject = {
        .container_id = "0a1b", .name = "batch/job/worker-0", .path = "/0", .floor = 3};
    enforcer_want(enforcer_see(scene->enforcer, KNOB_CPU, &subject), 1, &because);
    enforcer_commit(scene->enforcer);
    expect_quota(scene, 3);
}

/* ---- random sequences ---- */

enum { KNOBS = 3, TICKS = 12 };

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* What others do: mostly nothing. Their values are none that the policy asks for. */
static bool disturb(struct scene *scene, uint64_t *seed)
{
    size_t i = draw(seed) % KNOBS;
    double value = 0.500001 + (double)(draw(seed) % 40) * 0.1;
    switch (draw(seed) % 16) {
    case 0:
        fake_knobs_set(&scene->fake, i, value);
        return true;
    case 1:
        fake_knobs_reset(&scene->fake, i);
        return true;
    case 2:
        fake_knobs_end(&scene->fake, i);
        return true;
    case 3:
        fake_knobs_make(&scene->fake, i, value);
        return true;
    case 4:
        scene->fake.fail_next = -(int)(draw(seed) % 30 + 1);
        return true;
    case 5:
        scene->fake.fail_next = -EIO;
        scene->fake.fail_after = true;
        return true;
    case 6:
        scene->rig.fail_from = scene->rig.calls + 1 + draw(seed) % 4;
        scene->rig.fail_to = scene->rig.fail_from + draw(seed) % 8;
        scene->rig.fail_with = draw(seed) % 2 ? -ENOSPC : -EIO;
        return true;
    case 7:
        scene->fake.fail_checks = 1 + draw(seed) % 3;
        return true;
    default:
        return false;
    }
}

static void random_tick(struct scene *scene, const double *wanted, unsigned seen)
{
    begin(scene);
    for (size_t i = 0; i < KNOBS; i++) {
        if (!(seen >> i & 1))
            continue;
        struct holding *holding = see(scene, i);
        if (!isnan(wanted[i]))
            enforcer_want(holding, wanted[i], &because);
    }
    enforcer_commit(scene->enforcer);
}

static uint64_t hash(uint64_t have, const struct decision *decision)
{
    const char *texts[] = {decision->from, decision->to, decision->container, decision->why};
    for (size_t i = 0; i < 4; i++)
        for (const char *at = texts[i]; *at; at++)
            have = (have ^ (unsigned char)*at) * 1099511628211U;
    return (have ^ (uint64_t)decision->action ^ (uint64_t)decision->outcome << 8) * 1099511628211U;
}

static uint64_t sum;

static void hash_decision(void *context, const struct decision *decision)
{
    (void)context;
    sum = hash(sum, decision);
}

static void expect_all_original(const struct scene *scene)
{
    for (size_t i = 0; i < KNOBS; i++)
        if (scene->fake.knobs[i].ino)
            assert_true(fake_knobs_is_original(&scene->fake, i));
}

/* What a governor that was killed left is put back by the next one. */
static void expect_restorable(struct scene *scene)
{
    struct restore_counts counts = {0};
    char error[256] = "";
    scene->rig.fail_from = 0;
    scene->fake.fail_next = 0;
    journal_close(&scene->journal);
    if (journal_open(&scene->journal, scene->rig.state, true, &scene->rig.write, &scene->rig.fs,
                     error, sizeof error))
        fail_msg("%s", error);
    restore_all(&scene->journal, &scene->actuators, &no_log, &counts);
    assert_int_equal(counts.failed, 0);
    assert_int_equal(scene->journal.open.n, 0);
    expect_all_original(scene);
}

static void sequence(struct scene *scene, uint64_t seed, bool dry)
{
    double wanted[KNOBS] = {NAN, NAN, NAN};
    governor_rig_file(&scene->rig, "state/journal", "");
    fake_knobs_init(&scene->fake);
    for (size_t i = 0; i < KNOBS; i++)
        fake_knobs_make(&scene->fake, i, 2.000001 + (double)i);
    start_with(scene, dry, hash_decision);
    bool kill = draw(&seed) % 2;
    for (int i = 0; i < TICKS; i++) {
        bool disturbed = disturb(scene, &seed);
        bool unseen = scene->fake.fail_checks > 0;
        size_t k = draw(&seed) % KNOBS;
        uint64_t wish = draw(&seed) % 24;
        double before = wanted[k];
        wanted[k] = wish < 20 ? (double)wish * 0.25 : wish == 20 ? INFINITY : NAN;
        unsigned seen = draw(&seed) % 8 ? 7 : (unsigned)(draw(&seed) % 8);
        random_tick(scene, wanted, seen);
        bool quiet = !disturbed && !unseen && wanted[k] == before && !scene->rig.fail_from;
        unsigned writes = scene->fake.writes;
        scene->now_ns += 70 * SECOND; /* whatever was put off is due */
        if (quiet) {
            for (int j = 0; j < 30; j++) /* until what is not held has been read anew, too */
                random_tick(scene, wanted, seen);
            writes = scene->fake.writes;
            random_tick(scene, wanted, seen);
            assert_int_equal(scene->fake.writes, writes);
        }
    }
    if (dry) {
        assert_int_equal(scene->fake.writes, 0);
        assert_int_equal(journal_bytes(scene), 0);
    } else if (kill) {
        expect_restorable(scene);
    } else {
        scene->rig.fail_from = 0;
        scene->fake.fail_next = 0;
        enforcer_begin(scene->enforcer, ++scene->tick, scene->now_ns, 0);
        assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0), 0);
        assert_int_equal(scene->journal.open.n, 0);
        expect_all_original(scene);
    }
    assert_int_equal(scene->fake.wrong, 0);
    enforcer_free(scene->enforcer);
    scene->enforcer = NULL;
    journal_close(&scene->journal);
    scene->rig.fail_from = 0;
}

static void random_sequences(struct scene *scene, unsigned from, unsigned n, bool dry)
{
    for (unsigned i = from; i < from + n; i++) {
        uint64_t now = scene->now_ns, ticks = scene->tick;
        sequence(scene, 88172645463325252U + i * 7919U, dry);
        if (i % 100 != 0)
            continue;
        uint64_t first = sum;
        sum = 0;
        scene->now_ns = now;
        scene->tick = ticks;
        sequence(scene, 88172645463325252U + i * 7919U, dry);
        uint64_t second = sum;
        sum = 0;
        scene->now_ns = now;
        scene->tick = ticks;
        sequence(scene, 88172645463325252U + i * 7919U, dry);
        assert_int_equal(second, sum); /* the same seed, the same log */
        sum = first;
    }
}

/* GOVERNOR_SEQUENCES: how many of them. */
static unsigned sequences(void)
{
    const char *given = getenv("GOVERNOR_SEQUENCES");
    return given ? (unsigned)strtoul(given, NULL, 10) : 20000;
}

static void whatever_happens(void **state)
{
    random_sequences(*state, 0, sequences(), false);
}

static void whatever_happens_in_a_dry_run(void **state)
{
    random_sequences(*state, 1000000, sequences() / 10, true);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    /* The kernel's pages of zeros instead of clearing megabytes for each sequence. */
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
    const struct CMUnitTest tests[] = {
        TEST(down_up_and_back),
        TEST(a_steady_view_writes_nothing),
        TEST(a_dry_run_writes_nothing_at_all),
        TEST(what_is_reset_is_set_again_and_then_yielded),
        TEST(a_new_specification_is_adopted),
        TEST(who_writes_each_second_wins),
        TEST(a_specification_below_the_floor_is_left),
        TEST(a_cgroup_that_ends_is_forgotten),
        TEST(what_is_not_seen_is_let_go),
        TEST(failures_change_nothing_and_are_tried_again),
        TEST(an_unknown_value_is_not_changed_again),
        TEST(a_release_that_fails_is_tried_again),
        TEST(without_a_journal_nothing_is_changed),
        TEST(a_floor_that_is_raised_raises_what_is_below),
        TEST(whatever_happens),
        TEST(whatever_happens_in_a_dry_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
