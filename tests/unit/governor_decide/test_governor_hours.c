/*
 * Six hours of a node, a second at a time, under the governor's defaults: what best effort gets of
 * what it could have had, and how often a protected container waited.
 *
 * HOURS_TABLE=1 prints the rows of tests/simnode/RESULTS-control.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/support/governor_hours.h"

#define NORMAL 100.0 /* ns; theta is 125 */
#define PAPER ",\"mode\":\"paper\""

static bool table;

static void tell(const char *node, const char *mode, double could, const struct hours_result *r,
                 double base_ns)
{
    if (table)
        printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.1f | %.1f | %u |\n", node, mode, could,
               r->cores[0], 100 * r->over[0], 100 * r->truly_over[0], r->latency[0], base_ns,
               r->cuts);
}

static struct hours_result held_at(const struct hours_model *model, double cores)
{
    struct hours_model held = *model;
    held.held = cores;
    return hours_run(&held);
}

/* ---- lines ---- */

/* It reaches theta at 'a' cores. */
static double line(const struct hours_model *model, size_t victim, const double *cores,
                   double seconds)
{
    (void)victim;
    (void)seconds;
    return NORMAL * (1 + 0.25 * cores[0] / model->a);
}

static struct hours_model line_to(double could, double noise)
{
    return (struct hours_model){.normal = NORMAL,
                                .noise = noise,
                                .latency = line,
                                .a = could,
                                .n_tenants = 1,
                                .tenants = {{.cores = 6}}};
}

/* With a noise of 3 %. */
static void what_was_calm_is_found_again(void **state)
{
    (void)state;
    static const struct {
        double could, asked;
    } lines[] = {{5.0, 3.0}, {3.1, 1.9}, {2.5, 1.5}, {1.7, 1.0}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct hours_model model = line_to(lines[i].could, 0.03);
            model.seed = seed;
            struct hours_result base = held_at(&model, 1), result = hours_run(&model);
            if (seed == 0)
                tell("a line, noise 3 %", "safe", lines[i].could, &result, base.latency[0]);
            assert_true(result.cores[0] >= lines[i].asked);
            assert_true(result.over[0] < 0.01);
            assert_true(result.truly_over[0] < 0.01);
            assert_int_equal(result.over_limit, 0);
        }
}

static void without_noise_more_is_found(void **state)
{
    (void)state;
    struct hours_model model = line_to(2.6, 0);
    struct hours_result result = hours_run(&model);
    tell("a line, no noise", "safe", 2.6, &result, held_at(&model, 1).latency[0]);
    assert_true(result.cores[0] > 0.93 * 2.6);
    assert_true(result.over[0] < 0.01);
    assert_true(result.cuts < 40);
}

/* What the paper's algorithm does with the same: for the table, and to see that it differs. */
static void the_paper_cuts_again_and_again(void **state)
{
    (void)state;
    struct hours_model model = line_to(3.1, 0.03);
    model.keys = PAPER;
    struct hours_result result = hours_run(&model);
    tell("a line, noise 3 %", "paper", 3.1, &result, held_at(&model, 1).latency[0]);
    assert_true(result.over[0] > 0.1);
    assert_true(result.cores[0] > 1.5); /* its own sawtooth is no flapping */
}

/* ---- other shapes ---- */

/* Half of what it may become is there at 1.4 cores; theta at 2.5. */
static double saturating(const struct hours_model *model, size_t victim, const double *cores,
                         double seconds)
{
    (void)victim;
    (void)seconds;
    return NORMAL * (1 + model->a * (1 - exp(-cores[0] / 2)));
}

static void a_node_that_saturates(void **state)
{
    (void)state;
    struct hours_model model = line_to(0, 0.015);
    model.latency = saturating;
    model.a = 0.35;
    struct hours_result result = hours_run(&model), base = held_at(&model, 1);
    tell("saturating, noise 1.5 %", "safe", 2.5, &result, base.latency[0]);
    assert_true(result.cores[0] >= 0.6 * 2.5);
    assert_true(result.over[0] < 0.01 + base.over[0]);
}

/* Somebody else, whom nobody may hold, is there for 10 of 30 minutes, and costs 12 %. */
static double visits(const struct hours_model *model, double seconds)
{
    (void)model;
    return fmod(seconds, 1800) < 600 ? 1 : 0;
}

static double visited(const struct hours_model *model, size_t victim, const double *cores,
                      double seconds)
{
    return line(model, victim, cores, seconds) + 12 * cores[1];
}

static void a_second_tenant_comes_and_goes(void **state)
{
    (void)state;
    struct hours_model model = line_to(5, 0.015);
    model.latency = visited;
    model.n_tenants = 2;
    model.tenants[1] = (struct hours_tenant){.cores = 1, .demand = visits, .unheld = true};
    struct hours_result result = hours_run(&model), base = held_at(&model, 1);
    double could = 2.6 / 3 + 5 * 2 / 3.0;
    tell("a visitor, 10 of 30 minutes, noise 1.5 %", "safe", could, &result, base.latency[0]);
    assert_true(result.cores[0] >= 0.6 * could);
    assert_true(result.over[0] < 0.015); /* each time he comes a few seconds are over */
}

/* By day the node itself is slower by 12 %: six hours are one day. */
static double day(const struct hours_model *model, size_t victim, const double *cores,
                  double seconds)
{
    double hour = 2 * 3.14159265358979323846 * seconds / HOURS_SECONDS;
    return line(model, victim, cores, seconds) * (1 + 0.06 * (1 - cos(hour)));
}

static void day_and_night(void **state)
{
    (void)state;
    struct hours_model model = line_to(5, 0.015);
    double could = 0;
    model.latency = day;
    for (int t = 0; t < HOURS_SECONDS; t++) /* where it reaches theta */
        could += fmin(5 * (125 / day(&model, 0, (double[]){0}, t) - 1) / 0.25, 6) / HOURS_SECONDS;
    struct hours_result result = hours_run(&model), base = held_at(&model, 1);
    tell("day and night, noise 1.5 %", "safe", could, &result, base.latency[0]);
    assert_true(result.cores[0] >= 0.6 * could);
    assert_true(result.over[0] < 0.01 + base.over[0]);
}

/* ---- what cutting does and does not do ---- */

/* CONTROL A1: over theta at base, and far worse without. */
static double steep(const struct hours_model *model, size_t victim, const double *cores,
                    double seconds)
{
    (void)victim;
    (void)seconds;
    return 120 + model->a * cores[0];
}

static void who_is_better_off_is_not_given_up(void **state)
{
    (void)state;
    static const double slopes[] = {100, 26, 24};
    for (size_t i = 0; i < 3; i++)
        for (int noisy = 0; noisy < 2; noisy++) {
            struct hours_model model = {.normal = NORMAL,
                                        .noise = noisy ? 0.03 : 0,
                                        .base = 0.1,
                                        .step = 0.1,
                                        .latency = steep,
                                        .a = slopes[i],
                                        .n_tenants = 1,
                                        .tenants = {{.cores = 1}}};
            struct hours_result result = hours_run(&model), base = held_at(&model, 0.1);
            char name[48];
            snprintf(name, sizeof name, "120 + %g q ns%s", slopes[i], noisy ? ", noise 3 %" : "");
            tell(name, "safe", 0.05, &result, base.latency[0]);
            assert_true(result.latency[0] <= 1.02 * base.latency[0]);
        }
}

/* Over theta in 75 of 100 windows by its own doing. */
static double moody(const struct hours_model *model, size_t victim, const double *cores,
                    double seconds)
{
    (void)cores;
    if (victim == 1)
        return NORMAL;
    uint64_t n = (uint64_t)seconds * UINT64_C(0x9e3779b97f4a7c15);
    n ^= n >> 29;
    n *= UINT64_C(0xbf58476d1ce4e5b9);
    n ^= n >> 32;
    return (double)(n % 1000) < 1000 * model->a ? 140 : 100;
}

static double always(const struct hours_model *model, size_t victim, const double *cores,
                     double seconds)
{
    (void)victim;
    (void)cores;
    (void)seconds;
    return model->a;
}

static void nobody_pays_for_what_cutting_does_not_change(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double (*latency)(const struct hours_model *, size_t, const double *, double);
        double a, share;
    } nodes[] = {{"always 140 ns, whatever is cut", always, 140, 0.97},
                 {"140 ns in 75 % of seconds, whatever is cut", moody, 0.75, 0.95},
                 {"140 ns in 30 % of seconds, whatever is cut", moody, 0.3, 0.9}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct hours_model model = line_to(nodes[i].a, 0.03);
            model.latency = nodes[i].latency;
            model.seed = seed;
            struct hours_result result = hours_run(&model);
            if (seed == 0)
                tell(nodes[i].name, "safe", 6, &result, held_at(&model, 1).latency[0]);
            assert_true(result.cores[0] >= nodes[i].share * 6);
            assert_true(result.futile > 0);
        }
}

/* One victim is itself to blame, and the other one is not: it decides. */
static double one_of_each(const struct hours_model *model, size_t victim, const double *cores,
                          double seconds)
{
    const struct hours_model own = {.a = 0.75};
    return victim == 0 ? line(model, victim, cores, seconds) : moody(&own, 0, cores, seconds);
}

static void each_victim_is_asked_by_itself(void **state)
{
    (void)state;
    struct hours_model model = line_to(3.1, 0.03);
    model.latency = one_of_each;
    model.n_victims = 2;
    struct hours_result result = hours_run(&model);
    tell("a line, and one who waits for himself", "safe", 3.1, &result,
         held_at(&model, 1).latency[0]);
    assert_true(result.cores[0] >= 1.4);
    assert_true(result.over[0] < 0.01);
}

/* Observing changes no latency: nothing is futile, and nothing is written. */
static void a_dry_run_gives_nothing_up(void **state)
{
    (void)state;
    struct hours_model model = line_to(140, 0);
    model.latency = always;
    model.dry = true;
    struct hours_result result = hours_run(&model);
    assert_int_equal(result.futile, 0);
    assert_float_equal(result.cores[0], 6, 0);
    assert_true(result.cuts > 0 && result.cuts < 10);
}

/* Nobody waits: nothing is taken, at no start. */
static void who_hurts_nobody_keeps_everything(void **state)
{
    (void)state;
    struct hours_model model = line_to(100, 0.03);
    struct hours_result result = hours_run(&model);
    assert_int_equal(result.cuts, 0);
    assert_float_equal(result.cores[0], 6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_calm_is_found_again),
        cmocka_unit_test(without_noise_more_is_found),
        cmocka_unit_test(the_paper_cuts_again_and_again),
        cmocka_unit_test(a_node_that_saturates),
        cmocka_unit_test(a_second_tenant_comes_and_goes),
        cmocka_unit_test(day_and_night),
        cmocka_unit_test(who_is_better_off_is_not_given_up),
        cmocka_unit_test(nobody_pays_for_what_cutting_does_not_change),
        cmocka_unit_test(each_victim_is_asked_by_itself),
        cmocka_unit_test(a_dry_run_gives_nothing_up),
        cmocka_unit_test(who_hurts_nobody_keeps_everything),
    };
    table = getenv("HOURS_TABLE") != NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
