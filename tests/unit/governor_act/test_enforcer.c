#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporter/governor/act/enforcer.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/fake_knobs.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

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
    const struct log *log;
    struct decision last, foreign; /* foreign: the last that was */
    unsigned decisions;
};

static void decided(void *context, const struct decision *decision)
{
    struct scene *scene = context;
    scene->last = *decision;
    if (decision->outcome == OUTCOME_FOREIGN)
        scene->foreign = *decision;
    scene->decisions++;
    assert_int_equal(decision->seq, scene->decisions);
}

static void start_with(struct scene *scene, bool dry,
                       void (*tell)(void *context, const struct decision *decision))
{
    struct enforcer_config config = {
        .dry = dry, .limits = limits, .log = scene->log, .decided = tell, .context = scene};
    governor_start_journal(&scene->rig, dry ? NULL : &scene->rig.write, &scene->journal);
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
    /* The kernel's pages of zeros instead of clearing megabytes for each sequence. */
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    fake_knobs_init(&scene->fake);
    fake_knobs_make(&scene->fake, 0, 4);
    fake_knobs_make(&scene->fake, 1, 1000000); /* no limit but the CPUs */
    scene->now_ns = 1000 * SECOND;
    scene->log = &no_log;
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

#define CASE(name) TEST_ON(name, struct scene *scene, setup, teardown)

static int setup_started(void **state)
{
    setup(state);
    start(*state, false);
    return 0;
}

#define STARTED(name) TEST_ON(name, struct scene *scene, setup_started, teardown)

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

static void ticks(struct scene *scene, int n, double wanted)
{
    for (int i = 0; i < n; i++)
        tick(scene, wanted);
}

static void tick_of_nobody(struct scene *scene)
{
    begin(scene);
    enforcer_commit(scene->enforcer);
}

static void expect_quota(const struct scene *scene, double value)
{
    assert_float_equal(fake_knobs_value(&scene->fake, 0), value, 1e-6);
}

/* Such a tick, after which knob 0 has this. */
static void tick_gives(struct scene *scene, double wanted, double value)
{
    tick(scene, wanted);
    expect_quota(scene, value);
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

STARTED(down_up_and_back)
{
    tick(scene, NAN);
    assert_int_equal(scene->fake.writes, 0);
    assert_int_equal(journal_bytes(scene), 0);
    tick_gives(scene, 1.5, 1.5);
    expect_last(scene, ACTION_CUT, OUTCOME_APPLIED);
    assert_string_equal(scene->last.from, "4000000");
    assert_string_equal(scene->last.to, "1500000");
    assert_int_equal(scene->last.policy, POLICY_THRESHOLD);
    assert_string_equal(scene->last.container, "batch/job/worker-0");
    assert_string_equal(scene->last.cause, "shop/cart-0/cart");
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    tick_gives(scene, 2, 2);
    expect_last(scene, ACTION_RAISE, OUTCOME_APPLIED);
    tick_gives(scene, 99, 4);
    expect_last(scene, ACTION_RELEASE, OUTCOME_APPLIED);
    assert_string_equal(scene->last.why, "calm");
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    tick_gives(scene, 0, 1);
    assert_int_equal(scene->decisions, 4);
}

STARTED(a_steady_view_writes_nothing)
{
    tick(scene, 2);
    unsigned writes = scene->fake.writes, calls = scene->rig.calls;
    ticks(scene, 100, 2);
    assert_int_equal(scene->fake.writes, writes);
    assert_int_equal(scene->rig.calls, calls);
    assert_int_equal(scene->decisions, 1);
}

CASE(a_dry_run_writes_nothing_at_all)
{
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
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_last(scene, ACTION_RELEASE, OUTCOME_DRY_RUN);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(scene->fake.writes, 0);
    assert_int_equal(scene->rig.calls, 0);
}

STARTED(what_is_reset_is_set_again_and_then_yielded)
{
    tick(scene, 2);
    for (int i = 0; i < 6; i++) {
        fake_knobs_reset(&scene->fake, 0);
        tick_gives(scene, 2, 2);
    }
    fake_knobs_reset(&scene->fake, 0);
    tick_gives(scene, 2, 4);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(enforcer_counts(scene->enforcer)->foreign[KNOB_CPU][FOREIGN_RESET], 7);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_YIELDED], 1);
    ticks(scene, 3599, 2);
    expect_quota(scene, 4);
    tick_gives(scene, 2, 2);
}

STARTED(a_new_specification_is_adopted)
{
    tick(scene, 2);
    fake_knobs_set(&scene->fake, 0, 3);
    tick_gives(scene, 2, 3);
    ticks(scene, 59, 2);
    expect_quota(scene, 3);
    tick_gives(scene, 2, 2);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_quota(scene, 3);
    assert_int_equal(enforcer_counts(scene->enforcer)->foreign[KNOB_CPU][FOREIGN_CHANGED], 1);
}

static void expect_foreign(const struct scene *scene, const char *from, const char *to,
                           const char *why)
{
    const struct decision *foreign = &scene->foreign;
    assert_int_equal(foreign->action, ACTION_RELEASE);
    assert_int_equal(foreign->policy, POLICY_THRESHOLD);
    assert_string_equal(foreign->container, "batch/job/worker-0");
    assert_string_equal(foreign->from, from);
    assert_string_equal(foreign->to, to);
    assert_string_equal(foreign->why, why);
    assert_string_equal(foreign->cause, ""); /* nobody who waits */
}

STARTED(what_others_write_is_told)
{
    const uint64_t *counted = &enforcer_counts(scene->enforcer)
                                   ->decisions[POLICY_THRESHOLD][ACTION_RELEASE][OUTCOME_FOREIGN];
    tick(scene, 2);
    fake_knobs_reset(&scene->fake, 0);
    tick(scene, 2);
    expect_foreign(scene, "2000000", "4000000", "reset");
    fake_knobs_set(&scene->fake, 0, 3);
    tick(scene, 2);
    expect_foreign(scene, "2000000", "3000000", "changed");
    fake_knobs_set(&scene->fake, 0, 3.5); /* while nothing is set */
    tick(scene, 2);
    expect_foreign(scene, "3000000", "3500000", "changed");
    scene->fake.rebase_next = true;
    tick(scene, 2);
    expect_foreign(scene, "3500000", "3500000", "changed");
    expect_last(scene, ACTION_RELEASE, OUTCOME_APPLIED);
    assert_int_equal(*counted, 4);
}

/* Its claim restricts nothing, and nobody asks for less. */
STARTED(what_others_gave_back_is_not_held)
{
    for (int i = 0; i < 10; i++) { /* however often it is resized */
        tick_gives(scene, 2, 2);
        fake_knobs_set(&scene->fake, 0, 3 + i * 0.1);
        tick(scene, 99);
        assert_int_equal(enforcer_open(scene->enforcer), 0);
        scene->now_ns += 600 * SECOND;
    }
    tick(scene, 2);
    fake_knobs_reset(&scene->fake, 0);
    tick(scene, 99);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    expect_quota(scene, 3.9);
}

STARTED(who_writes_each_second_wins)
{
    tick(scene, 2);
    for (int i = 0; i < 10; i++) {
        fake_knobs_set(&scene->fake, 0, 3 + i * 0.1);
        tick(scene, 2);
    }
    expect_quota(scene, 3.9);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    ticks(scene, 590, 2);
    expect_quota(scene, 3.9);
    ticks(scene, 10, 2); /* ten minutes later it is asked again who is in charge */
    expect_quota(scene, 2);
}

/* A tick in which nobody is there, and one of another cgroup of that path. */
STARTED(who_was_yielded_to_is_not_forgotten)
{
    tick(scene, 2);
    for (int i = 0; i < 3; i++) {
        fake_knobs_set(&scene->fake, 0, 3 + i * 0.1);
        tick(scene, 2);
    }
    for (int i = 0; i < 3; i++) {
        tick_of_nobody(scene);
        tick(scene, 2);
        tick_gives(scene, 2, 3.2);
    }
    tick_of_nobody(scene);
    fake_knobs_make(&scene->fake, 0, 4);
    tick_gives(scene, 2, 2);
}

/* Nor how often it was cut. */
STARTED(rates_outlive_a_tick_without_the_container)
{
    for (unsigned i = 0; i <= limits.cuts_per_10m; i++) {
        tick(scene, 1.5);
        tick_of_nobody(scene);
    }
    tick(scene, 1.5);
    tick(scene, 2);
    expect_quota(scene, 1); /* flapping it stays there */
}

STARTED(what_failed_waits_also_for_who_was_not_there)
{
    for (int i = 0; i < 4; i++) { /* after one second, and two more; it waits four now */
        scene->fake.fail_next = i == 2 ? 0 : -EBUSY;
        tick(scene, 2);
    }
    tick_of_nobody(scene);
    unsigned decisions = scene->decisions;
    tick(scene, 2);
    tick(scene, 2);
    assert_int_equal(scene->decisions, decisions);
    expect_quota(scene, 4);
    tick_gives(scene, 2, 2);
}

STARTED(a_specification_below_the_floor_is_left)
{
    tick(scene, 2);
    fake_knobs_set(&scene->fake, 0, 0.5);
    ticks(scene, 100, 2);
    expect_quota(scene, 0.5);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

STARTED(a_cgroup_that_ends_is_forgotten)
{
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

CASE(what_is_not_seen_is_let_go)
{
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

STARTED(failures_change_nothing_and_are_tried_again)
{
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
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_quota(scene, 4);
}

/* No decision tells of these. */
CASE(what_cannot_be_read_is_logged)
{
    const struct log log = {.fd = memfd_create("log", MFD_CLOEXEC)};
    char text[1024] = "";
    scene->log = &log;
    start(scene, false);
    scene->fake.fail_claims = 1;
    begin(scene);
    see(scene, 0);
    enforcer_commit(scene->enforcer);
    tick(scene, 2);
    scene->fake.fail_checks = 1;
    tick(scene, 2);
    assert_true(pread(log.fd, text, sizeof text - 1, 0) > 0);
    close(log.fd);
    assert_non_null(strstr(text, "level=warn module=enforcer msg=\"could not claim cpu of "
                                 "batch/job/worker-0: Permission denied (eperm)\""));
    assert_non_null(strstr(text, "level=warn module=enforcer msg=\"could not check cpu of "
                                 "batch/job/worker-0: Input/output error (other)\""));
}

static size_t lines(const struct log *log, const char *words)
{
    char text[4096] = "";
    size_t n = 0;
    assert_true(pread(log->fd, text, sizeof text - 1, 0) >= 0);
    for (const char *at = text; (at = strstr(at, words)); at++)
        n++;
    return n;
}

CASE(who_is_one_too_many_is_told)
{
    const struct log log = {.fd = memfd_create("log", MFD_CLOEXEC)};
    const uint64_t *counted;
    scene->log = &log;
    start(scene, false);
    counted = &enforcer_counts(scene->enforcer)->limited[GUARD_TABLE];
    for (size_t n = CLAIMS_MAX + 3; n >= CLAIMS_MAX; n -= 3) {
        for (int i = 0; i < 3; i++) {
            begin(scene);
            for (size_t j = 0; j < n; j++)
                assert_int_equal(see(scene, j) == NULL, j >= CLAIMS_MAX);
            enforcer_commit(scene->enforcer);
            assert_int_equal(lines(&log, "3 are not governed"), 1);
            assert_int_equal(lines(&log, "there is room for all"), n == CLAIMS_MAX);
        }
        assert_int_equal(*counted, 9);
    }
    close(log.fd);
}

/* A change failed, and then a look at what came of it: what is there is ours, whichever it is. */
STARTED(an_unknown_value_is_not_changed_again)
{
    tick(scene, 3);
    scene->fake.fail_next = -EIO;
    tick(scene, 2);
    scene->fake.fail_checks = 1;
    unsigned decisions = scene->decisions;
    tick(scene, 1);
    assert_int_equal(scene->decisions, decisions);
    expect_quota(scene, 3);
    ticks(scene, 70, 1);
    expect_quota(scene, 1);
    assert_int_equal(enforcer_counts(scene->enforcer)->foreign[KNOB_CPU][FOREIGN_CHANGED], 0);
    scene->fake.fail_next = -EIO;
    tick(scene, 2);
    scene->fake.fail_checks = 1;
    tick(scene, 99); /* to give back is always right */
    expect_quota(scene, 4);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

STARTED(a_release_that_fails_is_tried_again)
{
    tick(scene, 2);
    scene->fake.fail_next = -EBUSY;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_PAUSED, scene->now_ns, 0),
                     -EAGAIN);
    expect_last(scene, ACTION_RELEASE, OUTCOME_FAILED);
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    scene->now_ns += SECOND;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_PAUSED, scene->now_ns, 0), 0);
    expect_quota(scene, 4);
}

/* An hour in vain: each try is a line of the log. */
STARTED(a_release_that_fails_is_tried_less_often)
{
    tick(scene, 2);
    const uint64_t *failed = &enforcer_counts(scene->enforcer)->restores.failed;
    unsigned decisions = scene->decisions;
    for (int i = 0; i < 3600; i++) {
        scene->fake.fail_next = -EBUSY;
        scene->now_ns += SECOND;
        assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_PAUSED, scene->now_ns, 0),
                         -EAGAIN);
    }
    assert_int_equal(*failed, 65); /* after 1, 2, 4, 8, 16, 32 seconds, and then each minute */
    assert_int_equal(scene->decisions - decisions, 65);
    scene->fake.fail_next = -EBUSY;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, scene->now_ns, 0),
                     -EAGAIN);
    assert_int_equal(*failed, 66); /* a stop waits for nothing */
    scene->fake.fail_next = 0;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, scene->now_ns, 0), 0);
    expect_quota(scene, 4);
}

STARTED(without_a_journal_nothing_is_changed)
{
    tick(scene, 2);
    scene->rig.fail_from = scene->rig.calls + 1;
    scene->rig.fail_to = 1000000;
    scene->rig.fail_with = -ENOSPC;
    ticks(scene, 60, 1);
    expect_quota(scene, 2);
    tick(scene, 1);
    expect_quota(scene, 4); /* a minute: all is let go */
    tick_gives(scene, 1, 4);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_JOURNAL], 1);
    scene->rig.fail_from = 0;
    tick_gives(scene, 1, 1);
}

/* Else the next governor would put it back once more. */
STARTED(a_release_that_was_not_written_is_written_at_the_end)
{
    tick(scene, 2);
    scene->rig.fail_from = scene->rig.calls + 1;
    scene->rig.fail_to = 1000000;
    scene->rig.fail_with = -ENOSPC;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_PAUSED, scene->now_ns, 0), 0);
    expect_quota(scene, 4);
    scene->rig.fail_from = 0;
    size_t before = journal_bytes(scene);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, scene->now_ns, 0), 0);
    assert_true(journal_bytes(scene) < before);
    journal_close(&scene->journal);
    governor_start_journal(&scene->rig, &scene->rig.write, &scene->journal);
    assert_int_equal(scene->journal.open.n, 0);
}

STARTED(a_floor_that_is_raised_raises_what_is_below)
{
    tick(scene, 1);
    begin(scene);
    const struct subject subject = {
        .container_id = "0a1b", .name = "batch/job/worker-0", .path = "/0", .floor = 3};
    enforcer_want(enforcer_see(scene->enforcer, KNOB_CPU, &subject), 1, &because);
    enforcer_commit(scene->enforcer);
    expect_quota(scene, 3);
}

static void expect_room(const struct scene *scene, size_t claims, size_t writes)
{
    const struct room room = enforcer_room(scene->enforcer);
    assert_int_equal(room.claims, claims);
    assert_int_equal(room.writes, writes);
    assert_int_equal(room.most_writes, limits.writes_per_second);
}

/* What is wanted already takes a write, unless it is so already; a claim is open once made. */
STARTED(what_may_still_be_changed)
{
    begin(scene);
    struct holding *first = see(scene, 0), *second = see(scene, 1);
    expect_room(scene, 64, 50);
    enforcer_want(first, 2, &because);
    expect_room(scene, 64, 49);
    enforcer_want(second, 3, &because);
    expect_room(scene, 64, 48);
    enforcer_commit(scene->enforcer);
    expect_room(scene, 62, 48);

    begin(scene);
    first = see(scene, 0);
    second = see(scene, 1);
    enforcer_want(first, 2, &because);
    expect_room(scene, 62, 50);
    assert_int_equal(enforcer_would(scene->enforcer, second), GUARD_PASS);
    enforcer_want(second, 1, &because);
    expect_room(scene, 62, 49);
    enforcer_commit(scene->enforcer);
    assert_int_equal(enforcer_would(scene->enforcer, first), GUARD_PASS);
    assert_int_equal(enforcer_would(scene->enforcer, second), GUARD_TICK);
}

/* ---- more containers than claims ---- */

enum { CROWD = 4 };

static void start_crowd(struct scene *scene, bool dry)
{
    static const struct guard_limits few = {
        .claims = 2, .writes_per_second = 3, .cuts_per_10m = 20};
    fake_knobs_make(&scene->fake, 2, 4);
    fake_knobs_make(&scene->fake, 3, 4);
    start(scene, dry);
    enforcer_set_limits(scene->enforcer, &few);
}

/* A tick in which all are wished to have this, and these bits are culprits. */
static void crowd(struct scene *scene, const double *wanted, unsigned culprits)
{
    begin(scene);
    for (size_t i = 0; i < CROWD; i++) {
        struct because why = because;
        why.culprit = culprits >> i & 1;
        enforcer_want(see(scene, i), wanted[i], &why);
    }
    enforcer_commit(scene->enforcer);
    assert_true(enforcer_open(scene->enforcer) <= 2);
}

static void expect_crowd(const struct scene *scene, const double *values)
{
    for (size_t i = 0; i < CROWD; i++)
        assert_float_equal(fake_knobs_value(&scene->fake, i), values[i], 1e-6);
}

static void expect_limited(const struct scene *scene, uint64_t claims, uint64_t rate)
{
    const struct enforcer_counts *counts = enforcer_counts(scene->enforcer);
    assert_int_equal(counts->limited[GUARD_CLAIMS], claims);
    assert_int_equal(counts->limited[GUARD_RATE], rate);
}

CASE(at_the_limit_a_culprit_takes_another_s_claim)
{
    static const double low[CROWD] = {1, 1, 1, 1}, raised[CROWD] = {1, 3, 1, 1};
    start_crowd(scene, false);
    crowd(scene, low, 0);
    expect_crowd(scene, (double[]){1, 1, 4, 4});
    expect_limited(scene, 2, 0);
    crowd(scene, raised, 0);
    crowd(scene, raised, 1 << 3); /* 3 of 8 is nearer than 1 of 4 */
    expect_crowd(scene, (double[]){1, 1000000, 4, 1});
    assert_string_equal(scene->last.container, "batch/job/worker-3");
    assert_int_equal(scene->last.action, ACTION_CUT);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_REPLACED], 1);
    crowd(scene, low, 1 << 2); /* who has just been a culprit keeps what it took */
    expect_crowd(scene, (double[]){4, 1000000, 1, 1});
    expect_limited(scene, 6, 0);
    crowd(scene, low, 1 << 0);
    expect_crowd(scene, (double[]){4, 1000000, 1, 1});
    for (int i = 0; i < 56; i++)
        crowd(scene, low, 0);
    crowd(scene, low, 1 << 0);
    expect_crowd(scene, (double[]){4, 1000000, 1, 1});
    crowd(scene, low, 1 << 0); /* a minute */
    expect_crowd(scene, (double[]){1, 1000000, 1, 4});
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_crowd(scene, (double[]){4, 1000000, 4, 4});
}

/* What is given back is a write as well, and comes first. */
CASE(giving_way_is_a_change_like_others)
{
    static const struct guard_limits slow = {
        .claims = 2, .writes_per_second = 1, .cuts_per_10m = 20};
    static const double low[CROWD] = {1, 1, 1, 1};
    start_crowd(scene, false);
    crowd(scene, low, 0);
    scene->fake.fail_next = -EBUSY;
    crowd(scene, low, 1 << 3);
    expect_crowd(scene, (double[]){1, 1, 4, 4});
    assert_int_equal(enforcer_open(scene->enforcer), 2);
    scene->now_ns += SECOND;
    enforcer_set_limits(scene->enforcer, &slow);
    crowd(scene, low, 1 << 3);
    expect_crowd(scene, (double[]){4, 1, 4, 4});
    expect_limited(scene, 4, 2);
    crowd(scene, low, 1 << 3);
    expect_crowd(scene, (double[]){4, 1, 4, 1});
}

CASE(at_the_limit_a_dry_run_decides_the_same)
{
    static const double low[CROWD] = {1, 1, 1, 1};
    start_crowd(scene, true);
    crowd(scene, low, 0);
    crowd(scene, low, 1 << 3);
    assert_string_equal(scene->last.container, "batch/job/worker-3");
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_REPLACED], 1);
    crowd(scene, (double[]){1, 2, 1, 1}, 0); /* and what has a claim is changed as ever */
    assert_string_equal(scene->last.container, "batch/job/worker-1");
    assert_int_equal(scene->last.action, ACTION_RAISE);
    fake_knobs_set(&scene->fake, 0, 5); /* more for one that is not held is no cut of it */
    for (int i = 0; i < 31; i++)
        crowd(scene, (double[]){9, 2, 9, 1}, 0);
    assert_int_equal(enforcer_open(scene->enforcer), 2);
    assert_int_equal(scene->fake.writes, 0);
}

/* The governor sees every second tick of the exporter. */
STARTED(limits_are_read_anew_whatever_the_ticks_are)
{
    for (int i = 0; i < 32; i++) {
        scene->tick++;
        begin(scene);
        for (size_t knob = 0; knob < 2; knob++) {
            struct holding *holding = see(scene, knob);
            if (holding->known)
                enforcer_want(holding, 2, &because);
        }
        enforcer_commit(scene->enforcer);
        if (i == 0)
            assert_int_equal(enforcer_open(scene->enforcer), 2);
        scene->fake.cpus = 1; /* and then there is nothing to take */
    }
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

/* ---- random sequences ---- */

enum { KNOBS = 3, TICKS = 12 };

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

static void random_tick(struct scene *scene, const double *wanted, unsigned seen, unsigned culprits)
{
    struct because why = because;
    begin(scene);
    for (size_t i = 0; i < KNOBS; i++) {
        if (!(seen >> i & 1))
            continue;
        struct holding *holding = see(scene, i);
        why.culprit = culprits >> i & 1;
        if (!isnan(wanted[i]))
            enforcer_want(holding, wanted[i], &why);
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

/* What is wished to have all is not held. */
static void expect_free(const struct scene *scene, const double *wanted, unsigned seen)
{
    size_t n;
    const struct holding *holdings = enforcer_holdings(scene->enforcer, &n);
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)holdings[i].claim.path[1] - '0';
        if ((seen >> k & 1) && wanted[k] >= holdings[i].claim.most)
            assert_int_equal(holdings[i].claim.id, 0);
    }
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
    struct guard_limits few = limits;
    few.claims = draw(&seed) % 2 ? 64 : 1 + draw(&seed) % 3;
    enforcer_set_limits(scene->enforcer, &few);
    unsigned culprits = (unsigned)(draw(&seed) % 8);
    for (int i = 0; i < TICKS; i++) {
        bool disturbed = disturb(scene, &seed);
        bool unseen = scene->fake.fail_checks > 0;
        size_t k = draw(&seed) % KNOBS;
        uint64_t wish = draw(&seed) % 24;
        double before = wanted[k];
        wanted[k] = wish < 20 ? (double)wish * 0.25 : wish == 20 ? INFINITY : NAN;
        unsigned seen = draw(&seed) % 8 ? 7 : (unsigned)(draw(&seed) % 8);
        bool others = draw(&seed) % 4 == 0;
        culprits = others ? (unsigned)(draw(&seed) % 8) : culprits;
        random_tick(scene, wanted, seen, culprits);
        assert_true(enforcer_open(scene->enforcer) <= few.claims);
        bool quiet =
            !disturbed && !unseen && !others && wanted[k] == before && !scene->rig.fail_from;
        unsigned writes = scene->fake.writes;
        scene->now_ns += 70 * SECOND; /* whatever was put off is due */
        if (quiet) {
            for (int j = 0; j < 30; j++) /* until what is not held has been read anew, too */
                random_tick(scene, wanted, seen, culprits);
            writes = scene->fake.writes;
            random_tick(scene, wanted, seen, culprits);
            assert_int_equal(scene->fake.writes, writes);
            expect_free(scene, wanted, seen);
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
        assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
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
        sequence(scene, DRAW_SEED + i * 7919U, dry);
        if (i % 100 != 0)
            continue;
        uint64_t first = sum;
        sum = 0;
        scene->now_ns = now;
        scene->tick = ticks;
        sequence(scene, DRAW_SEED + i * 7919U, dry);
        uint64_t second = sum;
        sum = 0;
        scene->now_ns = now;
        scene->tick = ticks;
        sequence(scene, DRAW_SEED + i * 7919U, dry);
        assert_int_equal(second, sum); /* the same seed, the same log */
        sum = first;
    }
}

CASE(whatever_happens)
{
    random_sequences(scene, 0, governor_start_sequences(20000), false);
}

CASE(whatever_happens_in_a_dry_run)
{
    random_sequences(scene, 1000000, governor_start_sequences(20000) / 10, true);
}
