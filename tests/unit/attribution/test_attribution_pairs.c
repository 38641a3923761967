/* Who makes whom wait: by hand-worked numbers, through the collector's counter and page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/lane.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/waits_rig.h"

static int setup_with(void **state, const char *flag)
{
    interference_setup_with(state, flag, 0);
    struct rig *rig = *state;
    assert_int_equal(read_latencies_reserve(&rig->facts.reads, RIG_CONTAINERS), 0);
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, "--collector.attribution.traffic");
}

static int plain_setup(void **state)
{
    return setup_with(state, NULL);
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    read_latencies_release(&rig->facts.reads);
    return rig_teardown(state);
}

/* Three that always do the same, and one that goes on and off. */
static void second_beside(struct rig *rig, double on, double more)
{
    waits_use_all(rig, on);
    waits_burst(rig, 1e8 + 1e8 * on + more);
    waits_tick(rig);
}

static void second(struct rig *rig, double on)
{
    second_beside(rig, on, 0);
}

/* Until all traffic together moves the latency for certain, and a little longer; the last tick is
 * one without the teacher. */
static void learn(struct rig *rig)
{
    waits_containers(rig);
    for (int i = 0; i < 120; i++)
        second(rig, interference_square(rig->tick.number, 6, 7, 0));
    for (int i = 0; i < 7; i++)
        second(rig, 0);
}

static void worked_second(struct rig *rig)
{
    waits_for_worked(rig);
    second(rig, 0);
}

static double sum(struct rig *rig)
{
    double sum = 0;
    for (size_t i = 0; i < rig->n_containers; i++) {
        double value = waits_counter(rig, rig->containers[i].key);
        sum += isnan(value) ? 0 : value;
    }
    return sum;
}

/* ---- the page ---- */

static const char *party(const json_t *pair, const char *who)
{
    return json_string_value(json_object_get(json_object_get(pair, who), "container"));
}

/* Of the page, or NULL. */
static const json_t *pair_of(const json_t *domain, const char *aggressor, const char *victim)
{
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(domain, "pairs"), i, pair)
    {
        if (strcmp(party(pair, "aggressor"), aggressor) == 0 &&
            strcmp(party(pair, "victim"), victim) == 0)
            return pair;
    }
    return NULL;
}

static double page_sum(const json_t *domain)
{
    double all = 0;
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(domain, "pairs"), i, pair) all +=
        interference_number(pair, "wait_seconds");
    return all;
}

static void expect_why(struct rig *rig, const char *words)
{
    json_t *root, *domain = interference_page(rig, 0, &root);
    const json_t *waits = json_object_get(domain, "waits");
    const char *why = json_string_value(json_object_get(waits, "why"));
    if (!why || !strstr(why, words))
        fail_msg("%s instead of ... %s ...", why ? why : "no reason", words);
    assert_int_equal(json_array_size(json_object_get(domain, "pairs")), 0);
    json_decref(root);
}

/* ---- tests ---- */

/* By chance the slope can be significant after a few readings. */
TEST_ON(nothing_while_learning, struct rig *rig, setup, teardown)
{
    waits_containers(rig);
    unsigned significant = 0;
    for (int i = 0; i < 60; i++) {
        waits_for(rig, "two", 2e6, 30);
        second(rig, interference_square(rig->tick.number, 6, 7, 0));
        significant += pooled_slope(waits_node(rig)->pooled) > 0;
        assert_true(isnan(waits_counter(rig, "one")));
    }
    assert_true(significant > 0);
    expect_why(rig, "not clearly enough yet");
}

/* ATTRIBUTION.md section 6: weights 6, 3, 1; 1, 2, 4 million reads; 0, 30, 50 ns. */
TEST_ON(the_worked_numbers, struct rig *rig, setup, teardown)
{
    static const double want[] = {0.1847619, 0.0666667, 0.0085714};
    learn(rig);
    for (int i = 0; i < 3; i++)
        assert_true(waits_counter(rig, worked_name[i]) == 0);
    worked_second(rig);
    for (int i = 0; i < 3; i++)
        near(waits_counter(rig, worked_name[i]), want[i], 1e-5);
    assert_true(waits_counter(rig, "teacher") == 0); /* no traffic in this tick */
    near(sum(rig), 0.26, 1e-12);
    worked_second(rig);
    near(sum(rig), 0.52, 1e-12);
    second(rig, 0); /* nobody has a window */
    near(sum(rig), 0.52, 1e-12);
}

TEST_ON(the_page_has_the_pairs_and_they_add_up, struct rig *rig, setup, teardown)
{
    learn(rig);
    worked_second(rig);
    json_t *root, *domain = interference_page(rig, 0, &root);
    const json_t *waits = json_object_get(domain, "waits");
    assert_int_equal(json_array_size(json_object_get(domain, "pairs")), 4);
    near(interference_number(pair_of(domain, "one", "two"), "caused_ns"), 30 * 6 / 7., 1e-9);
    near(interference_number(pair_of(domain, "three", "two"), "caused_ns"), 30 / 7., 1e-9);
    near(interference_number(pair_of(domain, "one", "three"), "caused_ns"), 50 * 6 / 9., 1e-9);
    near(interference_number(pair_of(domain, "two", "three"), "caused_ns"), 50 * 3 / 9., 1e-9);
    const json_t *first = json_array_get(json_object_get(domain, "pairs"), 0);
    assert_ptr_equal(first, pair_of(domain, "one", "three")); /* the longest wait */
    near(interference_number(first, "wait_seconds"), 4e6 * 50e-9 * 6 / 9, 1e-9);
    near(page_sum(domain), 2e6 * 30e-9 + 4e6 * 50e-9, 1e-12);
    near(interference_number(waits, "wait_seconds"), 0.26, 1e-12);
    near(sum(rig), 0.26, 1e-12);
    assert_true(json_is_null(json_object_get(waits, "why")));
    assert_int_equal(interference_number(waits, "victims"), 3);
    json_decref(root);
}

/* Nothing is said before, and then from 0 on. */
TEST_ON(nothing_before_the_slope_is_known, struct rig *rig, setup, teardown)
{
    waits_containers(rig);
    for (int i = 0; i < 40; i++) {
        worked_second(rig);
        assert_true(isnan(waits_counter(rig, "one")));
    }
    expect_why(rig, "does not follow");
    double before = NAN;
    for (int i = 0; i < 100 && isnan(before); i++) {

        waits_for(rig, "two", 2e6, 30);
        second(rig, interference_square(rig->tick.number, 6, 7, 0));
        before = waits_counter(rig, "one");
    }
    assert_true(before == 0);
}

TEST_ON(without_core_latency_nothing_is_said, struct rig *rig, setup, teardown)
{
    learn(rig);
    worked_second(rig);
    near(sum(rig), 0.26, 1e-12);
    waits_for(rig, "two", 2e6, 30);
    rig->facts.reads.tick = 0;
    waits_use(rig, "one", 1, 6e7);
    interference_tick(rig, 100);
    expect_why(rig, "core_latency");
    json_t *root, *domain = interference_page(rig, 0, &root);
    assert_true(json_is_null(json_object_get(json_object_get(domain, "waits"), "victims")));
    json_decref(root);
    near(sum(rig), 0.26, 1e-12);
}

TEST_ON(by_cpu_time_nothing_is_said, struct rig *rig, plain_setup, teardown)
{
    waits_container(rig, "one");
    interference_run(rig, "one", 1, 1);
    interference_burst(rig, 0, 100);
    waits_tick(rig);
    expect_why(rig, "--collector.attribution.traffic");
    assert_true(rig->facts.reads.wanted); /* for who may be framed */
    assert_int_equal(rig_series(rig, "container="), 0);
}

/* Somebody's traffic is not counted: his part would be laid on the others. */
TEST_ON(while_somebody_is_not_counted_nothing_is_said, struct rig *rig, setup, teardown)
{
    learn(rig);
    rig->facts.containers_unseen = 1;
    worked_second(rig);
    expect_why(rig, "not counted");
    assert_true(sum(rig) == 0);
    rig->facts.containers_unseen = 0;
    rig->fake.open_error_key = "late";
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "no file descriptors");
    waits_container(rig, "late");
    worked_second(rig);
    expect_why(rig, "not counted");
    assert_true(sum(rig) == 0);
}

TEST_ON(who_has_no_baseline_is_no_victim, struct rig *rig, setup, teardown)
{
    learn(rig);
    waits_for(rig, "two", 2e6, 30);
    waits_for(rig, "three", 4e6, NAN);
    second(rig, 0);
    near(sum(rig), 0.06, 1e-12);
    json_t *root, *domain = interference_page(rig, 0, &root);
    const json_t *waits = json_object_get(domain, "waits");
    assert_int_equal(interference_number(waits, "victims"), 1);
    assert_int_equal(interference_number(waits, "victims_without_baseline"), 1);
    json_decref(root);
    waits_for(rig, "three", 4e6, NAN);
    second(rig, 0);
    expect_why(rig, "normal");
    waits_for(rig, "one", 1e6, -5); /* faster than usual */
    waits_for(rig, "two", 2e6, 30);
    second(rig, 0);
    near(sum(rig), 0.12, 1e-12);
}

/* Its own traffic is all there is, or nearly: what it waits is its own doing. */
TEST_ON(who_is_alone_waits_for_himself, struct rig *rig, setup, teardown)
{
    learn(rig);
    for (int others = 0; others < 2; others++) {
        waits_use(rig, "one", 1, 6e7);
        for (int i = 1; i < 3; i++)
            waits_use(rig, worked_name[i], i + 1, 1e5 * others); /* less than 3 % of the latency */
        waits_use(rig, "teacher", 1, 0);
        waits_for(rig, "one", 1e6, 40);
        interference_burst(rig, 0, 100);
        waits_tick(rig);
        assert_true(sum(rig) == 0);
    }
    waits_for(rig, "one", 1e6, 40);
    second(rig, 0);
    near(sum(rig), 0.04, 1e-12);
    near(waits_counter(rig, "two"), 0.03, 1e-9);
    near(waits_counter(rig, "three"), 0.01, 1e-9);
}

/* As much traffic as two others, and the latency does not follow it. */
TEST_ON(who_does_not_hurt_is_charged_less, struct rig *rig, setup, teardown)
{
    waits_container(rig, "harmless");
    learn(rig);
    for (int i = 0; i < 300; i++) {
        waits_use(rig, "harmless", 2, 6e7 * interference_square(rig->tick.number, 9, 8, 3));
        second(rig, interference_square(rig->tick.number, 6, 7, 0));
    }
    waits_use(rig, "harmless", 2, 6e7);
    worked_second(rig);
    assert_true(waits_counter(rig, "one") > 0.15);
    assert_true(waits_counter(rig, "harmless") < 0.05);
    near(sum(rig), 0.26, 1e-12);
}

/* Nothing is known of it but how much it does. */
TEST_ON(who_has_just_come_is_charged_by_the_slope_of_all, struct rig *rig, setup, teardown)
{
    learn(rig);
    waits_container(rig, "late");
    waits_use(rig, "late", 3, 0);
    second(rig, 0);
    double before = 0;
    for (int i = 0; i < 10; i++) {
        waits_use(rig, "late", 3, 6e7);
        waits_for(rig, "two", 2e6, 30);
        second_beside(rig, 0, 6e7);
        assert_true(i == 0 || waits_counter(rig, "late") > before);
        before = waits_counter(rig, "late");
    }
}

/* A little that was not read is taken at its mean; without much nothing is said. */
TEST_ON(traffic_that_was_not_read, struct rig *rig, setup, teardown)
{
    learn(rig);
    fake_group(&rig->fake, "three", GROUP_TRAFFIC)->no_reading = true;
    worked_second(rig);
    near(sum(rig), 0.26, 1e-12);
    near(waits_counter(rig, "three"), 0.0085714, 1e-3);
    fake_group(&rig->fake, "three", GROUP_TRAFFIC)->no_reading = false;
    fake_group(&rig->fake, "one", GROUP_TRAFFIC)->no_reading = true;
    worked_second(rig);
    near(sum(rig), 0.26, 1e-12);
    expect_why(rig, "was not read");
}

/* The counters of a victim were another group's: core_latency has no window of it. */
TEST_ON(a_victim_without_a_window_is_left_out, struct rig *rig, setup, teardown)
{
    learn(rig);
    worked_second(rig);
    waits_for(rig, "two", 2e6, 30);
    second(rig, 0); /* what is known of "three" is of the tick before */
    near(sum(rig), 0.26 + 0.06, 1e-12);
}

/* Without a reading of the probe shares are known all the same. */
TEST_ON(without_a_probe_reading, struct rig *rig, setup, teardown)
{
    learn(rig);
    waits_for(rig, "two", 2e6, 30);
    waits_for(rig, "three", 4e6, 50);
    waits_use_all(rig, 0);
    waits_tick(rig);
    near(sum(rig), 0.26, 1e-12);
    near(waits_counter(rig, "one"), 0.1847619, 1e-5);
}

TEST_ON(an_ended_container, struct rig *rig, setup, teardown)
{
    learn(rig);
    rig_end(rig, &rig->containers[waits_slot(rig, "one")]);
    worked_second(rig); /* its last reading counts */
    near(waits_counter(rig, "one"), 0.1847619, 1e-5);
    waits_use(rig, "two", 2, 3e7);
    waits_use(rig, "three", 3, 2e7);
    waits_use(rig, "teacher", 1, 0);
    waits_for(rig, "two", 2e6, 30);
    waits_burst(rig, 5e7);
    waits_tick(rig);
    near(waits_counter(rig, "one"), 0.1847619, 1e-5);
    near(waits_counter(rig, "three"), 0.0085714 + 0.06, 1e-5);
    rig_forget(rig, &rig->containers[waits_slot(rig, "one")]);
    waits_tick(rig);
    assert_true(isnan(waits_counter(rig, "one")));
}

TEST_ON(new_names_keep_the_counter, struct rig *rig, setup, teardown)
{
    learn(rig);
    worked_second(rig);
    rig_rename(rig, &rig->containers[waits_slot(rig, "one")], "another");
    waits_tick(rig);
    assert_true(isnan(waits_counter(rig, "one")));
    near(waits_counter(rig, "another"), 0.1847619, 1e-5);
}

/* Most of its reads are the inner one's, which is a victim itself. */
TEST_ON(who_has_others_inside_is_no_victim, struct rig *rig, setup, teardown)
{
    learn(rig);
    waits_container(rig, "two/inner");
    worked_second(rig);
    near(sum(rig), 4e6 * 50e-9, 1e-12);
}

/* Each node for itself: reads and traffic count where they are. */
TEST_ON(two_nodes, struct rig *rig, setup, teardown)
{
    rig->facts.machine.numa_nodes = 2;
    for (int cpu = 0; cpu < INTERFERENCE_RIG_CPUS; cpu++)
        machine_place_cpu_on_node(&rig->facts.machine, cpu, cpu / 2);
    waits_container(rig, "a");
    waits_container(rig, "b");
    waits_container(rig, "victim");
    for (int i = 0; i < 160; i++) {
        double on = interference_square(rig->tick.number, 6, 7, 0) * (i < 150);
        waits_use(rig, "a", 1, 1e8 * on);
        waits_use(rig, "b", 3, 1e8 * (1 - on));
        interference_burst(rig, 0, 100 * exp(0.3 * on) * interference_noise(0.005));
        interference_burst(rig, 1, 100 * exp(0.3 * (1 - on)) * interference_noise(0.005));
        waits_use(rig, "victim", 1, 0);
        waits_tick(rig);
    }
    waits_use(rig, "a", 1, 1e8);
    waits_use(rig, "b", 3, 1e8);
    waits_use(rig, "victim", 1, 0);
    struct read_latency *entry = waits_for(rig, "victim", 3e6, 40);
    entry->by_node[0] = 1e6;
    entry->by_node[1] = 2e6;
    interference_burst(rig, 0, 135);
    interference_burst(rig, 1, 135);
    waits_tick(rig);
    near(waits_counter(rig, "a"), 0.04, 1e-12);
    near(waits_counter(rig, "b"), 0.08, 1e-12);
    json_t *root, *domain = interference_page(rig, 1, &root);
    assert_int_equal(json_array_size(json_object_get(domain, "pairs")), 1);
    near(interference_number(pair_of(domain, "b", "victim"), "caused_ns"), 40, 1e-9);
    json_decref(root);
    waits_for(rig, "victim", 3e6, 40); /* nobody knows where */
    waits_use(rig, "a", 1, 1e8);
    waits_tick(rig);
    near(sum(rig), 0.12, 1e-12);
}

/* After an idle night the slope must be learned again; until then the counters stand. */
TEST_ON(an_idle_night, struct rig *rig, setup, teardown)
{
    learn(rig);
    worked_second(rig);
    for (int i = 0; i < 4 * 3600; i++) {
        for (size_t k = 0; k < rig->n_containers; k++)
            waits_use(rig, rig->containers[k].key, 1, 0);
        waits_burst(rig, 0);
        waits_tick(rig);
    }
    near(sum(rig), 0.26, 1e-12);
    worked_second(rig);
    near(sum(rig), 0.26, 1e-12);
    expect_why(rig, "does not follow");
    for (int i = 0; i < 120; i++)
        second(rig, interference_square(rig->tick.number, 6, 7, 0));
    worked_second(rig);
    near(sum(rig), 0.52, 1e-12);
}

TEST_ON(a_tick_allocates_nothing, struct rig *rig, setup, teardown)
{
    if (!malloc_count_works())
        skip();
    learn(rig);
    worked_second(rig);
    rig->reconciled_by_hand = true;
    uint64_t allocated = 0;
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 3; k++)
            waits_use(rig, worked_name[k], k + 1, worked_traffic[k]);
        waits_for(rig, "two", 2e6, 30);
        interference_burst(rig, 0, 100);
        rig->facts.reads.tick = rig->tick.number + 1;
        allocated += waits_allocates(rig);
    }
    assert_int_equal(allocated, 0);
}
