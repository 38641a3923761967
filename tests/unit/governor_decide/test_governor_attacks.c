/*
 * What a tenant may try to keep its CPU, or to take that of others: six hours each. The table of
 * deploy/governor.md says what holds.
 */
#include "tests/unit/support/governor_hours.h"
#include "tests/unit/support/unit.h"

#define NORMAL 100.0 /* ns; theta is 125 */

static const struct hours_model line = {.normal = NORMAL, .noise = 0.02};

static double sum(const double *cores, size_t from, size_t n)
{
    double all = 0;
    for (size_t i = from; i < from + n; i++)
        all += cores[i];
    return all;
}

/* ---- escape ---- */

/* All cores together reach theta at 'a'. */
static double by_all(const struct hours_model *model, size_t victim, const double *cores,
                     double seconds)
{
    return NORMAL * (1 + 0.25 * sum(cores, 0, model->n_tenants) / model->a);
}

/* One Job of 12 cores, or 12 of one: both come to what the node can bear. */
TEST(who_splits_does_not_escape)
{
    for (size_t n = 1; n <= 12; n += 11) {
        struct hours_model model = line;
        model.latency = by_all;
        model.base = 0.2;
        model.step = 0.1;
        model.a = 6;
        model.n_tenants = n;
        for (size_t i = 0; i < n; i++)
            model.tenants[i].cores = 12.0 / (double)n;
        struct hours_result result = hours_run(&model);
        assert_true(sum(result.cores, 0, n) < 6);
        assert_true(sum(result.cores, 0, n) > 0.6 * 6);
        assert_true(result.over[0] < 0.015);
    }
}

/* Twelve replicas of one Job beside somebody who reads a tenth of what they do together: the
 * replicas pay. */
TEST(replicas_do_not_hide_behind_each_other)
{
    struct hours_model model = line;
    static char pods[12][24];
    model.latency = by_all;
    model.base = 0.2;
    model.step = 0.1;
    model.a = 6;
    model.n_tenants = 13;
    for (int i = 0; i < 12; i++) {
        snprintf(pods[i], sizeof pods[i], "etl-%d-bcdf%c", i, "bcdfghjklmnp"[i]);
        model.tenants[i] = (struct hours_tenant){.pod = pods[i], .cores = 1};
    }
    model.tenants[12] = (struct hours_tenant){.cores = 1, .reads = 1.2e6};
    struct hours_result result = hours_run(&model);
    assert_true(sum(result.cores, 0, 12) < 6);
    assert_true(result.cores[12] > 0.9);
    assert_true(result.over[0] < 0.01);
}

/* Each minute one job of another name ends, and the next begins. */
static double turn_of(const struct hours_model *model, double seconds, size_t i)
{
    return (size_t)(seconds / 60) % model->n_tenants == i ? 4 : 0;
}
#define TURN(i)                                                                                    \
    static double turn_##i(const struct hours_model *model, double seconds)                        \
    {                                                                                              \
        return turn_of(model, seconds, i);                                                         \
    }
TURN(0)
TURN(1)
TURN(2)
TURN(3)

TEST(who_takes_turns_is_known_again)
{
    static double (*const turns[])(const struct hours_model *, double) = {turn_0, turn_1, turn_2,
                                                                          turn_3};
    struct hours_model model = line;
    model.latency = by_all;
    model.a = 2.5;
    model.n_tenants = 4;
    for (size_t i = 0; i < 4; i++)
        model.tenants[i] = (struct hours_tenant){.cores = 4, .demand = turns[i]};
    struct hours_result result = hours_run(&model);
    assert_true(sum(result.cores, 0, 4) < 2.5);
    assert_true(result.over[0] < 0.03);
}

static double five(const struct hours_model *model, double seconds)
{
    return 5;
}

/* It has no limit, so all of the node, of which it uses a third. */
TEST(who_has_no_limit_does_not_escape)
{
    struct hours_model model = line;
    model.latency = by_all;
    model.a = 2.5;
    model.n_tenants = 1;
    model.tenants[0] = (struct hours_tenant){.cores = 16, .demand = five};
    struct hours_result result = hours_run(&model);
    assert_true(result.cores[0] < 2.5);
    assert_true(result.cores[0] > 0.6 * 2.5);
    assert_true(result.over[0] < 0.01);
}

/* ---- making others pay ---- */

static double own_pain(const struct hours_model *model, size_t victim, const double *cores,
                       double seconds)
{
    return victim == 0 ? model->a : NORMAL;
}

/* A protected container that makes itself wait, always or for half of each minute, costs best
 * effort next to nothing. */
static double half_of_each_minute(const struct hours_model *model, size_t victim,
                                  const double *cores, double seconds)
{
    return victim == 0 && fmod(seconds, 60) < 30 ? model->a : NORMAL;
}

TEST(nobody_punishes_others_by_its_own_pain)
{
    static double (*const pains[])(const struct hours_model *, size_t, const double *,
                                   double) = {own_pain, half_of_each_minute};
    for (size_t i = 0; i < 2; i++) {
        struct hours_model model = line;
        model.latency = pains[i];
        model.a = 160;
        model.n_victims = 2;
        model.n_tenants = 2;
        model.tenants[0].cores = model.tenants[1].cores = 4;
        struct hours_result result = hours_run(&model);
        assert_true(result.cores[0] > 0.9 * 4);
        assert_true(result.cores[1] > 0.9 * 4);
        assert_true(result.futile > 0);
    }
}

/* Only tenant 0 hurts. */
static double by_the_first(const struct hours_model *model, size_t victim, const double *cores,
                           double seconds)
{
    return NORMAL * (1 + 0.25 * cores[0] / model->a);
}

/* Attribution is led to name an innocent, and him alone: cutting him does not help, so he is given
 * back, and whoever reads is looked at next. */
TEST(who_is_framed_gets_it_back)
{
    struct hours_model model = line;
    model.latency = by_the_first;
    model.a = 2.5;
    model.n_tenants = 2;
    model.tenants[0] = (struct hours_tenant){.cores = 4};
    model.tenants[1] = (struct hours_tenant){.cores = 4, .named = 20};
    struct hours_result result = hours_run(&model);
    assert_true(result.cores[1] > 0.9 * 4);
    assert_true(result.cores[0] < 2.5);
    assert_true(result.futile > 0);
}

/* The same by reads: who hurts by stores reads next to nothing. The innocent reader keeps its CPU,
 * and
 * then it is the turn of whoever is left. */
TEST(who_only_reads_much_gets_it_back)
{
    struct hours_model model = line;
    model.latency = by_the_first;
    model.a = 2.5;
    model.n_tenants = 2;
    model.tenants[0] = (struct hours_tenant){.cores = 4, .reads = 2e4};
    model.tenants[1] = (struct hours_tenant){.cores = 4};
    struct hours_result result = hours_run(&model);
    assert_true(result.cores[1] > 0.9 * 4);
}
