/* Who starts once and stays, through the collector: kept, shared, remembered, not framed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/lane.h"
#include "collectors/table.h"
#include "exporter/live/live.h"
#include "tests/unit/support/interference_rig.h"
#include "tests/unit/support/unit.h"

/* A second in which the hogs use so much of CPU 1 and memory is slower by `effect`; a bystander
 * goes on and off. */
static void second(struct rig *rig, const char *const *hogs, double each, double effect)
{
    double bystander = interference_square(rig->tick.number, 17, 34, 5), all = 0;
    for (unsigned i = 0; hogs[i]; i++) {
        double used = each * interference_noise(0.03);
        interference_run(rig, hogs[i], 1, used);
        all += used;
    }
    interference_run(rig, "bystander", 2, 0.8 * bystander);
    interference_run(rig, "host", 1, all);
    interference_run(rig, "host", 2, 0.8 * bystander);
    interference_run(rig, "host", 3, 0.1);
    interference_tick(rig, 100 * exp(effect) * interference_noise(0.02));
}

static const char *const none[] = {NULL}, *const hog[] = {"hog", NULL};

static void seconds(struct rig *rig, unsigned n, const char *const *hogs, double each,
                    double effect)
{
    for (unsigned i = 0; i < n; i++)
        second(rig, hogs, each, effect);
}

/* A run of the job: named as a container of its workload, with a pod of its own. */
static struct container *run_of_job(struct rig *rig, const char *key, const char *pod)
{
    interference_clocks(rig, key);
    struct container *container = rig_unnamed(rig, key);
    container->pod = pod;
    container->name = container->path = "main";
    container->path = key;
    rig_name(rig, container);
    return container;
}

static double caused(struct rig *rig, const char *label)
{
    return rig_value(rig, CAUSED, label);
}

RIG_TEST(kept_for_hours, interference_setup)
{
    interference_container(rig, "bystander");
    seconds(rig, 400, none, 0, 0);
    interference_container(rig, "hog");
    seconds(rig, 40, hog, 1, 0.26);
    for (unsigned i = 0; i < 3 * 3600; i++) {
        second(rig, hog, 1, 0.26);
        assert_false(isnan(caused(rig, "container=\"hog\"")));
        assert_int_equal(rig_series(rig, "container=\"bystander\""), 0);
    }
    assert_true(fabs(caused(rig, "container=\"hog\"") / 29.7e-9 - 1) < 0.25);
    /* What was calm three hours ago still is. */
    double excess =
        rig_value(rig, EXCESS, "by=\"named\"") + rig_value(rig, EXCESS, "by=\"unknown\"");
    assert_true(fabs(excess / 29.7e-9 - 1) < 0.25);
    seconds(rig, 10, none, 0, 0);
    assert_true(isnan(caused(rig, "container=\"hog\"")));
}

/* Two replicas of a job share what they cause; a run of it in a new pod is known at once. */
RIG_TEST(a_workload_is_known_in_every_pod, interference_setup)
{
    static const char *const both[] = {"one", "two", NULL}, *const third[] = {"three", NULL};
    interference_container(rig, "bystander");
    seconds(rig, 400, none, 0, 0);
    struct container *one = run_of_job(rig, "one", "sort-28911240-bcdfg");
    struct container *two = run_of_job(rig, "two", "sort-28911240-xz245");
    seconds(rig, 60, both, 0.5, 0.26);
    double first = caused(rig, "pod=\"sort-28911240-bcdfg\"");
    double other = caused(rig, "pod=\"sort-28911240-xz245\"");
    assert_true(fabs((first + other) / 29.7e-9 - 1) < 0.3 && fabs(first / other - 1) < 0.3);
    seconds(rig, 60, none, 0, 0);
    rig_end(rig, one);
    rig_end(rig, two);
    seconds(rig, 600, none, 0, 0);
    run_of_job(rig, "three", "sort-28911300-vwxyz");
    seconds(rig, 10, third, 1, 0.26);
    assert_false(isnan(caused(rig, "pod=\"sort-28911300-vwxyz\"")));
}

/* Restarted beside a hog that goes on: named in the first readings, against the calm of before. */
RIG_TEST(across_a_restart, interference_setup)
{
    interference_container(rig, "bystander");
    seconds(rig, 400, none, 0, 0);
    interference_container(rig, "hog");
    seconds(rig, 200, hog, 1, 0.26);
    double before = caused(rig, "container=\"hog\"");
    struct state *kept = interference_saved(rig, 0);
    static struct rig after;
    interference_again(&after, rig, kept, NULL);
    interference_clocks(&after, "host");
    rig_start(&after);
    interference_container(&after, "bystander");
    interference_container(&after, "hog");
    seconds(&after, 5, hog, 1, 0.26);
    assert_true(fabs(caused(&after, "container=\"hog\"") / before - 1) < 0.3);
    seconds(&after, 600, hog, 1, 0.26);
    assert_true(fabs(caused(&after, "container=\"hog\"") / before - 1) < 0.3);
    rig_release(&after);
    state_free(kept);
}

/* At night everything is quicker, and what is calm is lower. */
RIG_TEST(kept_through_a_night, interference_setup)
{
    interference_container(rig, "bystander");
    seconds(rig, 3700, none, 0, 0);
    interference_container(rig, "hog");
    seconds(rig, 40, hog, 1, 0.14);
    for (unsigned i = 0; i < 3 * 3600; i++) {
        second(rig, hog, 1, 0.14 - 0.15 * i / (3 * 3600));
        assert_false(isnan(caused(rig, "container=\"hog\"")));
        assert_int_equal(rig_series(rig, "container=\"bystander\""), 0);
    }
    /* Calm is the tenth percentile, which noise of 2 % puts a little below the middle. */
    assert_true(rig_value(rig, EXCESS, "by=\"named\"") > 8e-9);
    assert_true(rig_value(rig, EXCESS, "by=\"unknown\"") < 6e-9);
}

/* Who starts on an idle node has the usual load for an excess, for an hour and no longer. */
RIG_TEST(what_comes_after_a_boot_becomes_calm, interference_setup)
{
    interference_container(rig, "bystander");
    seconds(rig, 300, none, 0, -0.26);
    seconds(rig, 600, none, 0, 0);
    assert_true(rig_value(rig, EXCESS, "by=\"unknown\"") > 15e-9);
    seconds(rig, 3600, none, 0, 0);
    assert_true(rig_value(rig, EXCESS, "by=\"unknown\"") < 8e-9);
}

/* What the hog's descriptors are taken for is counters. It goes on, unread, and is opened again. */
RIG_TEST(whose_descriptors_are_called_in_has_not_ended, interference_setup)
{
    interference_container(rig, "bystander");
    struct container *other = interference_container(rig, "other");
    seconds(rig, 400, none, 0, 0);
    interference_container(rig, "hog");
    seconds(rig, 120, hog, 1, 0.26);
    double before = caused(rig, "container=\"hog\"");
    assert_false(isnan(before));
    struct fake_group *clock = fake_group(&rig->fake, "hog", GROUP_ACTIVITY);
    clock->read_error = -EMFILE;
    seconds(rig, 30, hog, 1, 0.26);
    assert_false(clock->open);
    assert_true(fabs(caused(rig, "container=\"hog\"") / before - 1) < 0.2);
    /* What it does is no longer known: neither what it causes. */
    seconds(rig, 60, hog, 1, 0.26);
    assert_true(isnan(caused(rig, "container=\"hog\"")));
    clock->read_error = 0;
    rig_end(rig, other);
    assert_true(clock->open);
    seconds(rig, 5, hog, 1, 0.26);
    assert_true(fabs(caused(rig, "container=\"hog\"") / before - 1) < 0.2);
    seconds(rig, 120, hog, 1, 0.26);
    assert_true(fabs(caused(rig, "container=\"hog\"") / before - 1) < 0.2);
}

static const char *group_kind(struct rig *rig, size_t *members, double *named)
{
    static char why[160];
    json_t *root, *domain = interference_page(rig, 0, &root);
    json_t *group = json_array_get(json_object_get(domain, "groups"), 0);
    *members = json_array_size(json_object_get(group, "members"));
    *named = (double)json_array_size(json_object_get(domain, "aggressors"));
    snprintf(why, sizeof why, "%s", group ? json_string_value(json_object_get(group, "why")) : "");
    json_decref(root);
    return why;
}

static const struct container *nobody(void *context)
{
    (void)context;
    return NULL;
}

/* Two pods start in the same second, and stay: the page says that it is one of them. */
RIG_TEST(of_who_began_together_the_page_says_so, interference_setup)
{
    static const char *const both[] = {"a", "b", NULL};
    struct attribution_context *self = rig->collector;
    struct live_view view;
    unsigned told = 0;
    assert_int_equal(live_new(&self->env.live), 0);
    interference_container(rig, "bystander");
    seconds(rig, 400, none, 0, 0);
    interference_container(rig, "a");
    interference_container(rig, "b");
    for (unsigned i = 0; i < 120; i++) {
        live_begin(self->env.live);
        second(rig, both, 1, 0.26);
        live_show(self->env.live, &rig->tick, nobody, NULL);
        assert_int_equal(live_copy(self->env.live, &view), 0);
        assert_int_equal(view.n_domains, 1);
        told += view.domains[0].cause == LIVE_CAUSE_ONE_OF;
        assert_true(view.domains[0].cause != LIVE_CAUSE_NAMED);
        live_view_release(&view);
    }
    assert_true(told > 100);
    live_free(self->env.live);
    self->env.live = NULL;
}

/* It goes on and off with who is innocent, and its CPU time does not show it. */
RIG_TEST(who_uses_whole_cpus_may_be_the_one, interference_setup)
{
    interference_container(rig, "innocent");
    interference_container(rig, "spinner");
    unsigned grouped = 0;
    for (unsigned i = 0; i < 900; i++) {
        double on = interference_square(i, 30, 40, 0);
        interference_run(rig, "innocent", 1, on);
        interference_run(rig, "spinner", 2, 1 * interference_noise(0.01));
        interference_run(rig, "host", 1, on);
        interference_run(rig, "host", 2, 1);
        interference_tick(rig, 100 * exp(0.18 * on) * interference_noise(0.02));
        size_t members;
        double named;
        const char *why = group_kind(rig, &members, &named);
        assert_true(named == 0);
        if (strstr(why, "whole CPUs")) {
            assert_int_equal(members, 2);
            grouped++;
        }
    }
    assert_true(grouped > 200);
    assert_true(isnan(caused(rig, "")));
}

/* In how many of the last 300 seconds the innocent is named; what the spinner reads is counted. */
static unsigned named_beside(struct rig *rig, double reads_off, double reads_on)
{
    interference_container(rig, "innocent");
    struct container *spinner = interference_container(rig, "spinner");
    unsigned named = 0;
    for (unsigned i = 0; i < 600; i++) {
        double on = interference_square(i, 30, 40, 0);
        assert_int_equal(read_latencies_reserve(&rig->facts.reads, 2), 0);
        struct read_latency *reads = read_latencies_entry(&rig->facts.reads, spinner->slot);
        rig->facts.reads.tick = reads->tick = rig->tick.number + 1;
        reads->reads = (on > 0 ? reads_on : reads_off) * interference_noise(0.05);
        interference_run(rig, "innocent", 1, on);
        interference_run(rig, "spinner", 2, 1 * interference_noise(0.01));
        interference_run(rig, "host", 1, on);
        interference_run(rig, "host", 2, 1);
        interference_tick(rig, 100 * exp(0.18 * on) * interference_noise(0.02));
        named += i >= 300 && !isnan(caused(rig, "container=\"innocent\""));
    }
    read_latencies_release(&rig->facts.reads);
    return named;
}

/* Where its reads are counted and stay the same, it is not the one. */
TEST_WITH(whose_reads_stay_the_same_is_cleared, interference_setup, rig_teardown)
{
    assert_true(named_beside(*state, 1e6, 0.9e6) > 100);
}

TEST_WITH(whose_reads_follow_is_not, interference_setup, rig_teardown)
{
    assert_int_equal(named_beside(*state, 1e5, 3e6), 0);
}

RIG_TEST(so_may_processes_of_the_host, interference_setup)
{
    interference_container(rig, "innocent");
    unsigned grouped = 0;
    for (unsigned i = 0; i < 900; i++) {
        double on = interference_square(i, 30, 40, 0);
        interference_run(rig, "innocent", 1, on);
        interference_run(rig, "host", 1, on);
        interference_run(rig, "host", 3, 0.1 + on);
        interference_tick(rig, 100 * exp(0.18 * on) * interference_noise(0.02));
        size_t members;
        double named;
        grouped += strstr(group_kind(rig, &members, &named), "host") != NULL;
        assert_true(named == 0);
    }
    assert_true(grouped > 100);
}
