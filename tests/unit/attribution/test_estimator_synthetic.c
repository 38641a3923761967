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

TEST(nobody_is_named_where_nobody_hurts)
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

TEST(one_hog_is_named)
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

TEST(two_hogs_are_named)
{
    (void)state;
    struct synthetic_node node = {.containers = 50, .noise = 0.03, .hogs = 2, .effect = 0.18};
    struct synthetic_tally t = runs(&node);
    assert_true(t.named > 0.8 * t.hurting);
    assert_int_equal(t.wrong, 0);
    assert_true(t.caused_ns > 0.85 * t.true_ns && t.caused_ns < 1.15 * t.true_ns);
}

TEST(compute_that_runs_beside_a_hog_is_not_named)
{
    (void)state;
    struct synthetic_node node = {
        .containers = 50, .noise = 0.03, .hogs = 1, .effect = 0.14, .decoys = 1};
    struct synthetic_tally t = runs(&node);
    assert_true(t.grouped > 0.7 * t.hurting);
    assert_int_equal(t.wrong, 0);
}

TEST(a_pair_that_is_always_together_is_found_as_a_group)
{
    (void)state;
    struct synthetic_node node = {
        .containers = 50, .noise = 0.03, .hogs = 2, .effect = 0.14, .together = true};
    struct synthetic_tally t = runs(&node);
    assert_true(t.grouped > 0.8 * t.hurting);
    assert_int_equal(t.wrong, 0);
}

TEST(who_is_always_on_cannot_be_known)
{
    (void)state;
    struct synthetic_node node = {
        .containers = 50, .noise = 0.03, .hogs = 1, .effect = 0.14, .always_on = true};
    struct synthetic_tally t = runs(&node);
    assert_true(t.hurting == t.ticks);
    assert_true(t.named < 0.1 * t.hurting);
    assert_int_equal(t.wrong, 0);
}

TEST(steps_from_outside_are_nobodys)
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
TEST(those_who_wait_are_not_named)
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
