/*
 * Six hours of a node, a second at a time, under the governor's defaults: what best effort gets of
 * what it could have had, and how often a protected container waited. The table of these nodes is
 * in
 * tests/simnode/RESULTS-control.md.
 */
#include "tests/unit/support/governor_hours_nodes.h"
#include "tests/unit/support/unit.h"

enum { LINES = 4 }; /* nodes that come first: of these with other noise, too */

static struct hours_result held_at_base(const struct hours_model *model)
{
    struct hours_model held = *model;
    held.held = model->base > 0 ? model->base : 1;
    return hours_run(&held);
}

static void expect(const struct hours_node *node, uint64_t seed)
{
    struct hours_model model = node->model;
    model.seed = seed;
    struct hours_result base = held_at_base(&model), result = hours_run(&model);
    if (result.cores[0] < node->asked || result.over[0] > base.over[0] + node->over ||
        result.truly_over[0] > base.truly_over[0] + node->over || result.over_limit)
        fail_msg("%s, seed %d: %.3f cores, %.2f %% over (%.2f in truth; %.2f at base)", node->name,
                 (int)seed, result.cores[0], 100 * result.over[0], 100 * result.truly_over[0],
                 100 * base.over[0]);
}

TEST(best_effort_gets_what_the_node_bears)
{
    for (size_t i = 0; i < hours_nodes_n; i++)
        for (uint64_t seed = 0; seed < (i < LINES ? 3 : 1); seed++)
            expect(&hours_nodes[i], seed);
}

/* A1: it is not given up although it is over theta at its base. */
TEST(who_is_better_off_is_not_given_up)
{
    for (size_t i = 0; i < hours_nodes_n; i++) {
        const struct hours_model *model = &hours_nodes[i].model;
        if (model->base > 0)
            assert_true(hours_run(model).latency[0] < 1.02 * held_at_base(model).latency[0]);
    }
}

/* What the paper's algorithm does with the same: its own sawtooth is no flapping. */
TEST(the_paper_cuts_again_and_again)
{
    struct hours_model model = hours_nodes[1].model;
    model.keys = ",\"mode\":\"paper\"";
    struct hours_result result = hours_run(&model);
    assert_true(result.over[0] > 0.1);
    assert_true(result.cores[0] > 1.5);
    assert_true(result.cuts > 1000);
}

/* One victim is itself to blame, and the other one is not: it decides. */
static double one_of_each(const struct hours_model *model, size_t victim, const double *cores,
                          double seconds)
{
    const struct hours_model own = {.a = 0.75};
    return victim == 0 ? hours_line(model, victim, cores, seconds)
                       : hours_moody(&own, 0, cores, seconds);
}

TEST(each_victim_is_asked_by_itself)
{
    struct hours_model model = hours_nodes[1].model;
    model.latency = one_of_each;
    model.n_victims = 2;
    struct hours_result result = hours_run(&model);
    assert_true(result.cores[0] >= 1.4);
    assert_true(result.over[0] < 0.01);
}

/* Observing changes no latency: nothing is futile, and nothing is written. */
TEST(a_dry_run_gives_nothing_up)
{
    struct hours_model model = hours_nodes[hours_nodes_n - 4].model;
    model.dry = true;
    struct hours_result result = hours_run(&model);
    assert_true(result.over[0] > 0.9);
    assert_int_equal(result.futile, 0);
    assert_float_equal(result.cores[0], 6, 0);
    assert_true(result.cuts > 0 && result.cuts < 10);
}

/* Nobody waits: nothing is taken, at no start. */
TEST(who_hurts_nobody_keeps_everything)
{
    assert_int_equal(hours_run(&hours_nodes[hours_nodes_n - 1].model).cuts, 0);
}
