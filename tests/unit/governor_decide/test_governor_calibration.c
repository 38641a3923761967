/* threshold with calibrate: throttle, from documents to control files. */
#include "tests/unit/support/governor_document.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define BASE "100000 100000"
#define ORIGINAL "300000 100000"

static const double pattern[] = {98, 102, 101, 99, 100};

enum { CART, PAY, BATCH, SPARK, GUESTS, PROTECTED = BATCH };
static const char *const names[GUESTS] = {"cart", "pay", "batch", "spark"};
static const char *const paths[GUESTS] = {RIG_CONTAINER("ca27"), RIG_CONTAINER("9a40"),
                                          RIG_CONTAINER("ba7c"), RIG_CONTAINER("59a2")};

/* A container: protected ones have two CPUs. */
struct guest {
    bool there;
    double latency, baseline; /* ns; 0: none */
    double cpus;              /* that it uses */
    double cycles;            /* reference cycles, counted */
    uint64_t cgroup;          /* 0: its directory's */
};

struct scene {
    struct governor_rig rig;
    struct config *config;
    struct governor *governor;
    struct guest guests[GUESTS];
    bool no_base;  /* the exporter does not say the base frequency */
    bool constant; /* cart's latency; else it goes by the pattern */
    uint64_t now_ns, interval_ns, tick, allocated;
    struct decision last;
};

static struct config *config_of(const struct scene *scene, const char *rest, const char *web)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",\"classes\":["
             "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\","
             "\"pod\":\"*\",\"container\":\"*\"}]%s},"
             "{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":[{\"namespace\":\"*\","
             "\"pod\":\"*\",\"container\":\"*\"}]}],\"policies\":{\"threshold\":{\"classes\":["
             "\"batch\"],\"factor\":1.1,\"culprit_share\":0%s}}}",
             scene->rig.state, web, rest);
    return governor_start_config(text);
}

static void start_with(struct scene *scene, bool enforce, const char *rest, const char *web)
{
    config_free(scene->config);
    scene->config = config_of(scene, rest, web);
    scene->governor =
        governor_start(&scene->rig, scene->config, enforce, scene->now_ns, &scene->last);
}

#define THROTTLE ",\"mode\":\"paper\",\"calibrate\":\"throttle\""

static void start(struct scene *scene)
{
    start_with(scene, true, THROTTLE, "");
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    for (size_t i = 0; i < GUESTS; i++)
        governor_rig_cgroup(&scene->rig, paths[i], i < PROTECTED ? "200000 100000" : ORIGINAL);
    scene->guests[CART] = (struct guest){.there = true, .latency = 100, .cpus = 2};
    scene->guests[BATCH].there = true;
    scene->now_ns = 1000 * SECOND;
    scene->interval_ns = SECOND;
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    governor_start_undo(scene->governor, scene->config, &scene->rig);
    free(scene);
    return 0;
}

/* ---- ticks ---- */

static void add_guest(struct textbuf *out, struct scene *scene, size_t i)
{
    struct guest *guest = &scene->guests[i];
    uint64_t inode = guest->cgroup ? guest->cgroup : governor_rig_inode(&scene->rig, paths[i]);
    guest->cycles += guest->cpus * (double)scene->interval_ns;
    if (!guest->there)
        return;
    governor_document_container(out, i < PROTECTED ? "shop" : "jobs", "p", names[i], paths[i],
                                inode, NULL);
    governor_document_value(out, "cpu_reference_cycles_total", guest->cycles);
    if (guest->latency > 0)
        governor_document_value(out, "memory_read_latency_seconds", guest->latency * 1e-9);
    if (guest->baseline > 0)
        governor_document_labelled(out, "memory_read_latency_baseline_seconds", "basis", "calm",
                                   guest->baseline * 1e-9);
}

static void tick(struct scene *scene)
{
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    scene->now_ns += scene->interval_ns;
    scene->tick++;
    if (!scene->constant)
        scene->guests[CART].latency = pattern[scene->tick % 5];
    const struct governor_document_tick head = {.number = scene->tick,
                                                .mono_ns = scene->now_ns - SECOND / 10,
                                                .interval_ns = scene->interval_ns,
                                                .rest = scene->no_base
                                                            ? "\"base_frequency_hz\":null,"
                                                            : "\"base_frequency_hz\":1000000000,"};
    governor_document_begin(&text, &head);
    for (size_t i = 0; i < GUESTS; i++)
        add_guest(&text, scene, i);
    governor_document_view(&text, &view);
    uint64_t before = malloc_count();
    governor_take(scene->governor, &view, scene->now_ns, scene->now_ns);
    scene->allocated += malloc_count() - before;
    view_release(&view);
}

static void ticks(struct scene *scene, int n)
{
    for (int i = 0; i < n; i++)
        tick(scene);
}

static bool has(const struct scene *scene, size_t guest, const char *quota)
{
    char now[64];
    governor_rig_quota(&scene->rig, paths[guest], now);
    return strcmp(now, quota) == 0;
}

/* NULL: nothing is said of it. */
static const struct policy_calibration *calibration_of(const struct scene *scene, size_t guest)
{
    struct governor_state look;
    governor_look(scene->governor, &look);
    for (size_t i = 0; i < look.policies.n_calibrations; i++)
        if (strstr(look.policies.calibrations[i].container, names[guest]))
            return &look.policies.calibrations[i];
    return NULL;
}

static void expect_phase(const struct scene *scene, size_t guest, enum calibration_phase phase)
{
    const struct policy_calibration *calibration = calibration_of(scene, guest);
    assert_non_null(calibration);
    assert_string_equal(calibration_phase_names[calibration->phase],
                        calibration_phase_names[phase]);
}

static uint64_t ended(const struct scene *scene, enum calibration_phase phase)
{
    struct governor_state look;
    governor_look(scene->governor, &look);
    return look.policies.counts.calibrations[phase];
}

static bool is_holding(const struct scene *scene)
{
    struct governor_state look;
    governor_look(scene->governor, &look);
    bool holding = false;
    for (size_t i = 0; i < look.policies.n_calibrations; i++)
        holding |= look.policies.calibrations[i].phase == CALIBRATION_HOLDING;
    return holding;
}

/* Until a hold begins; ticks that it took. */
static int until_held(struct scene *scene, int most)
{
    for (int n = 1; n <= most; n++) {
        tick(scene);
        if (is_holding(scene))
            return n;
    }
    fail_msg("nobody is held within %d ticks", most);
    return 0;
}

static int until_free(struct scene *scene, int most)
{
    for (int n = 1; n <= most; n++) {
        tick(scene);
        if (!is_holding(scene))
            return n;
    }
    fail_msg("best effort is held for more than %d ticks", most);
    return 0;
}

/* ---- what is learned ---- */

/* It has no baseline. With the fifth fresh tick the governor begins, three full ones later the hold
 * does; two ticks of it are lost. Theta is 1.1 times the mean, 110. */
TEST_ON(theta_is_learned, struct scene *scene, setup, teardown)
{
    start(scene);
    assert_int_equal(until_held(scene, 20), 8);
    assert_true(has(scene, BATCH, BASE) && has(scene, CART, "200000 100000"));
    assert_string_equal(scene->last.why, "calibrate");
    assert_string_equal(scene->last.cause, "shop/p/cart");
    assert_int_equal(until_free(scene, 120), 31);
    expect_phase(scene, CART, CALIBRATION_LEARNED);
    assert_float_equal(calibration_of(scene, CART)->latency_seconds, 100e-9, 1e-15);
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 1);
    ticks(scene, 5);
    assert_true(has(scene, BATCH, ORIGINAL));
    scene->constant = true;
    scene->guests[CART].latency = 109.9;
    tick(scene);
    assert_true(has(scene, BATCH, ORIGINAL));
    scene->guests[CART].latency = 110.1;
    tick(scene);
    assert_true(has(scene, BATCH, BASE));
    assert_true(fabs(scene->last.limit - 110e-9) < 1e-14);
    ticks(scene, 1000); /* once for a start */
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 1);
}

/* The exporter's baseline stands until then, and no longer. */
TEST_ON(what_was_learned_comes_before_the_baseline, struct scene *scene, setup, teardown)
{
    scene->guests[CART].baseline = 80;
    start(scene);
    until_held(scene, 20);
    assert_true(scene->last.limit > 87e-9 || isnan(scene->last.limit));
    until_free(scene, 120);
    ticks(scene, 6); /* below 110, and over 88 */
    assert_true(has(scene, BATCH, ORIGINAL));
}

/* Its quota is read while it waits; a tick of a hold, and one afterwards, allocate nothing. */
TEST_ON(nothing_is_allocated, struct scene *scene, setup, teardown)
{
    start(scene);
    scene->guests[CART].cpus = 1;
    ticks(scene, 10);
    governor_rig_set_quota(&scene->rig, paths[0], "100000 100000");
    int waited = until_held(scene, 120);
    assert_in_range(waited, 3, 33);
    assert_float_equal(calibration_of(scene, CART)->cpus, 1, 0);
    scene->allocated = 0;
    unsigned writes = scene->rig.control_writes;
    ticks(scene, 20);
    assert_int_equal(scene->allocated, 0);
    assert_in_range(scene->rig.control_writes - writes, 0, 1);
}

TEST_ON(by_default_nobody_is_held, struct scene *scene, setup, teardown)
{
    start_with(scene, true, ",\"mode\":\"paper\"", "");
    ticks(scene, 100);
    assert_int_equal(scene->rig.control_writes, 0);
    assert_null(calibration_of(scene, CART));
}

/* ---- which ticks count ---- */

/* 1.8 of its two CPUs are not 95 %; nor is its reading memory enough, nor is being busy. */
TEST_ON(nobody_is_held_while_it_idles, struct scene *scene, setup, teardown)
{
    start(scene);
    scene->guests[CART].cpus = 1.8;
    ticks(scene, 50);
    scene->guests[CART].cpus = 2;
    scene->constant = true;
    scene->guests[CART].latency = 0;
    ticks(scene, 50);
    assert_int_equal(scene->rig.control_writes, 0);
    expect_phase(scene, CART, CALIBRATION_WAITING);
    assert_float_equal(calibration_of(scene, CART)->cpus, 2, 0);
    assert_float_equal(calibration_of(scene, CART)->used_cpus, 2, 1e-6);
}

TEST_ON(a_hold_ends_when_it_idles, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    ticks(scene, 9);
    scene->guests[CART].cpus = 0.1;
    assert_int_equal(until_free(scene, 120), 4);
    assert_true(has(scene, BATCH, ORIGINAL));
    assert_int_equal(calibration_of(scene, CART)->samples, 8);
    scene->guests[CART].cpus = 2;
    assert_int_equal(until_held(scene, 120), 60); /* holds are a minute apart */
    assert_int_equal(until_free(scene, 120), 23);
    expect_phase(scene, CART, CALIBRATION_LEARNED);
}

/* It uses three quarters of one CPU at most, which the configuration says. */
TEST_ON(the_configuration_says_what_full_is, struct scene *scene, setup, teardown)
{
    scene->guests[CART].cpus = 0.75;
    start_with(scene, true, THROTTLE, ",\"cores\":0.75");
    assert_int_equal(until_held(scene, 20), 8);
    assert_float_equal(calibration_of(scene, CART)->cpus, 0.75, 0);
}

/* Then each tick counts in which it has a latency. */
TEST_ON(where_full_cannot_be_told, struct scene *scene, setup, teardown)
{
    scene->guests[CART].cpus = 0.1;
    scene->no_base = true;
    start(scene);
    assert_int_equal(until_held(scene, 20), 8);
    assert_int_equal(until_free(scene, 120), 31);
    expect_phase(scene, CART, CALIBRATION_LEARNED);
}

/* Who begins meanwhile runs free for a tick, which is none of the samples, nor is the next. */
TEST_ON(all_of_best_effort_is_at_its_least, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    ticks(scene, 11);
    scene->guests[SPARK].there = true;
    scene->constant = true;
    scene->guests[CART].latency = 500;
    ticks(scene, 2);
    assert_true(has(scene, SPARK, BASE));
    scene->constant = false;
    assert_int_equal(until_free(scene, 120), 20);
    assert_float_equal(calibration_of(scene, CART)->latency_seconds, 100e-9, 2e-9);
}

/* Thirty seconds, not thirty ticks; its CPUs are used in the whole window, or it does not count. */
TEST_ON(ticks_of_a_tenth, struct scene *scene, setup, teardown)
{
    scene->interval_ns = SECOND / 10;
    scene->constant = true;
    start(scene);
    assert_in_range(until_held(scene, 100), 30, 50);
    assert_in_range(until_free(scene, 1200), 301, 320);
    expect_phase(scene, CART, CALIBRATION_LEARNED);
    assert_float_equal(calibration_of(scene, CART)->latency_seconds, 100e-9, 1e-15);
    assert_float_equal(calibration_of(scene, CART)->held_seconds, 31, 1e-6);
}

/* ---- what does not work ---- */

/* Of three ticks one is full: at most 120 s, then the baseline, and never again for this start. */
TEST_ON(too_few_samples, struct scene *scene, setup, teardown)
{
    int held = 0;
    start(scene);
    until_held(scene, 20);
    for (int i = 0; i < 2000; i++) {
        held += is_holding(scene);
        scene->guests[CART].cpus = i % 4 == 0 ? 2 : 0.5;
        scene->guests[CART].there = i < 1000 || i > 1100;
        tick(scene);
    }
    assert_in_range(held, 80, 120);
    expect_phase(scene, CART, CALIBRATION_TOO_FEW);
    assert_int_equal(ended(scene, CALIBRATION_TOO_FEW), 1);
    assert_true(has(scene, BATCH, ORIGINAL));
    scene->guests[CART].cpus = 2;
    ticks(scene, 1000);
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 0);
    scene->guests[CART].baseline = 80;
    ticks(scene, 4);
    assert_true(has(scene, BATCH, BASE)); /* 98 is over 88 */
}

TEST_ON(observing_it_learns_nothing, struct scene *scene, setup, teardown)
{
    start_with(scene, false, THROTTLE, "");
    until_held(scene, 20);
    assert_int_equal(scene->last.outcome, OUTCOME_DRY_RUN);
    assert_int_equal(until_free(scene, 120), 31);
    expect_phase(scene, CART, CALIBRATION_DRY_RUN);
    assert_true(isnan(calibration_of(scene, CART)->latency_seconds));
    assert_int_equal(ended(scene, CALIBRATION_DRY_RUN), 1);
    assert_int_equal(scene->last.action, ACTION_RELEASE); /* there is no theta */
    assert_int_equal(scene->rig.calls, 0);
}

/* ---- who comes and goes ---- */

TEST_ON(a_second_one_starts_meanwhile, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    ticks(scene, 15);
    scene->guests[PAY] = (struct guest){.there = true, .latency = 200, .cpus = 2};
    assert_int_equal(until_free(scene, 120), 34); /* one to be known, three full ones, 30 samples */
    assert_float_equal(calibration_of(scene, CART)->latency_seconds, 100e-9, 1e-15);
    assert_float_equal(calibration_of(scene, PAY)->latency_seconds, 200e-9, 1e-15);
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 2);
}

TEST_ON(it_ends_meanwhile, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    ticks(scene, 10);
    assert_true(has(scene, BATCH, BASE));
    scene->guests[CART].there = false;
    tick(scene);
    assert_true(has(scene, BATCH, ORIGINAL));
    assert_false(is_holding(scene));
    assert_null(calibration_of(scene, CART));
    ticks(scene, 100);
    scene->guests[CART].there = true; /* the same one: the exporter had lost it */
    assert_int_equal(until_held(scene, 120), 4);
    assert_int_equal(calibration_of(scene, CART)->samples, 9);
}

/* A path that is used again is another start; what was learned was of the other one. */
TEST_ON(each_start_is_its_own, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    until_free(scene, 120);
    scene->guests[CART].cgroup = 4711;
    tick(scene);
    expect_phase(scene, CART, CALIBRATION_WAITING);
    assert_true(has(scene, BATCH, ORIGINAL)); /* nobody knows what is normal for it */
    until_held(scene, 120);
    until_free(scene, 120);
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 2);
}

/* A pod that crashes each minute: in any ten minutes best effort is held for 120 s at most. */
TEST_ON(one_that_is_restarted_each_minute, struct scene *scene, setup, teardown)
{
    enum { TICKS = 3600, WINDOW = 600 };
    static bool held[TICKS];
    int most = 0, sum = 0;
    start(scene);
    for (int i = 0; i < TICKS; i++) {
        scene->guests[CART].cgroup = 5000 + (uint64_t)i / 60;
        tick(scene);
        held[i] = is_holding(scene);
        sum += held[i] - (i >= WINDOW && held[i - WINDOW]);
        most = sum > most ? sum : most;
    }
    assert_in_range(most, 60, 120);
    assert_in_range(ended(scene, CALIBRATION_LEARNED), 10, 24);
}

/* ---- the governor itself ---- */

TEST_ON(a_governor_that_is_killed, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    ticks(scene, 10);
    governor_free(scene->governor);
    start(scene);
    assert_true(has(scene, BATCH, ORIGINAL));
    assert_int_equal(until_held(scene, 20), 8); /* what it knew is gone */
    assert_int_equal(until_free(scene, 120), 31);
    expect_phase(scene, CART, CALIBRATION_LEARNED);
}

/* All is free at once. Then it begins anew, a minute after the end, and keeps its samples. */
TEST_ON(paused_it_holds_nobody, struct scene *scene, setup, teardown)
{
    start(scene);
    until_held(scene, 20);
    ticks(scene, 11);
    governor_pause(scene->governor, true, 0);
    assert_true(has(scene, BATCH, ORIGINAL));
    ticks(scene, 30);
    assert_true(has(scene, BATCH, ORIGINAL));
    governor_pause(scene->governor, false, 0);
    int waited = until_held(scene, 120);
    assert_in_range(waited, 30, 60);
    assert_int_equal(calibration_of(scene, CART)->samples, 10);
    assert_float_equal(calibration_of(scene, CART)->held_seconds, 11, 1e-6);
    assert_int_equal(until_free(scene, 120), 21);
}

TEST_ON(another_configuration_goes_on, struct scene *scene, setup, teardown)
{
    char error[256] = "";
    start(scene);
    until_held(scene, 20);
    ticks(scene, 11);
    struct config *others[] = {
        config_of(scene, THROTTLE ",\"calm\":4", ""),
        config_of(scene, ",\"mode\":\"paper\"", ""),
    };
    assert_int_equal(governor_reload(scene->governor, others[0], error, sizeof error), 0);
    assert_int_equal(until_free(scene, 120), 20);
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 1);
    assert_int_equal(governor_reload(scene->governor, others[1], error, sizeof error), 0);
    assert_null(calibration_of(scene, CART));
    assert_int_equal(ended(scene, CALIBRATION_LEARNED), 1);
    config_free(scene->config);
    config_free(others[0]);
    scene->config = others[1];
}

/* Who was given up since it did not help stays free for its ten minutes. */
TEST_ON(who_was_given_up_is_not_held, struct scene *scene, setup, teardown)
{
    start_with(scene, true, ",\"calibrate\":\"throttle\"", "");
    until_held(scene, 20);
    until_free(scene, 120);
    scene->constant = true;
    scene->guests[CART].latency = 150;
    scene->guests[BATCH].cpus = 3;
    ticks(scene, 130);
    assert_true(has(scene, BATCH, ORIGINAL));
    scene->guests[PAY] = (struct guest){.there = true, .latency = 200, .cpus = 2};
    ticks(scene, 450);
    assert_true(has(scene, BATCH, ORIGINAL));
    expect_phase(scene, PAY, CALIBRATION_WAITING);
    until_held(scene, 170);
    assert_true(has(scene, BATCH, BASE));
}
