/* The ledger of onsets: who begins with the latency, and stays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/ledger/ledger.h"
#include "collectors/attribution/ledger/one_of.h"
#include "collectors/attribution/ledger/onset.h"
#include "collectors/attribution/ledger/outside.h"
#include "collectors/attribution/ledger/readings.h"
#include "tests/unit/support/attribution_rig.h"
#include "tests/unit/support/unit.h"

enum { A = LEDGER_FIRST, B, C, D, E, SERVICES = 10, ALL = LEDGER_FIRST + SERVICES };

/* A node of five that the test moves and of services that go on and off and do no harm. */
struct node {
    struct ledger ledger;
    uint64_t seed;
    double x[ALL]; /* NaN: not there */
    double noise;
    unsigned second;
};

static struct node *node_new(uint64_t seed, double noise)
{
    struct node *node = calloc(1, sizeof *node);
    assert_non_null(node);
    ledger_init(&node->ledger, 0.15, true);
    assert_int_equal(ledger_reserve(&node->ledger, ALL), 0);
    node->seed = seed;
    node->noise = noise;
    for (unsigned i = A; i <= E; i++)
        node->x[i] = NAN;
    return node;
}

static void node_free(struct node *node)
{
    ledger_release(&node->ledger);
    free(node);
}

static double jitter(struct node *node)
{
    return 1 + 0.05 * rig_normal(&node->seed);
}

/* A second in which the latency is exp(effect) times what it is without anybody. */
static void tick(struct node *node, double effect)
{
    for (unsigned i = E + 1; i < ALL; i++)
        if (node->second % (31 + 7 * i) == i)
            node->x[i] = node->x[i] > 0 ? 0 : 0.8;
    for (unsigned i = 0; i < ALL; i++)
        if (!isnan(node->x[i]))
            ledger_set(&node->ledger, i, fmax(0, node->x[i] * jitter(node)));
    ledger_take(&node->ledger, log(150) + effect + node->noise * rig_normal(&node->seed));
    node->second++;
}

static void run(struct node *node, unsigned seconds, double effect)
{
    for (unsigned i = 0; i < seconds; i++)
        tick(node, effect);
}

static const struct ledger_workload *of(const struct node *node, unsigned i)
{
    return &node->ledger.at[i];
}

static bool anybody_else(const struct node *node, unsigned who)
{
    for (unsigned i = 0; i < ALL; i++)
        if (i != who && of(node, i)->named)
            return true;
    return false;
}

TEST(worked_likelihoods)
{
    (void)state;
    struct onset_window window = {.n = 20, .sigma = 0.02};
    double q[ONSET_WINDOW];
    for (unsigned i = 0; i < 20; i++) {
        window.y[i] = i < 10 ? 5 : 5.1;
        q[i] = i < 10 ? 3 : 4;
    }
    onset_window_begin(&window);
    onset_window_steps(&window, 1, 20);
    struct onset_fit step = onset_fit_step(&window, 10), shape = onset_fit_shape(&window, q);
    assert_true(fabs(step.coefficient - 0.09987216) < 1e-7);
    assert_true(fabs(step.se - sqrt(7.98977309e-5)) < 1e-9);
    assert_true(fabs(step.two_sided - 59.08901508) < 1e-6);
    assert_true(fabs(step.one_sided - 59.78216226) < 1e-6);
    assert_true(fabs(shape.two_sided - step.two_sided) < 1e-9);
    assert_true(fabs(window.step[10] - 58.39587871) < 1e-6); /* a little of it warms up */
    assert_true(window.step[5] < window.step[10]);
    /* It warms up: 63 % in four readings. */
    struct onset_window warm = {.n = 30, .sigma = 0.02};
    for (unsigned i = 0; i < 30; i++)
        warm.y[i] = 5 + (i < 10 ? 0 : 0.1 * (1 - pow(0.78, i - 9)));
    onset_window_begin(&warm);
    onset_window_steps(&warm, 1, 30);
    step = onset_fit_step(&warm, 10);
    assert_true(fabs(step.coefficient - 0.1) < 5e-4);
    for (unsigned i = 1; i < 30; i++)
        assert_true(i == 10 || warm.step[i] < warm.step[10]);
    /* Downwards: the other side explains nothing. */
    for (unsigned i = 0; i < 20; i++)
        q[i] = -q[i];
    assert_true(onset_fit_shape(&window, q).one_sided < 0);
    for (unsigned i = 0; i < 20; i++)
        q[i] = 1;
    assert_true(onset_fit_shape(&window, q).two_sided == 0);
}

TEST(who_starts_once_and_stays_is_named_as_long)
{
    (void)state;
    static const double effects[] = {0.14, 0.26, 0.47}; /* +15, +30, +60 % */
    for (size_t k = 0; k < 3; k++) {
        struct node *node = node_new(5 + k, 0.03);
        run(node, 600, 0);
        node->x[A] = 1;
        run(node, 30, effects[k]);
        assert_true(of(node, A)->named);
        for (unsigned i = 0; i < 3 * 3600; i++) {
            tick(node, effects[k]);
            assert_true(of(node, A)->named);
            assert_false(anybody_else(node, A));
        }
        assert_true(fabs((double)of(node, A)->effect / effects[k] - 1) < 0.3);
        node->x[A] = NAN; /* it is gone: does nothing */
        ledger_set(&node->ledger, A, 0);
        tick(node, 0);
        assert_false(of(node, A)->named);
        node_free(node);
    }
}

TEST(who_starts_without_effect_is_not)
{
    (void)state;
    struct node *node = node_new(9, 0.03);
    run(node, 600, 0);
    for (unsigned i = A; i <= E; i++) {
        node->x[i] = 1;
        run(node, 120, 0);
    }
    run(node, 3600, 0);
    for (unsigned i = 0; i < ALL; i++) {
        assert_false(of(node, i)->named);
        assert_true((double)of(node, i)->probability < 0.2);
    }
    node_free(node);
}

/* Nobody knows which, until one of them ends and the latency with it. */
TEST(of_two_that_start_together_it_is_one)
{
    (void)state;
    struct node *node = node_new(3, 0.02);
    run(node, 600, 0);
    node->x[A] = 1;
    node->x[B] = 0.7;
    for (unsigned i = 0; i < 900; i++) {
        tick(node, 0.26);
        assert_false(anybody_else(node, ALL));
    }
    assert_int_equal(ledger_groups(&node->ledger), 1);
    assert_int_equal(node->ledger.group[0].n, 2);
    assert_int_equal(of(node, A)->group, 1);
    assert_int_equal(of(node, B)->group, 1);
    assert_true(fabs((double)node->ledger.group[0].effect_now - 0.26) < 0.08);
    node->x[A] = 0;
    run(node, 60, 0);
    assert_int_equal(ledger_groups(&node->ledger), 0);
    node->x[A] = 1;
    run(node, 60, 0.26);
    assert_true(of(node, A)->named);
    assert_false(anybody_else(node, A));
    node_free(node);
}

/* What other nodes found tells one of two that start together; it names nobody who does no harm,
 * nor keeps from a name whom the latency follows several times. */
TEST(what_others_found_is_a_beginning)
{
    (void)state;
    struct node *node = node_new(3, 0.02);
    ledger_expect(&node->ledger, A, 0.5);
    ledger_expect(&node->ledger, B, 0.01);
    ledger_expect(&node->ledger, C, 0.5);
    ledger_expect(&node->ledger, D, 0.01);
    ledger_expect(&node->ledger, E, NAN);
    assert_true(of(node, E)->elsewhere == 0);
    run(node, 600, 0);
    assert_true(of(node, A)->probability == 0); /* it has not begun */
    node->x[A] = 1;
    node->x[B] = 0.7;
    run(node, 60, 0.26);
    assert_true(of(node, A)->named);
    assert_false(anybody_else(node, A));
    node->x[A] = 0;
    run(node, 120, 0);
    node->x[C] = 1;
    for (unsigned i = 0; i < 600; i++) {
        tick(node, 0);
        assert_false(of(node, C)->named);
    }
    for (unsigned i = 0; i < 3; i++) {
        node->x[D] = 1;
        run(node, 120, 0.26);
        node->x[D] = 0;
        run(node, 120, 0);
    }
    node->x[D] = 1;
    run(node, 60, 0.26);
    assert_true(of(node, D)->named);
    node_free(node);
}

/* Memory stays as slow when the others end. One who does less, but goes on, may do as much harm. */
TEST(it_is_the_one_who_goes_on)
{
    (void)state;
    struct node *node = node_new(3, 0.02);
    run(node, 600, 0);
    node->x[A] = node->x[C] = 1;
    node->x[B] = 0.7;
    run(node, 300, 0.26);
    assert_int_equal(ledger_groups(&node->ledger), 1);
    assert_int_equal(node->ledger.group[0].n, 3);
    node->x[B] = 0;
    run(node, 60, 0.26);
    assert_int_equal(ledger_groups(&node->ledger), 1);
    assert_false(anybody_else(node, ALL));
    node->x[C] = 0.6;
    run(node, 60, 0.26);
    assert_false(anybody_else(node, ALL));
    node->x[C] = 1;
    run(node, 60, 0.26);
    node->x[C] = 0;
    run(node, 60, 0.26);
    assert_int_equal(ledger_groups(&node->ledger), 0);
    assert_true(of(node, A)->named);
    assert_false(anybody_else(node, A));
    run(node, 3600, 0.26);
    assert_true(of(node, A)->named);
    node_free(node);
}

/* However much more happens with one of them than with all: that is as sure as anybody can be. */
TEST(one_of_them_beyond_doubt)
{
    (void)state;
    struct node *node = node_new(5, 0.02);
    struct ledger *ledger = &node->ledger;
    for (unsigned times = 0; times < 2; times++) {
        const struct one_of_news much = {.alone = true, .effect = times ? 3 : 0.4, .se = 0.01};
        const struct ledger_episode episode = {.workload = A, .size = 1, .jump[0].at = 9};
        ledger->n_groups = 1;
        ledger->group[0] = (struct ledger_group){.n = 2,
                                                 .workload = {A, B},
                                                 .share = {0.5F, 0.5F},
                                                 .active = {1, 1},
                                                 .effect = 0.1F,
                                                 .made = 1};
        ledger->at[A].evidence = 0;
        one_of_learn(ledger, &episode, &much);
        assert_int_equal(ledger->n_groups, 0);
        double probability = ledger_probability(of(node, A), (double)of(node, A)->evidence);
        assert_true(probability > 0.95 && probability < 1);
        assert_true(of(node, A)->evidence <= 8);
    }
    node_free(node);
}

/* How often this node steps by itself decides what one coincidence is worth. */
TEST(steps_from_outside_are_counted)
{
    (void)state;
    struct node *calm = node_new(1, 0.02), *steps = node_new(1, 0.02);
    run(calm, 7200, 0);
    for (unsigned i = 0; i < 36; i++) {
        run(steps, 90, 0);
        run(steps, 110, 0.15);
    }
    assert_true(calm->ledger.steps_outside <= 1);
    assert_in_range(steps->ledger.steps_outside, 60, 74);
    assert_true(ledger_lambda(&steps->ledger) > 12 * ledger_lambda(&calm->ledger));
    calm->x[A] = steps->x[A] = 1;
    run(calm, 40, 0.15);
    run(steps, 40, 0.15);
    assert_true(of(calm, A)->named);
    assert_false(of(steps, A)->named);
    assert_true((double)of(steps, A)->probability < 0.95);
    node_free(calm);
    node_free(steps);
}

/* A service whose work takes longer begins to use more when somebody else makes memory slow. */
TEST(who_waits_is_no_cause)
{
    (void)state;
    struct node *node = node_new(4, 0.02);
    node->x[A] = 2;
    run(node, 900, 0);
    for (unsigned i = 0; i < 10; i++) {
        node->x[A] = 2 * 1.35;
        run(node, 120, 0.3);
        node->x[A] = 2;
        run(node, 120, 0);
    }
    assert_false(anybody_else(node, ALL));
    assert_true((double)of(node, A)->probability < 0.5);
    node_free(node);
}

/* What is outside of all containers may be the cause, and is never named. */
TEST(the_host_explains_too)
{
    (void)state;
    struct node *node = node_new(6, 0.02);
    run(node, 600, 0);
    for (unsigned i = 0; i < 4; i++) {
        node->x[LEDGER_HOST] = 1.5;
        node->x[A] = i == 2 ? 1 : 0;
        run(node, 100, 0.2);
        node->x[LEDGER_HOST] = 0.2;
        run(node, 100, 0);
        assert_false(anybody_else(node, ALL));
    }
    assert_true((double)of(node, LEDGER_HOST)->probability > 0.9);
    assert_true((double)of(node, A)->probability < 0.5);
    node_free(node);
}

/* A history outlives a restart: named at once, where it goes on. */
TEST(across_a_restart)
{
    (void)state;
    struct node *node = node_new(8, 0.02), *other = node_new(8, 0.02);
    run(node, 600, 0);
    node->x[A] = 1;
    run(node, 600, 0.26);
    uint8_t room[512], more[512];
    struct state_fields all = {.to = room, .size = sizeof room};
    struct state_fields one = {.to = more, .size = sizeof more};
    ledger_serialise(&node->ledger, &all);
    ledger_workload_serialise(&node->ledger, A, &one);
    assert_true(state_fits(&all) && state_fits(&one));
    struct state_fields from = {.from = room, .size = all.at};
    struct state_fields from_one = {.from = more, .size = one.at};
    ledger_serialise(&other->ledger, &from);
    ledger_workload_serialise(&other->ledger, A, &from_one);
    assert_true(state_fits(&from) && state_fits(&from_one));
    other->x[A] = 1;
    run(other, 2, 0.26);
    assert_true(of(other, A)->named);
    assert_true(fabs((double)of(other, A)->effect - (double)of(node, A)->effect) < 0.05);
    node_free(node);
    node_free(other);
}

/* Half of it begins, then the other: what it was before is before both. */
TEST(who_starts_in_two_steps_began_at_the_first)
{
    (void)state;
    struct node *node = node_new(17, 0.02);
    run(node, 600, 0);
    node->x[A] = 2;
    run(node, 6, 0.2);
    node->x[A] = 3;
    run(node, 600, 0.3);
    assert_true(of(node, A)->named && of(node, A)->before < 0.2F);
    assert_true(fabs((double)of(node, A)->effect / 0.3 - 1) < 0.25);
    node_free(node);
}

/* The probe was silent as it began, and the latency rose meanwhile: what came first is unknown. */
TEST(who_begins_in_a_gap_is_not_named)
{
    (void)state;
    struct node *node = node_new(9, 0.02);
    run(node, 600, 0);
    ledger_gap(&node->ledger);
    node->x[A] = 1;
    for (unsigned i = 0; i < 900; i++) {
        tick(node, 0.26);
        assert_false(anybody_else(node, ALL));
    }
    assert_int_equal(node->ledger.steps_outside, 0);
    /* Behind it all is as before. */
    node->x[B] = 1;
    run(node, 60, 0.52);
    assert_true(of(node, B)->named);
    assert_false(anybody_else(node, B));
    node_free(node);
}

TEST(worked_doubt)
{
    (void)state;
    struct ledger ledger;
    ledger_init(&ledger, 0.15, true); /* lambda is half a step an hour */
    assert_true(fabs(outside_doubt(&ledger, 0.26, 0.26) - 3.64701) < 1e-5);
    assert_true(fabs(outside_doubt(&ledger, 0.26, 0.312) - 3.14701) < 1e-5);
    assert_true(outside_doubt(&ledger, 0.26, 0.37) == 0);
    ledger.outside = 59; /* thirty: so many falls say nothing */
    assert_true(fabs(outside_doubt(&ledger, 0.26, 0.26)) < 1e-9);
}

/* It begins with a step from outside. That ends, it goes on: not named again beside another one. */
TEST(who_began_by_chance_is_cleared_when_it_ends)
{
    (void)state;
    struct node *node = node_new(10, 0.02);
    run(node, 3600, 0);
    node->x[A] = 1;
    run(node, 900, 0.2);
    assert_true(of(node, A)->named);
    run(node, 60, 0);
    assert_false(of(node, A)->named);
    run(node, 1800, 0);
    node->x[B] = 1.3;
    for (unsigned i = 0; i < 1800; i++) {
        tick(node, 0.3);
        assert_false(anybody_else(node, B));
    }
    assert_true(of(node, B)->named);
    node_free(node);
}

/* A fall that ends a rise from outside says nothing of who began between them; neither does a night
 * in which everything becomes quicker. */
TEST(who_stays_is_kept_as_the_rest_falls)
{
    (void)state;
    struct node *node = node_new(12, 0.02);
    run(node, 1800, 0);
    run(node, 300, 0.2);
    assert_true(fabs(ledger_risen(&node->ledger) - 0.2) < 0.02);
    node->x[A] = 1;
    run(node, 300, 0.42);
    run(node, 300, 0.22);
    assert_int_equal(node->ledger.steps_outside, 2);
    assert_true(fabs(ledger_risen(&node->ledger)) < 0.02); /* it has ended */
    for (unsigned i = 0; i < 7200; i++) {
        tick(node, 0.22 - 0.3 * i / 7200);
        assert_true(of(node, A)->named);
        assert_false(anybody_else(node, A));
    }
    node_free(node);
}

/* What it does is not known for a while: neither an end nor a start. */
TEST(who_is_not_read_has_not_ended)
{
    (void)state;
    struct node *node = node_new(13, 0.02);
    run(node, 600, 0);
    node->x[A] = 1;
    run(node, 120, 0.26);
    assert_true(of(node, A)->named);
    float evidence = of(node, A)->evidence;
    node->x[A] = NAN;
    ledger_lose(&node->ledger, A);
    run(node, 300, 0.26);
    assert_false(of(node, A)->named);
    assert_true(of(node, A)->effect == 0 && of(node, A)->evidence == evidence);
    node->x[A] = 1;
    run(node, 2, 0.26);
    assert_true(of(node, A)->named);
    run(node, 60, 0.26);
    assert_true(of(node, A)->evidence == evidence && of(node, A)->episodes == 1);
    node_free(node);
}

/* Who gets a number that somebody had is somebody else. */
TEST(a_number_is_used_again)
{
    (void)state;
    struct node *node = node_new(14, 0.02);
    run(node, 600, 0);
    node->x[A] = 1;
    run(node, 60, 0.26);
    assert_true(of(node, A)->named);
    ledger_forget(&node->ledger, A);
    run(node, 60, 0.26);
    assert_false(of(node, A)->named);
    assert_true(of(node, A)->probability < 0.5F && of(node, A)->agreed == 0);
    node_free(node);
}

/* More begin at once than it can hold: those that use most are looked at. */
TEST(of_a_hundred_the_largest_are_judged)
{
    enum { MANY = 100 };
    struct ledger ledger;
    uint64_t seed = 15;
    (void)state;
    ledger_init(&ledger, 0.15, true);
    assert_int_equal(ledger_reserve(&ledger, MANY), 0);
    for (unsigned t = 0; t < 700; t++) {
        for (unsigned i = LEDGER_FIRST; i < MANY; i++) /* the hog is neither first nor last */
            ledger_set(&ledger, i,
                       (t < 600   ? 0
                        : i == 50 ? 4
                                  : 0.3) *
                           (1 + 0.05 * rig_normal(&seed)));
        ledger_take(&ledger, log(150) + (t < 600 ? 0 : 0.26) + 0.02 * rig_normal(&seed));
        assert_true(ledger.n_episodes <= LEDGER_EPISODES);
    }
    assert_int_equal(ledger.at[50].episodes, 1);
    ledger_release(&ledger);
}

/* Traffic does not grow by waiting: who moves more lines when it is slow is no waiter. */
TEST(of_traffic_nobody_only_waits)
{
    (void)state;
    struct node *node = node_new(4, 0.02);
    node->ledger.waiting_grows = false;
    node->x[A] = 2;
    run(node, 900, 0);
    for (unsigned i = 0; i < 10; i++) {
        node->x[A] = 2 * 1.35;
        run(node, 120, 0.3);
        node->x[A] = 2;
        run(node, 120, 0);
    }
    assert_true((double)of(node, A)->probability > 0.95);
    node_free(node);
}

/* In another unit everything goes on, what is told of others too. */
TEST(in_another_unit)
{
    (void)state;
    struct node *node = node_new(16, 0.02);
    run(node, 600, 0);
    node->x[A] = 1;
    run(node, 120, 0.26);
    ledger_tell_nobody(&node->ledger);
    ledger_tell(&node->ledger, A, (double)of(node, A)->slope_now, (double)of(node, A)->before);
    double before = ledger_unexplained(&node->ledger, node->ledger.readings, LEDGER_HOST);
    double raw = (double)node->ledger.y[node->ledger.readings % ONSET_WINDOW];
    assert_true(raw - before > 0.2);
    ledger_rescale(&node->ledger, 3);
    double after = ledger_unexplained(&node->ledger, node->ledger.readings, LEDGER_HOST);
    assert_true(fabs(after - before) < 0.005);
    for (unsigned i = 0; i < ALL; i++)
        node->x[i] *= 3;
    for (unsigned i = 0; i < 300; i++) {
        for (unsigned k = 0; k < ALL; k++)
            if (!isnan(node->x[k]))
                ledger_set(&node->ledger, k, fmax(0, node->x[k] * jitter(node)));
        ledger_take(&node->ledger, log(150) + 0.26 + node->noise * rig_normal(&node->seed));
        assert_true(of(node, A)->named);
        assert_true(fabs((double)of(node, A)->effect / 0.26 - 1) < 0.4);
    }
    assert_int_equal(of(node, A)->episodes, 1);
    node_free(node);
}

/* Random jumps of everybody, latencies of any size: numbers stay numbers, and within bounds. */
TEST(anything)
{
    (void)state;
    struct node *node = node_new(77, 0.02);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned who = (unsigned)(rig_uniform(&node->seed) * ALL);
        if (rig_uniform(&node->seed) < 0.3)
            node->x[who] = rig_uniform(&node->seed) < 0.5
                               ? 0
                               : exp(12 * rig_normal(&node->seed) * rig_uniform(&node->seed));
        if (rig_uniform(&node->seed) < 0.001)
            ledger_forget(&node->ledger, who);
        if (rig_uniform(&node->seed) < 0.001)
            ledger_lose(&node->ledger, who);
        if (rig_uniform(&node->seed) < 0.001)
            ledger_gap(&node->ledger);
        if (rig_uniform(&node->seed) < 0.001)
            ledger_rescale(&node->ledger, 0.5 + rig_uniform(&node->seed));
        tick(node,
             rig_uniform(&node->seed) < 0.01 ? 20 * rig_normal(&node->seed) : 0.2 * (i / 50 % 2));
        for (unsigned k = 0; k < ALL; k++) {
            const struct ledger_workload *w = of(node, k);
            assert_true(w->probability >= 0 && w->probability <= 1);
            assert_true(isfinite(w->effect) && w->effect >= 0);
            assert_true(w->group <= node->ledger.n_groups);
        }
        assert_true(isfinite(node->ledger.sigma) && node->ledger.n_episodes <= LEDGER_EPISODES);
    }
    node_free(node);
}
