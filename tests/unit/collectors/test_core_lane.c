/* What collectors of the core group keep for a container: the lengths of windows, and which windows
 * are calm. */
#include "collectors/parts/container_group.h"
#include "collectors/parts/core_lane.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/unit.h"

#define SECOND 1000000000ull

/* One container that was found at 10.4 s, while ticks come each second. */
struct bench {
    struct fake_source fake;
    struct log log;
    struct container container;
    struct facts facts;
    struct collector_env env;
    struct collector_status status;
    struct core_lane lane;
    struct tick tick;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    fake_source_init(&b->fake);
    b->log.fd = -1;
    b->container = (struct container){.path = "a", .cgroup_fd = -1, .found_mono_ns = 10400000000u};
    strcpy(b->container.key, "a");
    b->env.log = &b->log;
    b->env.facts = &b->facts;
    b->env.sources = source_set_new(&b->log);
    assert_int_equal(source_set_route(b->env.sources, SCOPE_CGROUP, GROUP_CORE, &b->fake.source),
                     0);
    core_lane_init(&b->lane, &b->container, GROUP_CORE);
    b->tick = (struct tick){.mono_ns = 10 * SECOND, .interval_ns = SECOND};
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    lane_base_close(&b->lane.base, b->env.sources);
    assert_int_equal(b->fake.n_open, 0);
    source_set_free(b->env.sources);
    free(b);
    return 0;
}

static int open_lane(struct bench *b)
{
    return lane_base_open(&b->lane.base, &b->env, &b->status, "test", "is not counted");
}

static int read_after(struct bench *b, uint64_t ns)
{
    const struct window_sum *sum;
    enum window_status window;
    b->tick.number++;
    b->tick.mono_ns += ns;
    assert_int_equal(source_set_begin(b->env.sources, &b->tick), 0);
    return core_lane_read(&b->lane, &b->env, &b->status, &b->tick, &sum, &window);
}

static bool lasted(const struct bench *b, double seconds)
{
    return fabs(b->lane.window_seconds - seconds) < 1e-12;
}

TEST_ON(a_window_lasts_from_reading_to_reading, struct bench *b, setup, teardown)
{
    assert_int_equal(open_lane(b), 0);
    assert_true(lane_base_is_open(&b->lane) && b->lane.base.opened);
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 0.6)); /* since it was found */
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 1));
    assert_int_equal(read_after(b, 3 * SECOND), 0); /* ticks were missed */
    assert_true(lasted(b, 3));
}

TEST_ON(the_window_after_a_failed_read_reaches_back, struct bench *b, setup, teardown)
{
    assert_int_equal(open_lane(b), 0);
    struct fake_group *group = fake_group(&b->fake, "a", GROUP_CORE);
    read_after(b, SECOND);
    group->read_error = -EIO;
    assert_int_equal(read_after(b, SECOND), -EIO);
    group->read_error = 0;
    group->no_reading = true;
    assert_int_equal(read_after(b, SECOND), -ENODATA);
    group->no_reading = false;
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 3));
}

/* It was found long ago, and could not be opened until now. */
TEST_ON(the_first_window_is_no_longer_than_an_interval, struct bench *b, setup, teardown)
{
    verdict_set(&b->fake.open_error, REASON_FD_LIMIT, "too many open files");
    assert_int_equal(open_lane(b), -EMFILE);
    assert_false(lane_base_is_open(&b->lane) || b->lane.base.opened);
    assert_int_equal(b->status.open_failures[REASON_FD_LIMIT], 1);
    assert_string_equal(b->status.verdict.words, "too many open files");
    assert_int_equal(read_after(b, 60 * SECOND), -ENODATA);
    b->fake.open_error.reason = REASON_OK;
    assert_int_equal(open_lane(b), 0);
    assert_int_equal(read_after(b, SECOND), 0);
    assert_true(lasted(b, 1));
}

TEST_WITH(only_a_new_reason_is_worth_a_line, setup, teardown)
{
    struct collector_status status = {0};
    struct verdict why;
    verdict_set(&why, REASON_NO_DEVICE, "gone");
    assert_false(container_group_lacking(&status, -ESRCH, &why));
    assert_int_equal(status.verdict.reason, REASON_OK);
    assert_true(container_group_lacking(&status, -ENODEV, &why));
    verdict_set(&why, REASON_NO_DEVICE, "another is gone");
    assert_false(container_group_lacking(&status, -ENODEV, &why));
    assert_string_equal(status.verdict.words, "another is gone");
    verdict_set(&why, REASON_FD_LIMIT, "too many open files");
    assert_true(container_group_lacking(&status, -EMFILE, &why));
}

/* ---- the node's traffic, and which windows are calm ---- */

enum { MOST = 8 };

/* It ran on two CPUs, and on one of them nobody counted for more than a tenth of its time. */
TEST_ON(counts_that_are_missing_tell_no_rate, struct bench *b, setup, teardown)
{
    assert_int_equal(open_lane(b), 0);
    struct fake_group *group = fake_group(&b->fake, "a", GROUP_CORE);
    read_after(b, SECOND);
    for (int tenths = 0; tenths < 3; tenths++) {
        fake_group_run(group, 0, SECOND);
        group->enabled_ns[1] += (uint64_t)tenths * SECOND / 10;
        assert_int_equal(read_after(b, SECOND), 0);
        core_lane_settle(&b->lane, true, 1000);
        assert_true(b->lane.seen == (tenths < 2));
    }
}

/* Containers without counters: what they read is given. */
struct node {
    struct container container[MOST];
    struct core_lane lane[MOST];
    struct calm calm; /* the first one's */
    struct lane_slot slot[MOST];
    struct lanes lanes;
    struct facts facts;
    struct node_traffic traffic;
    struct tick tick;
};

static struct node *new_node(size_t n, const char *const *paths)
{
    struct node *node = calloc(1, sizeof *node);
    struct container *added[MOST];
    for (size_t i = 0; i < n; i++) {
        node->container[i] = (struct container){.slot = (uint32_t)i, .path = paths[i]};
        added[i] = &node->container[i];
        core_lane_init(&node->lane[i], &node->container[i], GROUP_CORE);
        node->lane[i].base.handle = 1;
        node->lane[i].window_seconds = 1;
        node->slot[i] = (struct lane_slot){&node->lane[i], &node->container[i]};
    }
    node->lanes = (struct lanes){.at = node->slot, .n = n};
    node->facts.machine.sockets = 1;
    const struct container_diff diff = {.added = {added, n}};
    assert_int_equal(path_order_reserve(&node->lanes.order, n), 0);
    core_lanes_nest(&node->lanes, &diff);
    return node;
}

static void free_node(struct node *node)
{
    path_order_release(&node->lanes.order);
    free(node);
}

/* A tick in which they read so many millions; below 0: its window is not valid. Whether the first
 * one's window was calm. */
static bool tick(struct node *node, const double *millions)
{
    struct corunners corunners;
    node->tick.number++;
    node->tick.mono_ns += SECOND;
    node_traffic_begin(&node->traffic, &node->facts);
    for (size_t i = 0; i < node->lanes.n; i++) {
        core_lane_settle(&node->lane[i], millions[i] >= 0, (uint64_t)(fabs(millions[i]) * 1e6));
        core_lane_add_up(&node->lane[i], &node->traffic);
    }
    node_traffic_end(&node->traffic, &node->tick, &node->facts);
    core_lane_corunners(&node->lane[0], &node->lanes, &node->traffic, &corunners);
    return core_lane_calm(&node->calm, &node->tick, &corunners);
}

static int ticks(struct node *node, int n, const double *millions)
{
    int calm = 0;
    for (int i = 0; i < n; i++)
        calm += tick(node, millions);
    return calm;
}

static const char *const two[] = {"/a", "/b"};

TEST_WITH(beside_quiet_neighbours_a_window_is_calm, setup, teardown)
{
    struct node *node = new_node(2, two);
    assert_int_equal(ticks(node, 20, (double[]){900, 99}), 11);
    assert_int_equal(ticks(node, 20, (double[]){900, 150}), 0);
    assert_true(node->traffic.rate[SOCKETS_ALL] == 1050e6);
    free_node(node);
}

/* 64 MB/s each on a machine that can do a thousand times as much. */
TEST_WITH(on_a_node_with_little_traffic_all_windows_are_calm, setup, teardown)
{
    struct node *node = new_node(2, two);
    assert_int_equal(ticks(node, 20, (double[]){1, 1}), 11);
    free_node(node);
}

TEST_WITH(who_is_not_seen_may_read_anything, setup, teardown)
{
    struct node *node = new_node(2, two);
    ticks(node, 20, (double[]){900, 0});
    assert_false(tick(node, (double[]){900, -1})); /* starved, reset, not opened */
    assert_true(tick(node, (double[]){900, 0}));
    node->facts.containers_unseen = 1; /* excluded, or over the limit */
    assert_false(tick(node, (double[]){900, 0}));
    node->facts.containers_unseen = 0;
    assert_true(tick(node, (double[]){900, 0}));
    node->lane[1].base.handle = 0;
    assert_false(tick(node, (double[]){900, -1}));
    node->lane[1].base.ending = true; /* read for the last time */
    assert_true(tick(node, (double[]){900, -1}));
    free_node(node);
}

/* After a failed read its window spans two ticks: it is as loud as before, no less and no more. */
TEST_WITH(a_window_over_two_ticks_counts_by_its_rate, setup, teardown)
{
    struct node *node = new_node(2, two);
    ticks(node, 20, (double[]){900, 150});
    node->lane[1].window_seconds = 2;
    assert_false(tick(node, (double[]){900, 300}));
    assert_true(node->traffic.rate[SOCKETS_ALL] == 1050e6);
    free_node(node);
}

/* A scan of one window does not make everything after it calm. */
TEST_WITH(one_odd_window_makes_no_peak, setup, teardown)
{
    struct node *node = new_node(2, two);
    assert_int_equal(ticks(node, 200, (double[]){30, 20}), 0);
    tick(node, (double[]){3000, 20});
    assert_int_equal(ticks(node, 300, (double[]){30, 20}), 0);
    free_node(node);
}

TEST_WITH(a_peak_fades_within_the_hour, setup, teardown)
{
    struct node *node = new_node(2, two);
    ticks(node, 100, (double[]){3000, 20});
    assert_true(tick(node, (double[]){30, 20}));
    ticks(node, 2 * 3600, (double[]){30, 20});
    assert_false(tick(node, (double[]){30, 20}));
    free_node(node);
}

/* kind, docker in docker: the outer counts what the inner reads, too. */
TEST_WITH(who_is_inside_is_no_neighbour, setup, teardown)
{
    static const char *const paths[] = {"/kind/pod/inner", "/kind", "/kind/pod", "/kindred"};
    struct node *node = new_node(4, paths);
    assert_int_equal(node->lane[0].outermost, 1);
    assert_int_equal(node->lane[1].outermost, -1);
    assert_int_equal(node->lane[2].outermost, 1);
    assert_int_equal(node->lane[3].outermost, -1);
    ticks(node, 20, (double[]){900, 910, 905, 2});
    assert_true(node->traffic.rate[SOCKETS_ALL] == 912e6); /* the two outermost */
    struct corunners rest;
    core_lane_corunners(&node->lane[0], &node->lanes, &node->traffic, &rest);
    assert_true(rest.known && rest.rate == 2e6);
    assert_true(tick(node, (double[]){900, 910, 905, 2}));

    /* The outer is forgotten: the next one takes its place. */
    struct container *gone[] = {&node->container[1]};
    const struct container_diff forgotten = {.forgotten = {gone, 1}};
    node->slot[1] = (struct lane_slot){0};
    core_lanes_nest(&node->lanes, &forgotten);
    assert_int_equal(node->lane[0].outermost, 2);
    assert_int_equal(node->lane[2].outermost, -1);
    free_node(node);
}
