/*
 * Who is named on synthetic nodes whose truth is known (ATTRIBUTION.md section 3), by fixed seeds.
 * The bounds are loose ones of its table.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/support/attribution_rig.h"
#include "tests/unit/support/unit.h"

enum { RUNS = 5, SECONDS = 900 };

static struct synthetic_tally runs(const struct synthetic_node *like)
{
    struct synthetic_tally tally = {0};
    for (unsigned run = 1; run <= RUNS; run++) {
        struct attribution_rig *rig = attribution_rig_new(NULL);
        struct synthetic_node node = *like;
        node.seed = run * 7919;
        synthetic_run(rig, &node, SECONDS, &tally);
        free(rig);
    }
    print_message("wrong in %u of %u ticks", tally.wrong, tally.ticks);
    if (tally.hurting > 0)
        print_message("; named %.3f of hurting ones, with groups %.3f, top %.3f",
                      (double)tally.named / tally.hurting, (double)tally.grouped / tally.hurting,
                      (double)tally.top / tally.hurting);
    if (tally.true_ns > 0)
        print_message("; caused/true %.2f", tally.caused_ns / tally.true_ns);
    print_message("\n");
    return tally;
}

static void nobody_is_named_where_nobody_hurts(void **state)
{
    (void)state;
    struct synthetic_node quiet = {.containers = 50, .noise = 0.03};
    assert_int_equal(runs(&quiet).wrong, 0);
    quiet.noise = 0.1;
    assert_int_equal(runs(&quiet).wrong, 0);
    /* More than there are slots. */
    struct synthetic_node many = {.containers = 250, .noise = 0.03};
    assert_int_equal(runs(&many).wrong, 0);
}

static void one_hog_is_named(void **state)
{
    (void)state;
    struct synthetic_node node = {.containers = 50, .noise = 0.03, .hogs = 1, .effect = 0.14};
    struct synthetic_tally t = runs(&node);
    assert_true(t.hurting > 1000);
    assert_true(t.named > 0.8 * t.hurting);
    assert_true(t.top > 0.9 * t.hurting);
    assert_int_equal(t.wrong, 0);
    assert_true(t.caused_ns > 0.85 * t.true_ns && t.caused_ns < 1.15 * t.true_ns);
}

static void two_hogs_are_named(void **state)
{
    (void)state;
    struct synthetic_node node = {.containers = 50, .noise = 0.03, .hogs = 2, .effect = 0.18};
    struct synthetic_tally t = runs(&node);
    assert_true(t.named > 0.8 * t.hurting);
    assert_int_equal(t.wrong, 0);
    assert_true(t.caused_ns > 0.85 * t.true_ns && t.caused_ns < 1.15 * t.true_ns);
}

static void compute_that_runs_beside_a_hog_is_not_named(void **state)
{
    (void)state;
    struct synthetic_node node = {
        .containers = 50, .noise = 0.03, .hogs = 1, .effect = 0.14, .decoys = 1};
    struct synthetic_tally t = runs(&node);
    assert_true(t.grouped > 0.7 * t.hurting);
    assert_int_equal(t.wrong, 0);
}

static void a_pair_that_is_always_together_is_found_as_a_group(void **state)
{
    (void)state;
    struct synthetic_node node = {
        .containers = 50, .noise = 0.03, .hogs = 2, .effect = 0.14, .together = true};
    struct synthetic_tally t = runs(&node);
    assert_true(t.grouped > 0.8 * t.hurting);
    assert_int_equal(t.wrong, 0);
}

static void who_is_always_on_cannot_be_known(void **state)
{
    (void)state;
    struct synthetic_node node = {
        .containers = 50, .noise = 0.03, .hogs = 1, .effect = 0.14, .always_on = true};
    struct synthetic_tally t = runs(&node);
    assert_true(t.hurting == t.ticks);
    assert_true(t.named < 0.1 * t.hurting);
    assert_int_equal(t.wrong, 0);
}

static void steps_from_outside_are_nobodys(void **state)
{
    (void)state;
    struct synthetic_node node = {.containers = 50, .noise = 0.03, .steps = 180};
    struct synthetic_tally t = runs(&node);
    assert_true(t.wrong < 0.02 * t.ticks);
    node = (struct synthetic_node){
        .containers = 50, .noise = 0.03, .steps = 180, .hogs = 1, .effect = 0.14};
    t = runs(&node);
    assert_true(t.named > 0.5 * t.hurting);
    assert_true(t.wrong < 0.02 * t.ticks);
}

/* Beside a neighbour whom nobody sees; and beside a hog that all of them wait for. */
static void those_who_wait_are_not_named(void **state)
{
    (void)state;
    struct synthetic_node node = {.containers = 8, .waiters = 8, .noise = 0.03, .steps = 45};
    assert_int_equal(runs(&node).wrong, 0);
    node.load_varies = 0.1;
    assert_int_equal(runs(&node).wrong, 0);
    node.containers = node.waiters = 3;
    assert_int_equal(runs(&node).wrong, 0);
    node = (struct synthetic_node){
        .containers = 9, .waiters = 8, .noise = 0.03, .hogs = 1, .effect = 0.3};
    struct synthetic_tally t = runs(&node);
    assert_int_equal(t.wrong, 0);
    assert_true(t.grouped > 0.8 * t.hurting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_named_where_nobody_hurts),
        cmocka_unit_test(one_hog_is_named),
        cmocka_unit_test(two_hogs_are_named),
        cmocka_unit_test(compute_that_runs_beside_a_hog_is_not_named),
        cmocka_unit_test(a_pair_that_is_always_together_is_found_as_a_group),
        cmocka_unit_test(who_is_always_on_cannot_be_known),
        cmocka_unit_test(steps_from_outside_are_nobodys),
        cmocka_unit_test(those_who_wait_are_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
