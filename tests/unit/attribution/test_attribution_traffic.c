/* Who makes memory slow by its traffic: what CPU time cannot tell. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/activity.h"
#include "collectors/attribution/lanes/lane.h"
#include "collectors/table.h"
#include "tests/unit/support/interference_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define SECOND_NS 1000000000ull

/* ---- counts to lines a second ---- */

enum { WORLD_CPUS = 3 };

/* Rows of the group traffic, and two nodes: CPU 0 is node 0's probe's, CPU 2 is of node 1. */
struct world {
    struct machine machine;
    struct activity_nodes nodes;
    struct reading before, after;
    struct group_window window;
};

static struct reading_row *now(struct world *w, size_t cpu)
{
    return reading_row(&w->after, cpu);
}

static void count(struct world *w, size_t cpu, uint64_t misses, uint64_t rfo)
{
    now(w, cpu)->enabled_ns = now(w, cpu)->running_ns = SECOND_NS;
    now(w, cpu)->count[1] = misses;
    now(w, cpu)->count[2] = rfo;
}

static void make_reading(struct reading *reading)
{
    reading->n = reading->cap = WORLD_CPUS;
    reading->stride_bytes = reading_stride(GROUP_TRAFFIC);
    reading->rows = calloc(WORLD_CPUS, reading->stride_bytes);
    for (size_t i = 0; i < WORLD_CPUS; i++) {
        reading_row(reading, i)->cpu = (int32_t)i;
        reading_row(reading, i)->present = 7;
    }
}

static int world_setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    make_reading(&w->before);
    make_reading(&w->after);
    w->machine.numa_nodes = 1;
    w->nodes.machine = &w->machine;
    w->nodes.n = 1;
    w->window =
        (struct group_window){.group = GROUP_TRAFFIC, .before = &w->before, .after = &w->after};
    *state = w;
    return 0;
}

static int world_teardown(void **state)
{
    struct world *w = *state;
    free(w->before.rows);
    free(w->after.rows);
    free(w);
    return 0;
}

static double lines(struct world *w, double seconds)
{
    struct activity out;
    assert_int_equal(traffic_of_window(&w->window, &w->nodes, seconds, &out), TRAFFIC_OK);
    assert_true(out.placed);
    return out.on[0];
}

/* Two seconds: 1000 misses are 500 lines a second; RFOs count as far as they can have missed. */
TEST_ON(stores_count_twice_if_they_miss, struct world *w, world_setup, world_teardown)
{
    count(w, 1, 1000, 400);
    assert_true(lines(w, 2) == 700);
    count(w, 1, 1000, 4000);
    assert_true(lines(w, 2) == 1000);
    now(w, 1)->present = 3; /* RFOs are not counted */
    assert_true(lines(w, 2) == 500);
    now(w, 1)->present = 7;
    reading_row(&w->before, 1)->count[1] = 200;
    count(w, 1, 1000, 100);
    assert_true(lines(w, 1) == 900);
}

TEST_ON(each_cpu_is_scaled_by_its_own_clocks, struct world *w, world_setup, world_teardown)
{
    count(w, 1, 1000, 0);
    count(w, 2, 1000, 0);
    now(w, 2)->running_ns = SECOND_NS / 4;
    assert_true(lines(w, 1) == 5000);
    w->nodes.at[0].probe_cpu = 2;
    assert_true(lines(w, 1) == 1000);
}

/* A hundredth of a CPU that was not counted is no loss, nor is a tenth of all. */
TEST_ON(starved_traffic_is_not_known, struct world *w, world_setup, world_teardown)
{
    struct activity out;
    count(w, 1, 1000, 0);
    count(w, 2, 0, 0);
    now(w, 2)->running_ns = 0;
    now(w, 2)->enabled_ns = SECOND_NS / 8;
    assert_int_equal(traffic_of_window(&w->window, &w->nodes, 1, &out), TRAFFIC_STARVED);
    now(w, 2)->enabled_ns = SECOND_NS / 10;
    assert_true(lines(w, 1) == 1000);
    now(w, 1)->enabled_ns = now(w, 1)->running_ns = 0;
    now(w, 2)->enabled_ns = SECOND_NS / 90;
    assert_int_equal(traffic_of_window(&w->window, &w->nodes, 1, &out), TRAFFIC_STARVED);
    now(w, 2)->enabled_ns = SECOND_NS / 110;
    assert_true(lines(w, 1) == 0);
    reading_row(&w->before, 1)->count[1] = 2000;
    assert_int_equal(traffic_of_window(&w->window, &w->nodes, 1, &out), TRAFFIC_RESET);
}

/* ---- the collector ---- */

static int traffic_setup(void **state)
{
    return interference_setup_with(state, "--collector.attribution.traffic", 0);
}

static int lacking_setup(void **state)
{
    return interference_setup_with(state, "--collector.attribution.traffic", 1u << GROUP_TRAFFIC);
}

static struct fake_group *traffic_of(struct rig *rig, const char *name)
{
    struct fake_group *group = fake_group(&rig->fake, name, GROUP_TRAFFIC);
    group->cpus = INTERFERENCE_RIG_CPUS;
    return group;
}

/* Both run all the time, with CPU time alike. */
static void use(struct rig *rig, const char *name, int cpu, double misses, double rfo)
{
    interference_run(rig, name, cpu, 1);
    fake_group_run(traffic_of(rig, name), cpu, SECOND_NS);
    fake_group_add(traffic_of(rig, name), cpu, ROLE_LLC_MISSES, (uint64_t)misses);
    fake_group_add(traffic_of(rig, name), cpu, ROLE_RFO, (uint64_t)rfo);
}

/* A stream that is prefetched by turns makes memory 30 % slower; beside it one that computes, and
 * one that uses a little memory at other times. The hog begins when the others' traffic is known.
 */
static void second(struct rig *rig)
{
    uint64_t t = rig->tick.number;
    double on = t > 30 ? interference_square(t, 12, 13, 0) : 0;
    use(rig, "stream", 1, 1e8 * on, 1e4);
    use(rig, "compute", 2, 2e4, 3e8 * interference_square(t, 17, 14, 5));
    use(rig, "light", 3, 4e6 * interference_square(t, 11, 9, 3), 0);
    interference_tick(rig, 100 * exp(0.3 * on) * interference_noise(0.015));
}

static void three_containers(struct rig *rig)
{
    interference_container(rig, "stream");
    interference_container(rig, "compute");
    interference_container(rig, "light");
    traffic_of(rig, "stream");
    traffic_of(rig, "compute");
    traffic_of(rig, "light");
}

static const char *basis(struct rig *rig)
{
    json_t *root, *domain = interference_page(rig, 0, &root);
    const char *text = json_string_value(json_object_get(domain, "basis"));
    bool traffic = strcmp(text, "traffic") == 0;
    assert_true(traffic || strcmp(text, "cpu_time") == 0);
    json_decref(root);
    return traffic ? "traffic" : "cpu_time";
}

static size_t groups_open(const struct rig *rig, bool traffic)
{
    size_t n = 0;
    for (size_t i = 0; i < rig->fake.n_groups; i++)
        n += rig->fake.groups[i].open && (rig->fake.groups[i].group == GROUP_TRAFFIC) == traffic;
    return n;
}

static void until_named(struct rig *rig)
{
    second(rig);
    for (int i = 0; i < 200 && isnan(rig_value(rig, CAUSED, "container=\"stream\"")); i++)
        second(rig);
    assert_false(isnan(rig_value(rig, CAUSED, "container=\"stream\"")));
}

/* And its CPU time says nothing, nor do the RFOs of the one that only hits. */
RIG_TEST(a_prefetched_stream_is_named, traffic_setup)
{
    three_containers(rig);
    int hurting = 0, named = 0;
    double last = NAN;
    for (int i = 0; i < 300; i++) {
        second(rig);
        double caused = rig_value(rig, CAUSED, "container=\"stream\"");
        hurting += i >= 90 && interference_square((uint64_t)i, 12, 13, 0) > 0;
        named += i >= 90 && !isnan(caused);
        last = isnan(caused) ? last : caused;
        assert_int_equal(rig_series(rig, "container=\"compute\""), 0);
        assert_int_equal(rig_series(rig, "container=\"light\""), 0);
    }
    assert_true(named > hurting * 8 / 10);
    assert_true(last > 24e-9 && last < 45e-9); /* 35 are true */
    assert_string_equal(basis(rig), "traffic");
    json_t *root, *domain = interference_page(rig, 0, &root);
    json_t *row = json_array_get(json_object_get(domain, "aggressors"), 0);
    if (row) /* of its peak */
        assert_true(interference_number(row, "activity") < 1.1);
    json_decref(root);
}

/* In step with one who is innocent, and always using a whole CPU: by CPU time a group of the two
 * (test_attribution_onsets). */
RIG_TEST(who_would_frame_another_is_named, traffic_setup)
{
    const char *const names[] = {"spinner", "innocent"};
    for (int i = 0; i < 2; i++) {
        interference_container(rig, names[i]);
        traffic_of(rig, names[i]);
    }
    int named = 0;
    for (uint64_t i = 0; i < 400; i++) {
        double on = i > 30 ? interference_square(i, 12, 13, 0) : 0;
        use(rig, "spinner", 1, 1e8 * on, 1e4);
        use(rig, "innocent", 2, 1e6 * on, 0);
        interference_tick(rig, 100 * exp(0.2 * on) * interference_noise(0.015));
        named += !isnan(rig_value(rig, CAUSED, "container=\"spinner\""));
        assert_true(isnan(rig_value(rig, CAUSED, "container=\"innocent\"")));
    }
    assert_true(named > 100);
}

/* It never stops, and has a quarter more at times: by CPU time that might be waiting. */
RIG_TEST(traffic_that_grows_a_little_is_no_waiting, traffic_setup)
{
    interference_container(rig, "stream");
    traffic_of(rig, "stream");
    unsigned hurting = 0, named = 0;
    for (uint64_t i = 0; i < 400; i++) {
        double more = interference_square(i, 12, 13, 0);
        use(rig, "stream", 1, 1e8 * (1 + 0.25 * more) * interference_noise(0.01), 0);
        interference_tick(rig, 100 * exp(0.2 * more) * interference_noise(0.015));
        hurting += i >= 200 && more > 0;
        named += i >= 200 && more > 0 && !isnan(rig_value(rig, CAUSED, "container=\"stream\""));
    }
    assert_true(named > hurting * 8 / 10);
}

RIG_TEST(by_cpu_time_it_is_not, interference_setup)
{
    three_containers(rig);
    for (int i = 0; i < 300; i++)
        second(rig);
    assert_int_equal(rig_series(rig, "container="), 0);
    assert_string_equal(basis(rig), "cpu_time");
}

/* The collector begins with its context. */
static const struct attribution_node *node_of(const struct rig *rig)
{
    return ((const struct attribution_context *)rig->collector)->node[0];
}

/* Nothing is expected before the slope of all traffic is significant. */
RIG_TEST(all_traffic_says_what_to_expect_of_each, traffic_setup)
{
    three_containers(rig);
    const struct attribution_node *node = node_of(rig);
    unsigned before = 0;
    for (int i = 0; i < 300; i++) {
        second(rig);
        const struct attribution_config *config = &node->domain.config;
        const struct attribution_slot *slot =
            attribution_candidate(&node->pooled->domain, &node->pooled->all);
        bool significant = slot && slot->score >= 4;
        before += !significant;
        assert_true(config->mu0 == (significant ? node->pooled->domain.beta[0] : 0));
        assert_true(config->tau == (significant ? config->mu0 : 0.3));
    }
    assert_true(before > 30 && before < 100);
    /* The peak is the stream's traffic and some of the light one's. */
    assert_true(node->pooled->unit > 1e8 && node->pooled->unit < 1.15e8);
    assert_true(fabs(node->domain.config.mu0 / 0.3 - 1) < 0.15);
}

/* The total is known without him who has little of it, and not without the hog. */
RIG_TEST(the_total_without_somebody, traffic_setup)
{
    three_containers(rig);
    until_named(rig);
    const struct attribution_domain *pooled = &node_of(rig)->pooled->domain;
    uint64_t readings = pooled->readings;
    fake_group(&rig->fake, "compute", GROUP_TRAFFIC)->no_reading = true;
    second(rig);
    assert_true(pooled->readings == readings + 1);
    fake_group(&rig->fake, "stream", GROUP_TRAFFIC)->no_reading = true;
    second(rig);
    assert_true(pooled->readings == readings + 1);
    fake_group(&rig->fake, "stream", GROUP_TRAFFIC)->no_reading = false;
    second(rig);
    assert_true(pooled->readings == readings + 2);
}

/* One group a container, and none of the others; without the flag, none. */
RIG_TEST(only_what_is_asked_for_is_opened, traffic_setup)
{
    three_containers(rig);
    second(rig);
    assert_int_equal(groups_open(rig, true), 3);
    assert_int_equal(groups_open(rig, false), 0);
}

RIG_TEST(without_the_flag_nothing_is_opened, interference_setup)
{
    three_containers(rig);
    second(rig);
    assert_int_equal(groups_open(rig, true), 0);
    assert_true(groups_open(rig, false) > 0);
}

/* By them the alert on starved counters leaves out nodes on which others take turns. */
RIG_TEST(times_of_its_own_counters_are_told, traffic_setup)
{
    three_containers(rig);
    second(rig);
    assert_true(rig->status.pmu_enabled_seconds == 3);
    assert_true(rig->status.pmu_running_seconds == 3);
    traffic_of(rig, "light")->enabled_ns[3] += SECOND_NS;
    second(rig);
    assert_true(rig->status.pmu_enabled_seconds == 7);
    assert_true(rig->status.pmu_running_seconds == 6);
}

RIG_TEST(without_the_flag_it_has_none, interference_setup)
{
    three_containers(rig);
    second(rig);
    assert_true(rig->status.pmu_enabled_seconds == 0);
}

/* In that tick it is absent, and nothing is learned of it or of the total. */
RIG_TEST(starved_traffic_is_absent, traffic_setup)
{
    three_containers(rig);
    until_named(rig);
    double starved = (double)rig->status.discarded[DISCARD_STARVED];
    for (int i = 0; i < 5; i++) {
        use(rig, "compute", 2, 2e4, 0);
        use(rig, "light", 3, 0, 0);
        traffic_of(rig, "stream")->enabled_ns[1] += SECOND_NS;
        fake_group_add(traffic_of(rig, "stream"), 1, ROLE_LLC_MISSES, 100000000);
        interference_tick(rig, 135);
        assert_true(isnan(rig_value(rig, CAUSED, "container=\"stream\"")));
    }
    assert_true((double)rig->status.discarded[DISCARD_STARVED] == starved + 5);
    until_named(rig);
}

/* ---- across a restart ---- */

static void start_again(struct rig *rig, const struct rig *before, struct state *state)
{
    interference_again(rig, before, state, "--collector.attribution.traffic");
    rig_start(rig);
    three_containers(rig);
}

/* The first tick after it expects of each what the last one before did. */
TEST_WITH(the_slope_of_all_traffic_outlives_a_restart, traffic_setup, rig_teardown)
{
    struct rig *before = *state;
    static struct rig after;
    three_containers(before);
    until_named(before);
    struct state *said = interference_saved(before, 0);
    start_again(&after, before, said);
    assert_true(node_of(&after)->pooled->unit == node_of(before)->pooled->unit);
    for (int i = 0; i < 60; i++) {
        second(&after);
        double expected = node_of(before)->domain.config.mu0;
        assert_true(expected > 0 && fabs(node_of(&after)->domain.config.mu0 / expected - 1) < 0.15);
    }
    rig_release(&after);
    state_free(said);
    /* What nobody can have learned is thrown away. */
    said = interference_saved(before, 0x3f);
    start_again(&after, before, said);
    assert_true(node_of(&after)->pooled->unit < node_of(before)->pooled->unit);
    assert_true(node_of(&after)->pooled->all.ticket == 0);
    rig_release(&after);
    state_free(said);
}

RIG_TEST(what_cannot_be_counted_goes_by_cpu_time, lacking_setup)
{
    three_containers(rig);
    second(rig);
    assert_int_equal(groups_open(rig, true), 0);
    assert_string_equal(basis(rig), "cpu_time");
}

/* Nor does a new peak, and with it a new unit. */
RIG_TEST(a_tick_allocates_nothing, traffic_setup)
{
    if (!malloc_count_works())
        skip();
    three_containers(rig);
    until_named(rig);
    rig->reconciled_by_hand = true;
    uint64_t allocated = 0;
    for (int i = 0; i < 30; i++) {
        use(rig, "stream", 1, 4e8 * (i % 2), 0);
        interference_burst(rig, 0, 120);
        rig->tick.number++;
        rig->tick.mono_ns += SECOND_NS;
        assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
        uint64_t before = malloc_count();
        assert_int_equal(rig->ops->collect(rig->collector, &rig->tick), 0);
        allocated += malloc_count() - before;
    }
    assert_int_equal(allocated, 0);
}
