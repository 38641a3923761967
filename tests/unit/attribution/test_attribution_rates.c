/* Who was active by himself: by node, beside the probe, without those inside, and the host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/rates.h"
#include "tests/unit/support/unit.h"

enum { LANES = 4 };

/* /a, /a/b, /a/b/c and /d, on one node; all are open and read. */
struct world {
    struct attribution_context in;
    struct attribution_node node;
    struct attribution_seat seats[LANES];
    struct container containers[LANES];
    struct attribution_lane lane[LANES];
    struct lane_slot slots[LANES];
    struct lanes lanes;
    struct activity machine;
    double host[ATTRIBUTION_NODES];
};

static int setup(void **state)
{
    static const double on[LANES] = {1.0, 0.75, 0.25, 0.5};
    static const int parent[LANES] = {-1, 0, 1, -1};
    struct world *w = calloc(1, sizeof *w);
    w->in.nodes.n = 1;
    w->in.node[0] = &w->node;
    w->node.seats = w->seats;
    w->node.n_seats = LANES;
    w->lanes = (struct lanes){.at = w->slots, .n = LANES};
    for (uint32_t i = 0; i < LANES; i++) {
        w->containers[i].slot = i;
        w->lane[i] = (struct attribution_lane){.container = &w->containers[i],
                                               .clock[0].handle = 1,
                                               .parent = parent[i],
                                               .read = true,
                                               .read_once = true,
                                               .usage = {true, on[i] + 0.5, {on[i]}}};
        w->slots[i].lane = &w->lane[i];
    }
    w->machine = (struct activity){true, 4, {1.75}};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

TEST_WITH(each_for_itself_and_the_rest_is_the_hosts, setup, teardown)
{
    struct world *w = *state;
    rates_share(&w->in, &w->lanes);
    assert_true(w->seats[0].rate == 0.25 && w->seats[1].rate == 0.5);
    assert_true(w->seats[2].rate == 0.25 && w->seats[3].rate == 0.5);
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 0.25);
}

/* The readings are not of one instant. */
TEST_WITH(nothing_is_below_zero, setup, teardown)
{
    struct world *w = *state;
    w->lane[1].usage.on[0] = 1.25;
    w->machine.on[0] = 1.25;
    rates_share(&w->in, &w->lanes);
    assert_true(w->seats[0].rate == 0);
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 0);
}

/* Its own part, and its parent's, are not known; that of what it lies further in is. */
TEST_WITH(what_is_not_read, setup, teardown)
{
    struct world *w = *state;
    w->lane[2].read = false;
    rates_share(&w->in, &w->lanes);
    assert_true(isnan(w->seats[2].rate) && isnan(w->seats[1].rate));
    assert_true(w->seats[0].rate == 0.25 && w->seats[3].rate == 0.5);
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    w->lane[3].read = false;
    assert_false(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    w->lane[3].ending = true;
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 0.75);
}

/* /d does little: what it did last is taken from the machine's, up to a tenth of that. */
TEST_WITH(who_is_not_read_for_a_tick_is_taken_to_go_on, setup, teardown)
{
    struct world *w = *state;
    w->lane[3].read = false;
    w->lane[3].usage = (struct activity){true, 0.375, {0.25}};
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 0.5);
    rates_share(&w->in, &w->lanes);
    assert_true(isnan(w->seats[3].rate));
    w->lane[3].usage.all = 0.4375;
    assert_false(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    w->lane[3].read_once = false; /* of nothing nothing is known */
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 0.75);
}

/* It is a part of what it lies in, or of the host. */
TEST_WITH(who_cannot_be_counted, setup, teardown)
{
    struct world *w = *state;
    w->lane[1].clock[0].handle = w->lane[3].clock[0].handle = 0;
    w->lane[1].read = w->lane[3].read = false;
    rates_share(&w->in, &w->lanes);
    assert_true(w->seats[0].rate == 0.75 && w->seats[2].rate == 0.25);
    assert_true(isnan(w->seats[1].rate) && isnan(w->seats[3].rate));
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 0.75);
}

/* Sums over all CPUs are taken from sums over all CPUs. */
TEST_WITH(without_cpus_only_sums_can_be_compared, setup, teardown)
{
    struct world *w = *state;
    w->lane[3].usage.placed = false;
    assert_true(rates_host(&w->in, &w->lanes, &w->machine, w->host));
    assert_true(w->host[0] == 4 - 1.5 - 1.0);
}

/* CPUs 0 to 2 are node 0's, its probe is on CPU 0; 3 is node 1's. */
TEST_WITH(how_busy_the_nodes_cpus_are, setup, teardown)
{
    struct world *w = *state;
    struct machine machine = {.numa_nodes = 2, .cpus = 4};
    w->in.nodes.machine = &machine;
    w->in.nodes.n = 2;
    w->in.nodes.at[1].numa_node = 1;
    w->in.nodes.at[1].probe_cpu = 3;
    for (int cpu = 0; cpu < 4; cpu++)
        machine_place_cpu_on_node(&machine, cpu, cpu == 3);
    w->machine.on[0] = 0.5;
    assert_true(rates_busy_share(&w->in, &w->machine, 0) == 0.25);
    assert_true(isnan(rates_busy_share(&w->in, &w->machine, 1))); /* only the probe's */
    w->in.nodes.at[0].probe_cpu = -1;
    w->machine.on[0] = 0.75;
    assert_true(rates_busy_share(&w->in, &w->machine, 0) == 0.25);
    w->machine.placed = false; /* of all four */
    w->machine.on[0] = 2;
    assert_true(rates_busy_share(&w->in, &w->machine, 0) == 0.5);
    machine = (struct machine){.numa_nodes = 1, .cpus = 5};
    w->machine.placed = true;
    w->in.nodes.at[0].probe_cpu = 0;
    assert_true(rates_busy_share(&w->in, &w->machine, 0) == 0.5);
}

/* In any order of coming, and when one in between goes. */
TEST_WITH(the_innermost_container_around_is_the_parent, setup, teardown)
{
    static const char *const paths[LANES] = {"/a", "/a/b", "/a/b/c", "/ab"};
    static const int order[][LANES] = {{0, 1, 2, 3}, {2, 0, 1, 3}, {3, 2, 1, 0}, {2, 1, 0, 3}};
    struct world *w = *state;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        memset(w->slots, 0, sizeof w->slots);
        path_order_release(&w->lanes.order);
        assert_int_equal(path_order_reserve(&w->lanes.order, LANES), 0);
        for (size_t i = 0; i < LANES; i++) {
            struct container *c = &w->containers[order[k][i]];
            struct attribution_lane *lane = &w->lane[c->slot];
            c->path = paths[c->slot];
            *lane = (struct attribution_lane){
                .container = c, .path_len = strlen(c->path), .parent = -1};
            w->slots[c->slot] = (struct lane_slot){lane, c};
            attribution_lanes_nest(&w->lanes, &(struct container_diff){.added = {&c, 1}});
        }
        assert_int_equal(w->lane[0].parent, -1);
        assert_int_equal(w->lane[1].parent, 0);
        assert_int_equal(w->lane[2].parent, 1);
        assert_int_equal(w->lane[3].parent, -1);
    }
    struct container *gone = &w->containers[1];
    w->slots[1].lane = NULL;
    attribution_lanes_nest(&w->lanes, &(struct container_diff){.forgotten = {&gone, 1}});
    assert_int_equal(w->lane[2].parent, 0);
    path_order_release(&w->lanes.order);
}

/* ---- windows ---- */

enum { ROWS = 3 };

struct rows {
    struct reading reading;
    struct {
        struct reading_row row;
        uint64_t count[GROUP_MAX_ROLES];
    } at[ROWS];
};

static void put(struct rows *rows, size_t i, int cpu, uint64_t ns)
{
    rows->reading.rows = rows->at;
    rows->reading.stride_bytes = sizeof rows->at[0];
    rows->reading.n = i + 1;
    rows->at[i].row = (struct reading_row){.cpu = cpu, .present = 1, .enabled_ns = ns};
}

/* CPU 0 is the probe's of node 0; of what has no CPU nothing can be left out. */
TEST(a_window_by_cpu_or_as_a_sum)
{
    (void)state;
    struct machine machine = {.numa_nodes = 1};
    const struct activity_nodes nodes = {.machine = &machine, .n = 1, .at = {{0, 0}}};
    struct rows before = {0}, after = {0};
    struct activity activity;
    put(&before, 0, 0, 1000000000);
    put(&before, 1, 1, 500000000);
    put(&after, 0, 0, 3000000000);
    put(&after, 1, 1, 1500000000);
    put(&after, 2, 2, 400000000); /* came online */
    struct group_window window = {.before = &before.reading, .after = &after.reading};
    assert_true(activity_of_window(&window, &nodes, 2, &activity));
    assert_true(activity.placed && activity.all == 1.7 && activity.on[0] == 0.7);
    put(&after, 0, -1, 3000000000);
    assert_true(activity_of_window(&window, &nodes, 2, &activity));
    assert_true(!activity.placed && activity.all == 1 && activity.on[0] == 1);
    put(&after, 0, -1, 999999999);
    assert_false(activity_of_window(&window, &nodes, 2, &activity));
}
