/*
 * lost_time: seconds by cause and by who takes; containers that come, get names, are called in and
 * end; what is exposed where reads are not counted; what people are shown.
 */
#include "collectors/lost_time/takers.h"
#include "collectors/table.h"
#include "exporter/live/blame.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define LOST "interference_container_lost_seconds"
#define TAKEN "interference_container_cpu_taken_seconds"
#define EXPOSED "interference_container_exposed_cpu_seconds"

static const uint64_t second = 1000000000;

static struct rig *start_rig(const char *psi_words, uint32_t lacks)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &lost_time_collector);
    rig_flag(rig, "--collector.lost_time.period=2s");
    assert_int_equal(live_new(&rig->env.live), 0);
    if (psi_words)
        verdict_set(&rig->fake.check, REASON_OK, "%s", psi_words);
    rig->fake.lacks = lacks;
    rig_start(rig);
    return rig;
}

static int setup(void **state)
{
    *state = start_rig(NULL, UINT32_C(1) << GROUP_DELAYS);
    return 0;
}

/* A program counts delays. */
static int setup_delays(void **state)
{
    *state = start_rig(NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    live_free(rig->env.live);
    return rig_teardown(state);
}

/* What it may have: CPUs, and on which. */
static void may_have(struct rig *rig, const char *key, double entitled, uint64_t set)
{
    struct fake_group *bounds = fake_group(&rig->fake, key, GROUP_BOUNDS);
    bounds->cpus = 1;
    bounds->present = 1u << group_index(GROUP_BOUNDS, ROLE_ENTITLED_NS) |
                      1u << group_index(GROUP_BOUNDS, ROLE_CPU_SET);
    bounds->count[0][group_index(GROUP_BOUNDS, ROLE_ENTITLED_NS)] = (uint64_t)(entitled * 1e9);
    bounds->count[0][group_index(GROUP_BOUNDS, ROLE_CPU_SET)] = set;
}

/* One second of a container: shares of it. */
static void live_on(struct rig *rig, const char *key, double cpus, double throttled, double some,
                    double full)
{
    struct fake_group *waits = fake_group(&rig->fake, key, GROUP_WAITS);
    waits->cpus = 1;
    fake_group_run(waits, 0, second);
    fake_group_add(waits, 0, ROLE_CPU_TIME_NS, (uint64_t)(cpus * 1e9));
    fake_group_add(waits, 0, ROLE_QUOTA_PERIODS, 10);
    fake_group_add(waits, 0, ROLE_THROTTLED_PERIODS, (uint64_t)(throttled * 10 + 0.5));
    fake_group_add(waits, 0, ROLE_CPU_SOME_NS, (uint64_t)(some * 1e9));
    fake_group_add(waits, 0, ROLE_CPU_FULL_NS, (uint64_t)(full * 1e9));
}

static double lost(struct rig *rig, const char *name, const char *cause)
{
    char container[64];
    snprintf(container, sizeof container, "container=\"%s\"", name);
    return rig_value_of(rig, LOST, container, cause);
}

static const struct container *next_of(void *context)
{
    struct rig *rig = ((void **)context)[0];
    size_t *i = ((void **)context)[1];
    return *i < rig->n_containers ? &rig->containers[(*i)++] : NULL;
}

/* A tick with what people see of it. */
static void tick(struct rig *rig, struct live_view *view)
{
    assert_int_equal(live_reserve(rig->env.live, rig->n_containers), 0);
    live_begin(rig->env.live);
    (void)rig_tick(rig);
    size_t i = 0;
    void *context[] = {rig, &i};
    live_show(rig->env.live, &rig->tick, next_of, context);
    if (view)
        assert_int_equal(live_copy(rig->env.live, view), 0);
}

/* So many seconds of the one container, alike. */
static void live_for(struct rig *rig, int seconds, double cpus, double throttled, double waits)
{
    for (int i = 0; i < seconds; i++) {
        live_on(rig, "a", cpus, throttled, waits, waits);
        tick(rig, NULL);
    }
}

TEST_ON(its_own_limit, struct rig *rig, setup, teardown)
{
    struct live_view view;
    rig_container(rig, "a");
    may_have(rig, "a", 1, 1);
    live_for(rig, 7, 0.2, 1, 0.8);
    live_on(rig, "a", 0.2, 1, 0.8, 0.8);
    tick(rig, &view);
    assert_true(fabs(lost(rig, "a", "cause=\"own_quota\"") - 5.6) < 1e-6); /* of seven seconds */
    assert_int_equal(rig_series(rig, "container=\"a\""), 1 + 1);           /* and info */
    assert_int_equal(live_blame(&view, &view.containers[0]), BLAME_OWN_QUOTA);
    assert_true(fabs(view.containers[0].lost.per_second[LOSS_OWN_QUOTA] - 0.8) < 1e-6);
    assert_true(fabs(view.containers[0].number[LIVE_CPUS] - 0.2) < 1e-6);
    live_view_release(&view);
}

/* The hog uses 1.5 CPUs of 1, another 0.6 of 0.5; the victim waits half of the time. A third one
 * takes as much on CPUs that are not the victim's. */
TEST_ON(who_takes, struct rig *rig, setup, teardown)
{
    struct live_view view;
    static const char *const names[] = {"hog", "other", "apart", "victim"};
    static const double uses[] = {1.5, 0.6, 1.5, 0.5}, may[] = {1, 0.5, 1, 0.7};
    static const uint64_t on[] = {3, 2, 4, 2};
    for (int i = 0; i < 4; i++) {
        rig_container(rig, names[i]);
        may_have(rig, names[i], may[i], on[i]);
    }
    for (int t = 0; t < 8; t++) {
        for (int i = 0; i < 4; i++)
            live_on(rig, names[i], uses[i], 0, i == 3 ? 0.5 : 0, i == 3 ? 0.5 : 0);
        tick(rig, NULL);
    }
    assert_true(fabs(lost(rig, "victim", "cause=\"cpu_neighbour\"") - 3.5) < 1e-6);
    assert_true(fabs(rig_value(rig, TAKEN, "container=\"hog\"") - 3.5 * 0.5 / 0.6) < 1e-6);
    assert_true(fabs(rig_value(rig, TAKEN, "container=\"other\"") - 3.5 * 0.1 / 0.6) < 1e-6);
    assert_true(isnan(rig_value(rig, TAKEN, "container=\"apart\"")));
    tick(rig, &view);
    for (size_t i = 0; i < view.n; i++)
        if (strcmp(view.containers[i].name, "victim") == 0) {
            assert_int_equal(view.containers[i].lost.takers, 2);
            assert_false(view.containers[i].lost.takers_seen);
            assert_int_equal(view.containers[i].lost.taker[0],
                             container_tag(rig->containers[0].slot, rig->containers[0].gen));
        }
    live_view_release(&view);
}

/* As many as may be monitored: what a victim lost is charged whole, and the most come first. */
TEST(four_thousand_take)
{
    enum { ALL = 4096 };
    struct lost_takers takers = {calloc(ALL, sizeof *takers.at), ALL};
    struct lost_share most[3];
    double sum = 0;
    assert_non_null(takers.at);
    for (size_t i = 0; i < ALL; i++)
        takers.at[i] = (struct lost_taker){
            .slot = i, .cpu_set = 1, .excess_cpus = 0.05 + (double)(i * 1237 % ALL)};
    assert_int_equal(lost_takers_charge(&takers, ALL, 1, 100, most, 3), 3);
    for (size_t i = 0; i < ALL; i++)
        sum += takers.at[i].taken_seconds;
    assert_true(fabs(sum - 100) < 1e-6);
    for (int i = 0; i < 3; i++)
        assert_true(takers.at[most[i].slot].excess_cpus == 0.05 + ALL - 1 - i);
    free(takers.at);
}

static struct lost_pairs pairs;

TEST(pairs_add_up)
{
    struct lost_share most[2];
    lost_pairs_clear(&pairs);
    lost_pairs_add(&pairs, 1, 2, 0.1);
    lost_pairs_add(&pairs, 1, 3, 0.1);
    lost_pairs_add(&pairs, 1, 2, 0.2);
    lost_pairs_add(&pairs, 1, LOST_NOBODY, 0.5);
    lost_pairs_add(&pairs, 1, 4, 0.05);
    lost_pairs_add(&pairs, 2, 1, 7);
    assert_true(fabs(lost_pairs_sum(&pairs, 1) - 0.95) < 1e-12);
    assert_int_equal(lost_pairs_most(&pairs, 1, most, 2), 2);
    assert_int_equal(most[0].slot, 2);
    assert_true(fabs(most[0].ratio - 0.3 / 0.95) < 1e-12);
    assert_int_equal(most[1].slot, 3);
    assert_int_equal(lost_pairs_most(&pairs, 3, most, 2), 0);
    assert_true(lost_pairs_sum(&pairs, 3) == 0);
    lost_pairs_clear(&pairs);
    assert_true(lost_pairs_sum(&pairs, 1) == 0);
}

/* What does not fit is left out, and nobody gets what is another's. */
TEST(too_many_pairs)
{
    lost_pairs_clear(&pairs);
    for (uint32_t i = 0; i < 4 * LOST_PAIRS; i++)
        lost_pairs_add(&pairs, i % 64, i / 64, 1);
    double sum = 0;
    for (uint32_t from = 0; from < 64; from++) {
        double of = lost_pairs_sum(&pairs, from);
        assert_true(of <= 4 * LOST_PAIRS / 64);
        sum += of;
    }
    assert_true(sum > LOST_PAIRS / 2 && sum <= LOST_PAIRS);
}

static void wait_for(struct rig *rig, const char *key, double delay)
{
    struct fake_group *delays = fake_group(&rig->fake, key, GROUP_DELAYS);
    delays->cpus = 1;
    fake_group_run(delays, 0, second);
    fake_group_add(delays, 0, ROLE_RUN_DELAY_NS, (uint64_t)(delay * 1e9));
}

static void take(struct rig *rig, const struct container *from, const struct container *by,
                 double seconds)
{
    rig->fake.takings[rig->fake.n_takings++] = (struct cpu_taking){
        .from = container_tag(from->slot, from->gen),
        .by = by ? container_tag(by->slot, by->gen) : 0,
        .ns = (uint64_t)(seconds * 1e9),
    };
}

/* The victim's tasks wait twice as long as some of them do, a quarter of it for its own limit: the
 * rest is what it lost, and that is whose who were seen to have its CPUs. By CPU time it would be
 * the hog's alone, who takes most beyond its share. What it is told to wait is a share of time. */
TEST_ON(who_was_seen, struct rig *rig, setup_delays, teardown)
{
    struct live_view view;
    struct container *c[3];
    static const char *const names[] = {"hog", "thief", "victim"};
    static const double uses[] = {1.5, 0.2, 0.3};
    for (int i = 0; i < 3; i++) {
        c[i] = rig_container(rig, names[i]);
        may_have(rig, names[i], 0.5, 1);
    }
    for (int t = 0; t < 9; t++) {
        for (int i = 0; i < 3; i++) {
            live_on(rig, names[i], uses[i], i == 2 ? 0.2 : 0, i == 2 ? 0.8 : 0, i == 2 ? 0.8 : 0);
            wait_for(rig, names[i], i == 2 ? 1.6 : 0);
        }
        take(rig, c[2], c[1], 0.3);
        take(rig, c[2], NULL, 0.1);
        take(rig, c[2], c[1], 0.3);
        take(rig, c[2], c[0], 0.1);
        take(rig, c[0], c[2], 0.1);
        tick(rig, t < 8 ? NULL : &view);
    }
    double was = lost(rig, "victim", "cause=\"cpu_neighbour\"");
    assert_true(fabs(was - 8 * 1.6 * 0.8) < 1.6);
    assert_true(fabs(lost(rig, "victim", "cause=\"own_quota\"") - 8 * 0.8 * 0.2) < 0.2);
    assert_true(fabs(rig_value(rig, TAKEN, "container=\"thief\"") - was * 6 / 8) < 1e-6);
    assert_true(fabs(rig_value(rig, TAKEN, "container=\"hog\"") - was * 1 / 8) < 1e-6);
    assert_true(isnan(rig_value(rig, TAKEN, "container=\"victim\"")));
    for (size_t i = 0; i < view.n; i++)
        if (strcmp(view.containers[i].name, "victim") == 0) {
            const struct live_lost *told = &view.containers[i].lost;
            assert_true(told->takers_seen);
            assert_int_equal(told->takers, 2);
            assert_int_equal(told->taker[0], container_tag(c[1]->slot, c[1]->gen));
            assert_true(fabs(told->taker_share[0] - 6.0 / 8) < 1e-6);
            assert_true(fabs(told->per_second[LOSS_CPU_NEIGHBOUR] - 0.64) < 1e-6);
        }
    live_view_release(&view);
    rig_end(rig, c[2]);
    tick(rig, NULL);
    tick(rig, NULL);
    assert_false(fake_group(&rig->fake, "victim", GROUP_DELAYS)->open);
}

/* What was seen is a small part of what it waited, or of one that has ended: by CPU time then;
 * and a delay that was not read is what pressure says. */
TEST_ON(too_little_was_seen, struct rig *rig, setup_delays, teardown)
{
    struct container *hog = rig_container(rig, "hog"), *other = rig_container(rig, "other");
    struct container *victim = rig_container(rig, "victim"), ended = *other;
    may_have(rig, "hog", 0.5, 1);
    may_have(rig, "other", 0.5, 1);
    may_have(rig, "victim", 0.5, 1);
    ended.gen += 7;
    for (int t = 0; t < 8; t++) {
        live_on(rig, "hog", 1.5, 0, 0, 0);
        live_on(rig, "other", 0.2, 0, 0, 0);
        live_on(rig, "victim", 0.3, 0, 0.5, 0.5);
        wait_for(rig, "victim", 0.5);
        fake_group(&rig->fake, "victim", GROUP_DELAYS)->no_reading = t < 4;
        take(rig, victim, other, 0.04);
        take(rig, victim, &ended, 0.0);
        take(rig, &ended, other, 5);
        tick(rig, NULL);
    }
    assert_true(isnan(rig_value(rig, TAKEN, "container=\"other\"")));
    assert_true(fabs(rig_value(rig, TAKEN, "container=\"hog\"") - 3.5) < 0.6);
    assert_true(fabs(lost(rig, "victim", "cause=\"cpu_neighbour\"") - 3.5) < 0.6);
    (void)hog;
}

/* Below every threshold nothing is counted, and it has no series. */
TEST_ON(nothing_has_no_series, struct rig *rig, setup, teardown)
{
    struct live_view view;
    rig_container(rig, "a");
    for (int i = 0; i < 10; i++) {
        live_on(rig, "a", 0.9, 0, 0.05, 0.05);
        tick(rig, i < 9 ? NULL : &view);
    }
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_int_equal(live_blame(&view, &view.containers[0]), BLAME_NOTHING);
    live_view_release(&view);
}

/* What was lost before it had a name is under its name then; a rename takes the numbers along. */
TEST_ON(names_and_ends, struct rig *rig, setup, teardown)
{
    struct container *a = rig_unnamed(rig, "a");
    live_for(rig, 4, 0.2, 1, 0.8);
    assert_int_equal(rig_series(rig, "cause="), 0);
    rig_name(rig, a);
    tick(rig, NULL);
    double before = lost(rig, "a", "cause=\"own_quota\"");
    assert_true(before > 0);
    rig_rename(rig, a, "b");
    tick(rig, NULL);
    assert_true(lost(rig, "b", "cause=\"own_quota\"") >= before);
    rig_end(rig, a);
    tick(rig, NULL);
    tick(rig, NULL);
    assert_false(fake_group(&rig->fake, "a", GROUP_WAITS)->open);
    assert_false(fake_group(&rig->fake, "a", GROUP_BOUNDS)->open);
    assert_true(lost(rig, "b", "cause=\"own_quota\"") > 0); /* it lingers */
    rig_forget(rig, a);
    tick(rig, NULL);
    assert_int_equal(rig_series(rig, "cause="), 0);
}

/* Called in: read again when descriptors are back; a fallen total and an error cost a window. */
TEST_ON(readings_that_fail, struct rig *rig, setup, teardown)
{
    rig_container(rig, "a");
    live_for(rig, 4, 0.2, 1, 0.8);
    struct fake_group *waits = fake_group(&rig->fake, "a", GROUP_WAITS);
    double before = lost(rig, "a", "cause=\"own_quota\"");
    struct live_view view;
    waits->read_error = -EMFILE;
    tick(rig, NULL);
    tick(rig, &view);
    assert_false(view.containers[0].lost.told); /* the verdict of before does not stand */
    live_view_release(&view);
    assert_true(rig->status.discarded[DISCARD_READ_ERROR] > 0);
    waits->read_error = 0;
    tick(rig, NULL);
    tick(rig, NULL);
    assert_true(waits->open);
    waits->count[0][group_index(GROUP_WAITS, ROLE_CPU_SOME_NS)] = 0;
    tick(rig, NULL);
    tick(rig, NULL);
    assert_true(rig->status.discarded[DISCARD_RESET] + rig->status.discarded[DISCARD_READ_ERROR] >
                0);
    assert_true(lost(rig, "a", "cause=\"own_quota\"") >= before);
}

/* Its reads are not counted: what it used while memory was slow is told, not what it lost. */
TEST_ON(exposed, struct rig *rig, setup, teardown)
{
    rig_container(rig, "a");
    for (int i = 0; i < 8; i++) {
        live_on(rig, "a", 0.5, 0, 0, 0);
        rig->facts.slow_memory_tick = rig->tick.number + 1;
        rig->facts.slow_memory_ratio = i < 4 ? 1 : 0;
        tick(rig, NULL);
    }
    assert_true(fabs(rig_value(rig, EXPOSED, "container=\"a\"") - 2) < 0.6);
    assert_int_equal(rig_series(rig, "cause="), 0);
}

/* Where they are counted: 1e6 reads a second that take 100 ns more than 150 are 0.1 s. */
TEST_ON(slow_reads, struct rig *rig, setup, teardown)
{
    rig_container(rig, "a");
    assert_true(rig->facts.reads.wanted);
    assert_int_equal(read_latencies_reserve(&rig->facts.reads, 1), 0);
    for (int i = 0; i < 8; i++) {
        live_on(rig, "a", 0.5, 0, 0, 0);
        rig->facts.slow_memory_tick = rig->tick.number + 1;
        rig->facts.slow_memory_ratio = 1;
        *read_latencies_entry(&rig->facts.reads, 0) = (struct read_latency){
            .tick = rig->tick.number + 1,
            .latency_seconds = i < 4 ? 250e-9 : 160e-9,
            .baseline_seconds = 150e-9,
            .reads = 1e6,
        };
        tick(rig, NULL);
    }
    assert_true(fabs(lost(rig, "a", "cause=\"memory_slow\"") - 0.4) < 0.11);
    assert_true(isnan(rig_value(rig, EXPOSED, "container=\"a\"")));
    for (int i = 0; i < 12; i++) { /* its counters are called in */
        live_on(rig, "a", 0.5, 0, 0, 0);
        rig->facts.slow_memory_tick = rig->tick.number + 1;
        tick(rig, NULL);
    }
    assert_true(rig_value(rig, EXPOSED, "container=\"a\"") > 2);
    read_latencies_release(&rig->facts.reads);
}

/* Every other window: it waits in between as well, while the node is short of memory, too. */
TEST_ON(a_limit_that_is_reached_in_bursts, struct rig *rig, setup, teardown)
{
    rig_container(rig, "a");
    for (int i = 0; i < 16; i++) {
        struct fake_group *waits = fake_group(&rig->fake, "a", GROUP_WAITS);
        live_on(rig, "a", 0.5, 0, 0, 0);
        fake_group_add(waits, 0, ROLE_MEMORY_SOME_NS, second / 2);
        fake_group_add(waits, 0, ROLE_NODE_MEMORY_SOME_NS, second / 2);
        fake_group_add(waits, 0, ROLE_NODE_RECLAIMED, 1000);
        fake_group_add(waits, 0, ROLE_MEMORY_LIMIT_EVENTS, i % 4 < 2 ? 50 : 0);
        tick(rig, NULL);
    }
    assert_true(lost(rig, "a", "cause=\"own_memory_limit\"") > 5);
    assert_int_equal(rig_series(rig, "cause=\"memory_full\""), 0);
}

TEST_WITH(without_pressure, NULL, teardown)
{
    struct rig *rig = start_rig("PSI is off", UINT32_C(1) << GROUP_DELAYS);
    struct live_view view;
    *state = rig;
    rig_container(rig, "a");
    for (int i = 0; i < 10; i++) {
        live_on(rig, "a", 0.2, 0, 0, 0);
        fake_group(&rig->fake, "a", GROUP_WAITS)->present = 7;
        tick(rig, i < 9 ? NULL : &view);
    }
    assert_string_equal(rig->status.verdict.words, "PSI is off");
    assert_int_equal(live_blame(&view, &view.containers[0]), BLAME_UNKNOWN);
    assert_non_null(view.containers[0].lost.untold);
    live_view_release(&view);
}

TEST_ON(a_steady_tick_allocates_nothing, struct rig *rig, setup, teardown)
{
    if (!malloc_count_works())
        skip();
    rig_container(rig, "a");
    live_for(rig, 8, 0.2, 1, 0.8);
    for (int i = 0; i < 4; i++) {
        live_on(rig, "a", 0.2, 1, 0.8, 0.8);
        rig->tick.number++;
        rig->tick.mono_ns += second;
        assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
        uint64_t before = malloc_count();
        assert_int_equal(lost_time_collector.collect(rig->collector, &rig->tick), 0);
        assert_int_equal(malloc_count() - before, 0);
    }
}
