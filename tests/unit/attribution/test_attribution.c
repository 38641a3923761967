/* Who makes memory slow: from CPU time and probe readings to metrics, in the collector. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/table.h"
#include "tests/unit/support/interference_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static double by(struct rig *rig, const char *label)
{
    return rig_value(rig, EXCESS, label);
}

/* One second: the hog on CPU 1 makes memory 20 % slower; the bystander on CPU 2 goes on and off as
 * well, at other times, and a third is always on. */
static void second(struct rig *rig)
{
    uint64_t t = rig->tick.number;
    double hog = rig->containers[0].state == CONTAINER_LIVE ? interference_square(t, 12, 13, 0) : 0;
    double bystander = interference_square(t, 17, 14, 5);
    interference_run(rig, "hog", 1, hog);
    interference_run(rig, "bystander", 2, bystander);
    interference_run(rig, "steady", 3, 0.6);
    interference_run(rig, "host", 1, hog);
    interference_run(rig, "host", 2, bystander);
    interference_run(rig, "host", 3, 0.6);
    interference_tick(rig, 100 * exp(0.2 * hog) * interference_noise(0.015));
}

/* Until the hog is named; `counted`: and its counter has begun. */
static void until_named(struct rig *rig, bool counted)
{
    for (int i = 0; i < 300; i++) {
        second(rig);
        if (!isnan(rig_value(rig, CAUSED, "")) &&
            (!counted || rig_value(rig, CAUSED_TOTAL, "") > 0))
            return;
    }
    fail_msg("nobody is named");
}

static void three_containers(struct rig *rig)
{
    interference_container(rig, "hog");
    interference_container(rig, "bystander");
    interference_container(rig, "steady");
}

static bool headline_says(const struct rig *rig, const char *words)
{
    struct textbuf text;
    textbuf_init(&text);
    rig->ops->page->headline(rig->collector, &text);
    bool says = words[0] ? text.len && strstr(text.data, words) : text.len == 0;
    textbuf_release(&text);
    return says;
}

/* Nothing while it learns; then whenever it hurts, and nobody else. The counter is first seen at 0.
 */
RIG_TEST(a_hog_is_named_and_nobody_else, interference_setup)
{
    three_containers(rig);
    int hurting = 0, named = 0;
    double at_first = NAN, last = NAN;
    for (int i = 0; i < 300; i++) {
        second(rig);
        double total = rig_value(rig, CAUSED_TOTAL, "container=\"hog\"");
        double now = rig_value(rig, CAUSED, "container=\"hog\"");
        if (i < 60)
            assert_true(isnan(total));
        if (isnan(at_first))
            at_first = total;
        if (i >= 60 && interference_square((uint64_t)i, 12, 13, 0) > 0) {
            hurting++;
            named += !isnan(now);
        }
        if (!isnan(now))
            last = now;
        assert_int_equal(rig_series(rig, "container=\"bystander\""), 0);
        assert_int_equal(rig_series(rig, "container=\"steady\""), 0);
    }
    assert_true(at_first == 0);
    assert_true(named > hurting * 8 / 10);
    assert_true(last > 14e-9 && last < 28e-9); /* 22.1 are true */
    assert_true(rig_value(rig, UNCERTAINTY, "") != 0);
    assert_true(rig_value(rig, READINGS, "numa_node=\"0\"") == 300);
    assert_true(rig_value(rig, CANDIDATES, "") == 2);
    double busy = rig_value(rig, "interference_memory_attribution_activity_ratio", "");
    assert_true(busy >= 0.6 / 3 && busy <= 1); /* steady is on one of the three CPUs */
    /* Its mean over all readings, in half of which it was on. */
    double mean = rig_value(rig, CAUSED_TOTAL, "container=\"hog\"") / 300;
    assert_true(mean > 5e-9 && mean < 12e-9);
}

/* For the API, of everybody: whether suspected or not, under the present name, and no longer when
 * it could not be read. */
RIG_TEST(the_cpus_that_each_uses, interference_setup)
{
    struct container *steady = interference_container(rig, "steady");
    interference_container(rig, "half");
    for (int i = 0; i < 3; i++) {
        interference_run(rig, "steady", 1, 0.75);
        interference_run(rig, "steady", 2, 0.5);
        interference_run(rig, "half", 3, 0.5);
        assert_int_equal(rig_tick(rig), 0);
    }
    assert_true(fabs(rig_value(rig, "cpus_used", "container=\"steady\"") - 1.25) < 1e-6);
    assert_true(fabs(rig_value(rig, "cpus_used", "container=\"half\"") - 0.5) < 1e-6);
    rig_rename(rig, steady, "renamed");
    assert_int_equal(rig_tick(rig), 0);
    assert_true(isnan(rig_value(rig, "cpus_used", "container=\"steady\"")));
    assert_true(rig_value(rig, "cpus_used", "container=\"renamed\"") == 0);
    rig_end(rig, steady);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rig_tick(rig), 0);
    assert_true(isnan(rig_value(rig, "cpus_used", "container=\"renamed\"")));
}

RIG_TEST(the_excess_adds_up, interference_setup)
{
    three_containers(rig);
    double most = 0, total = 0;
    for (int i = 0; i < 60; i++)
        second(rig);
    for (int i = 0; i < 140; i++) {
        second(rig);
        json_t *root, *domain = interference_page(rig, 0, &root);
        double sum = by(rig, "named") + by(rig, "group") + by(rig, "host") + by(rig, "unknown");
        double latency = interference_number(domain, "latency_ns");
        double excess = fmax(0, latency - interference_number(domain, "calm_ns"));
        assert_true(fabs(sum * 1e9 - excess) < 1e-9 * latency);
        most = fmax(most, by(rig, "named"));
        total += by(rig, "named");
        json_decref(root);
    }
    assert_true(most > 14e-9);
    assert_true(fabs(rig_value(rig, EXCESS_TOTAL, "named") / total - 1) < 1e-9);
}

/* What is calm is not known from a few readings: no excess, in words and numbers. */
RIG_TEST(while_it_learns_there_is_no_excess, interference_setup)
{
    static const char *const unknown[] = {"calm_ns", "excess_ns"};
    three_containers(rig);
    for (int i = 0; i < 60; i++) {
        second(rig);
        assert_true(isnan(by(rig, "unknown")) && isnan(by(rig, "named")));
        json_t *root, *domain = interference_page(rig, 0, &root);
        assert_string_equal(json_string_value(json_object_get(domain, "state")), "learning");
        assert_true(interference_number(domain, "latency_ns") > 90);
        for (int k = 0; k < 2; k++)
            assert_true(json_is_null(json_object_get(domain, unknown[k])));
        assert_true(json_is_null(json_object_get(json_object_get(domain, "by"), "unknown")));
        json_decref(root);
    }
    assert_true(rig_value(rig, EXCESS_TOTAL, "unknown") == 0);
    second(rig);
    assert_true(by(rig, "unknown") >= 0);
}

/* Everything that is said stays as it was, for a minute; then what is said of the present goes. */
RIG_TEST(a_tick_without_a_reading_changes_nothing, interference_setup)
{
    static const char *const gauges[] = {EXCESS, CANDIDATES, CAUSED,
                                         "interference_memory_attribution_noise_ratio",
                                         "interference_memory_attribution_inflation_ratio"};
    enum { GAUGES = sizeof gauges / sizeof *gauges };
    three_containers(rig);
    until_named(rig, false);
    double before[GAUGES], readings = rig_value(rig, READINGS, "");
    for (int g = 0; g < GAUGES; g++)
        before[g] = rig_value(rig, gauges[g], "");
    for (int i = 0; i < 60; i++) {
        interference_run(rig, "bystander", 2, i % 2);
        rig_tick(rig);
        for (int g = 0; g < GAUGES; g++)
            assert_true(rig_value(rig, gauges[g], "") == before[g]);
    }
    rig_tick(rig);
    for (int g = 0; g < GAUGES; g++)
        assert_true(isnan(rig_value(rig, gauges[g], "")));
    assert_true(rig_value(rig, READINGS, "") == readings);
    assert_false(isnan(rig_value(rig, CAUSED_TOTAL, "")));
    assert_true(rig->status.unavailable);
    json_t *root, *domain = interference_page(rig, 0, &root);
    assert_string_equal(json_string_value(json_object_get(domain, "state")), "unknown");
    assert_true(json_is_null(json_object_get(domain, "latency_ns")));
    assert_int_equal(json_array_size(json_object_get(domain, "aggressors")), 0);
    json_decref(root);
    second(rig);
    assert_false(isnan(rig_value(rig, CANDIDATES, "")));
    assert_false(rig->status.unavailable);
}

/* Whether it says that it is the host; it does where no container explains more of the excess. */
static bool headline_says_host(struct rig *rig)
{
    json_t *root, *domain = interference_page(rig, 0, &root);
    bool unknown = strcmp(json_string_value(json_object_get(domain, "state")), "unknown") == 0;
    double excess = json_number_value(json_object_get(domain, "excess_ns")) * 1e-9;
    double host = by(rig, "host");
    bool says = unknown && host > 0 && host * 2 >= excess;
    json_decref(root);
    assert_true(headline_says(rig, "ns of it go with processes outside of the") == says);
    return says;
}

/* Processes outside of all containers are no container's fault. */
RIG_TEST(the_host_is_not_a_container, interference_setup)
{
    three_containers(rig);
    double most = 0;
    bool ever = false;
    for (int i = 0; i < 300; i++) {
        double host = interference_square((uint64_t)i, 12, 13, 0);
        double bystander = interference_square((uint64_t)i, 17, 14, 5);
        interference_run(rig, "bystander", 2, bystander);
        interference_run(rig, "host", 2, bystander);
        interference_run(rig, "host", 3, host);
        interference_tick(rig, 100 * exp(0.2 * host) * interference_noise(0.015));
        assert_int_equal(rig_series(rig, "container="), 0);
        most = fmax(most, by(rig, "host"));
        ever |= headline_says_host(rig);
    }
    assert_true(ever);
    assert_true(most > 5e-9);
    assert_true(by(rig, "named") == 0);
}

/* What is outside of the machine has no activity here: unknown. */
RIG_TEST(an_outside_neighbour_is_unknown, interference_setup)
{
    three_containers(rig);
    for (int i = 0; i < 240; i++) {
        interference_run(rig, "bystander", 2, interference_square((uint64_t)i, 17, 14, 5));
        double outside = interference_square((uint64_t)i, 60, 60, 0);
        interference_tick(rig, 100 * exp(0.2 * outside) * interference_noise(0.015));
        assert_int_equal(rig_series(rig, "container="), 0);
        if (i == 170) {
            json_t *root, *domain = interference_page(rig, 0, &root);
            assert_string_equal(json_string_value(json_object_get(domain, "state")), "unknown");
            assert_true(by(rig, "unknown") > 15e-9);
            assert_true(headline_says(rig, "It may be one that is active all the time"));
            json_decref(root);
        }
    }
}

RIG_TEST(those_that_switch_together_are_a_group, interference_setup)
{
    interference_container(rig, "left");
    interference_container(rig, "right");
    double group = 0;
    size_t members = 0;
    for (int i = 0; i < 240; i++) {
        double on = interference_square((uint64_t)i, 12, 13, 0);
        interference_run(rig, "left", 1, on);
        interference_run(rig, "right", 2, on);
        interference_tick(rig, 100 * exp(0.3 * on) * interference_noise(0.015));
        group = fmax(group, by(rig, "group"));
        assert_false(by(rig, "named") > 0);
        json_t *root, *domain = interference_page(rig, 0, &root);
        const json_t *first = json_array_get(json_object_get(domain, "groups"), 0);
        if (first)
            members = json_array_size(json_object_get(first, "members"));
        json_decref(root);
    }
    assert_true(group > 20e-9);
    assert_int_equal(members, 2);
    assert_int_equal(rig_series(rig, "container="), 0);
}

/* They took turns with the probe: whatever coincides is no interference. */
RIG_TEST(the_probes_own_cpu_does_not_count, interference_setup)
{
    interference_container(rig, "hog");
    for (int i = 0; i < 200; i++) {
        double on = interference_square((uint64_t)i, 12, 13, 0);
        interference_run(rig, "hog", 0, on);
        interference_tick(rig, 100 * exp(0.2 * on) * interference_noise(0.015));
    }
    assert_true(rig_value(rig, CANDIDATES, "") == 0);
    /* The probe moves to CPU 1, as its bursts say: now it does. */
    for (int i = 200; i < 400; i++) {
        double on = interference_square((uint64_t)i, 12, 13, 0);
        interference_run(rig, "hog", 0, on);
        interference_burst(rig, 0, 100 * exp(0.2 * on) * interference_noise(0.015));
        rig->fake.probes[rig->fake.n_probes - 1].cpu = 1;
        rig_tick(rig);
    }
    assert_false(isnan(rig_value(rig, CAUSED_TOTAL, "container=\"hog\"")));
}

/* The kernel counts the inner one's time as the outer one's, too. */
RIG_TEST(of_nested_containers_each_counts_for_itself, interference_setup)
{
    interference_container(rig, "pod/inner");
    interference_container(rig, "pod");
    interference_container(rig, "pod/inner/most");
    for (int i = 0; i < 240; i++) {
        double on = interference_square((uint64_t)i, 12, 13, 0);
        double own = interference_square((uint64_t)i, 17, 14, 5);
        interference_run(rig, "pod/inner", 1, on);
        interference_run(rig, "pod", 1, on);
        interference_run(rig, "pod", 2, own);
        interference_run(rig, "host", 1, on);
        interference_run(rig, "host", 2, own);
        interference_tick(rig, 100 * exp(0.2 * on) * interference_noise(0.015));
        assert_int_equal(rig_series(rig, "container=\"pod\""), 0);
        assert_int_equal(rig_series(rig, "container=\"pod/inner/most\""), 0);
        assert_false(by(rig, "host") > 0);
    }
    assert_true(by(rig, "host") == 0);
    assert_false(isnan(rig_value(rig, CAUSED_TOTAL, "container=\"pod/inner\"")));
    assert_true(rig_value(rig, CANDIDATES, "") == 2);
}

/* Always on since before the exporter was started: its latency is the calm one, and nobody says
 * that there is no cause. */
RIG_TEST(a_hog_that_never_stops_is_not_seen, interference_setup)
{
    three_containers(rig);
    for (int i = 0; i < 120; i++) {
        interference_run(rig, "hog", 1, 1);
        interference_tick(rig, 140 * interference_noise(0.005));
        assert_int_equal(rig_series(rig, "container="), 0);
    }
    assert_true(interference_says(rig, "state", "calm"));
    assert_true(
        headline_says(rig, "as fast as in the last hour; who is active all the time cannot"));
    assert_false(headline_says(rig, "obody"));
}

/* The one in between goes: the innermost is then directly inside of the outermost. */
RIG_TEST(nesting_follows_who_goes, interference_setup)
{
    interference_container(rig, "pod");
    struct container *between = interference_container(rig, "pod/inner");
    interference_container(rig, "pod/inner/most");
    rig_end(rig, between);
    rig_tick(rig);
    rig_forget(rig, between);
    for (int i = 0; i < 40; i++) {
        interference_run(rig, "pod/inner/most", 1, i % 2);
        interference_run(rig, "pod", 1, i % 2);
        interference_tick(rig, 100 * interference_noise(0.015));
    }
    assert_true(rig_value(rig, CANDIDATES, "") == 1);
}

/* Three seconds in one tick: one CPU is still one CPU. */
RIG_TEST(missed_ticks_do_not_look_busy, interference_setup)
{
    interference_container(rig, "steady");
    for (int i = 0; i < 100; i++) {
        double seconds = i % 10 == 9 ? 3 : 1;
        rig->tick.mono_ns += (uint64_t)((seconds - 1) * 1e9);
        interference_run(rig, "steady", 1, 0.8 * seconds);
        interference_tick(rig, 100 * interference_noise(0.015));
    }
    assert_true(rig_value(rig, CANDIDATES, "") == 0);
}

/* Its next window reaches back; meanwhile it is not taken for idle, nor for the host. */
RIG_TEST(an_activity_that_is_not_read_is_absent, interference_setup)
{
    interference_container(rig, "steady");
    for (int i = 0; i < 100; i++) {
        struct fake_group *clock = fake_group(&rig->fake, "steady", GROUP_ACTIVITY);
        clock->read_error = i % 3 == 2 ? -EIO : 0;
        interference_run(rig, "steady", 1, 1);
        interference_run(rig, "host", 1, 1);
        interference_burst(rig, 0, 100 * interference_noise(0.015));
        assert_int_equal(rig_tick(rig), clock->read_error);
    }
    assert_true(rig_value(rig, CANDIDATES, "") == 0);
    assert_true(by(rig, "host") == 0);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 33);
}

/* Its counter must not be where the host's part is, nor where its own was when it was read. */
RIG_TEST(descriptors_that_are_called_in, interference_setup)
{
    three_containers(rig);
    struct fake_group *clock = fake_group(&rig->fake, "bystander", GROUP_ACTIVITY);
    for (int i = 0; i < 30; i++)
        second(rig);
    clock->read_error = -EMFILE;
    second(rig);
    assert_false(clock->open);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    second(rig);
    /* Another one ends: there may be descriptors again. */
    clock->read_error = 0;
    rig_end(rig, &rig->containers[2]);
    assert_true(clock->open);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* Of files nothing is left to be read then. */
RIG_TEST(a_cgroup_that_is_gone_is_no_error, interference_setup)
{
    three_containers(rig);
    second(rig);
    rig_end(rig, &rig->containers[1]);
    fake_group(&rig->fake, "bystander", GROUP_ACTIVITY)->read_error = -ESRCH;
    second(rig);
    assert_false(fake_group(&rig->fake, "bystander", GROUP_ACTIVITY)->open);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 0);
}

/* The counter goes on under the new name, and lingers; the gauges end with the container. */
RIG_TEST(names_change_and_containers_end, interference_setup)
{
    three_containers(rig);
    struct container *hog = &rig->containers[0];
    until_named(rig, true);
    double total = rig_value(rig, CAUSED_TOTAL, "");
    rig_rename(rig, hog, "renamed");
    second(rig);
    assert_true(rig_value(rig, CAUSED_TOTAL, "container=\"renamed\"") >= total);
    assert_int_equal(rig_series(rig, "container=\"hog\""), 0);
    until_named(rig, false);
    rig_end(rig, hog);
    rig_tick(rig); /* without a reading */
    assert_true(isnan(rig_value(rig, CAUSED, "")) && isnan(rig_value(rig, UNCERTAINTY, "")));
    total = rig_value(rig, CAUSED_TOTAL, "container=\"renamed\"");
    for (int i = 0; i < 30; i++)
        second(rig);
    assert_true(rig_value(rig, CAUSED_TOTAL, "container=\"renamed\"") == total);
    assert_true(rig_value(rig, CANDIDATES, "") == 2); /* its workload may come again */
    rig_forget(rig, hog);
    second(rig);
    assert_int_equal(rig_series(rig, "container="), 0);
}

RIG_TEST(a_container_without_names_has_no_series, interference_setup)
{
    interference_clocks(rig, "hog");
    struct container *hog = rig_unnamed(rig, "hog");
    hog->named = false;
    interference_container(rig, "bystander");
    interference_container(rig, "steady");
    for (int i = 0; i < 200; i++) {
        second(rig);
        assert_int_equal(rig_series(rig, "container="), 0);
        assert_int_equal(interference_count(rig, "aggressors"), 0);
    }
    assert_true(rig_value(rig, CANDIDATES, "") == 2);
    rig_name(rig, hog);
    second(rig);
    assert_true(rig_value(rig, CAUSED_TOTAL, "container=\"hog\"") >= 0);
}

/* Its first reading makes the domain; the hog hurts that node only. */
RIG_TEST(every_node_has_a_fit_of_its_own, interference_setup)
{
    rig->facts.machine.numa_nodes = 2;
    three_containers(rig);
    for (int i = 0; i < 200; i++) {
        double on = interference_square((uint64_t)i, 12, 13, 0);
        interference_run(rig, "hog", 1, on);
        interference_burst(rig, 0, 100 * interference_noise(0.015));
        interference_burst(rig, 1, 120 * exp(0.2 * on) * interference_noise(0.015));
        rig_tick(rig);
        assert_true(isnan(rig_value_of(rig, CAUSED_TOTAL, "container=", "numa_node=\"0\"")));
    }
    assert_false(isnan(rig_value_of(rig, CAUSED_TOTAL, "hog", "numa_node=\"1\"")));
    assert_true(rig_value(rig, READINGS, "numa_node=\"0\"") == 200);
    assert_true(rig_value(rig, READINGS, "numa_node=\"1\"") == 199);
}

RIG_TEST(the_page_says_what_the_metrics_say, interference_setup)
{
    static const char *const parts[] = {"named", "group", "host", "unknown"};
    three_containers(rig);
    json_t *root, *domain = interference_page(rig, 0, &root);
    assert_null(domain);
    json_decref(root);
    rig_tick(rig);
    for (int i = 0; i < 2; i++) {
        assert_true(interference_says(rig, "state", "learning"));
        second(rig);
    }
    assert_true(interference_says(rig, "state", "learning"));
    until_named(rig, false);
    domain = interference_page(rig, 0, &root);
    assert_string_equal(json_string_value(json_object_get(root, "source")), "replay");
    assert_string_equal(json_string_value(json_object_get(domain, "state")), "named");
    assert_string_equal(json_string_value(json_object_get(domain, "basis")), "cpu_time");
    assert_null(json_object_get(domain, "pairs"));
    const json_t *aggressor = json_array_get(json_object_get(domain, "aggressors"), 0);
    assert_string_equal(json_string_value(json_object_get(aggressor, "container")), "hog");
    assert_string_equal(json_string_value(json_object_get(aggressor, "namespace")), "shop");
    assert_true(interference_number(aggressor, "caused_ns") * 1e-9 == rig_value(rig, CAUSED, ""));
    assert_true(interference_number(aggressor, "sd_ns") * 1e-9 == rig_value(rig, UNCERTAINTY, ""));
    assert_true(interference_number(aggressor, "z") >= 4);
    assert_true(interference_number(aggressor, "activity") == 1);
    assert_true(interference_number(domain, "candidates") == rig_value(rig, CANDIDATES, ""));
    for (int i = 0; i < 4; i++)
        assert_true(interference_number(json_object_get(domain, "by"), parts[i]) * 1e-9 ==
                    by(rig, parts[i]));
    json_decref(root);
}

/* What the page says of it among the suspects: "" nothing. */
static const char *why_suspected(const json_t *domain, const char *name)
{
    const char *why = "";
    json_t *list = json_object_get(domain, "suspects");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(row, "container")), name) == 0)
            why = json_string_value(json_object_get(row, "why"));
    }
    return why;
}

/* The one is never idle and rises by 55 % while memory is 30 % slower; the other, at other times,
 * by no more than those 30 %, as who waits does. */
RIG_TEST(who_may_only_be_waiting_is_listed_as_such, interference_setup)
{
    interference_container(rig, "grower");
    interference_container(rig, "waiter");
    unsigned doubted = 0;
    for (unsigned i = 0; i < 600; i++) {
        double own = interference_square(i, 12, 43, 0),
               outside = interference_square(i, 11, 158, 4);
        interference_run(rig, "grower", 1, 0.5 * (1 + 0.55 * own) * interference_noise(0.01));
        interference_run(rig, "waiter", 2, 0.5 * (1 + 0.3 * outside) * interference_noise(0.01));
        interference_tick(rig, 100 * (1 + 0.3 * fmax(own, outside)) * interference_noise(0.015));
        json_t *root, *domain = interference_page(rig, 0, &root);
        const char *why = why_suspected(domain, "grower");
        assert_string_equal(why_suspected(domain, "waiter"), "");
        doubted += strstr(why, "may only be waiting") != NULL;
        json_decref(root);
    }
    assert_true(doubted > 50);
    assert_int_equal(rig_series(rig, "container=\"waiter\""), 0);
}

RIG_TEST(the_headline_names_who_is_named, interference_setup)
{
    three_containers(rig);
    assert_true(headline_says(rig, ""));
    second(rig);
    assert_true(headline_says(rig, "Nobody is named in the first minute."));
    assert_false(headline_says(rig, "when calm"));
    bool ever = false;
    do {
        second(rig);
        json_t *root, *domain = interference_page(rig, 0, &root);
        bool named = json_array_size(json_object_get(domain, "aggressors")) > 0;
        json_decref(root);
        ever |= named;
        assert_true(headline_says(rig, "hog by ") == named);
        assert_false(headline_says(rig, "bystander"));
    } while (rig_value(rig, READINGS, "numa_node=\"0\"") < 150);
    assert_true(ever);
}

RIG_TEST(a_page_without_the_collector, interference_setup)
{
    struct textbuf text;
    textbuf_init(&text);
    assert_int_equal(rig->ops->page->render(NULL, "perf", &text), 0);
    json_t *root = json_loadb(text.data, text.len, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "domains")), 0);
    assert_true(json_is_null(json_object_get(root, "timestamp_seconds")));
    json_decref(root);
    textbuf_release(&text);
}

RIG_TEST(a_tick_allocates_nothing, interference_setup)
{
    if (!malloc_count_works())
        skip();
    three_containers(rig);
    second(rig);
    rig->reconciled_by_hand = true;
    uint64_t allocated = 0;
    int opens = rig->fake.ledger.opens;
    for (int i = 0; i < 120; i++) {
        second(rig);
        interference_burst(rig, 0, 100);
        rig->tick.number++;
        rig->tick.mono_ns += 1000000000u;
        assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
        uint64_t before = malloc_count();
        assert_int_equal(rig->ops->collect(rig->collector, &rig->tick), 0);
        allocated += malloc_count() - before;
    }
    assert_int_equal(allocated, 0);
    assert_true(rig->status.wants_reconcile);
    assert_int_equal(rig->fake.ledger.opens, opens);
    rig_nothing_changed(rig);
    second(rig);
    assert_false(isnan(rig_value(rig, CAUSED_TOTAL, "hog")));
}

RIG_TEST(without_a_probe_it_says_so, interference_setup)
{
    struct verdict why = {0};
    verdict_set(&rig->facts.probe, REASON_DISABLED, "switched off by a flag");
    assert_false(rig->ops->probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_DISABLED);
    assert_non_null(strstr(why.words, "probe"));
    verdict_clear(&rig->facts.probe);
    verdict_set(&rig->fake.check, REASON_NO_PMU, "no counters");
    assert_false(rig->ops->probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_NO_PMU);
}

/* ---- what other nodes found ---- */

static char others[] = "/tmp/elsewhere-XXXXXX";

static void write_others(const char *text)
{
    FILE *file = fopen(others, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char of_one[] =
    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{"
    "\"namespace\":\"shop\",\"workload\":\"cart\"},\"value\":[1,\"0.3\"]}]}}";

static int setup_others(void **state)
{
    static char flag[64];
    int fd = mkstemp(others);
    assert_true(fd >= 0);
    close(fd);
    write_others(of_one);
    snprintf(flag, sizeof flag, "--collector.attribution.prior.file=%s", others);
    return interference_setup_with(state, flag, 0);
}

static int teardown_others(void **state)
{
    unlink(others);
    memcpy(others + sizeof others - 7, "XXXXXX", 6);
    return rig_teardown(state);
}

static size_t lines_with(FILE *log, const char *words)
{
    char line[1024];
    size_t n = 0;
    rewind(log);
    while (fgets(line, sizeof line, log))
        n += strstr(line, words) != NULL;
    return n;
}

static void run_ticks(struct rig *rig, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        second(rig);
}

/* One that is wrong, or gone, is told once and changes nothing; every ten minutes it is read. */
TEST_ON(the_file_about_other_nodes, struct rig *rig, setup_others, teardown_others)
{
    FILE *log = tmpfile();
    assert_non_null(log);
    rig->log.fd = fileno(log);
    three_containers(rig);
    run_ticks(rig, 10);
    assert_int_equal(lines_with(log, "other nodes"), 0);
    write_others("{");
    run_ticks(rig, 580);
    assert_int_equal(lines_with(log, "other nodes"), 0);
    run_ticks(rig, 40);
    assert_int_equal(lines_with(log, "no news of other nodes"), 1);
    unlink(others);
    run_ticks(rig, 610);
    assert_int_equal(lines_with(log, "no news of other nodes"), 1);
    write_others(of_one);
    run_ticks(rig, 610);
    assert_int_equal(lines_with(log, "1 workloads in"), 1);
    assert_false(isnan(rig_value(rig, CAUSED_TOTAL, ""))); /* the hog is named by what is seen */
    rig->log.fd = -1;
    fclose(log);
}
