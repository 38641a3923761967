/*
 * Who is named by what monitoring groups say that containers move: hogs whose CPU time says
 * nothing, also where they would frame another; pods that share a group; the host; groups that come
 * and go.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/lane.h"
#include "collectors/table.h"
#include "tests/unit/support/interference_rig.h"
#include "tests/unit/support/unit.h"

#define SECOND_NS UINT64_C(1000000000)
enum { PERIOD = 5 };

static struct fake_group *group_of(struct rig *rig, const char *name, enum group group)
{
    struct fake_group *made = fake_group(&rig->fake, name, group);
    made->cpus = 1;
    made->present = 1u << MON_TOTAL_BYTES | 1u << MON_LOCAL_BYTES | 1u << MON_OCCUPANCY_BYTES;
    return made;
}

static void make(struct rig *rig, const char *name)
{
    interference_container(rig, name);
    group_of(rig, name, GROUP_BANDWIDTH);
}

static void adds(struct fake_group *group, double lines)
{
    fake_group_run(group, 0, SECOND_NS);
    fake_group_add(group, 0, ROLE_MBM_TOTAL_BYTES, (uint64_t)(64 * lines));
    fake_group_add(group, 0, ROLE_MBM_LOCAL_BYTES, (uint64_t)(64 * lines));
}

/* So many lines in the next second, on a whole CPU. */
static void use(struct rig *rig, const char *name, int cpu, double cpus, double lines)
{
    interference_run(rig, name, cpu, cpus);
    adds(group_of(rig, name, GROUP_BANDWIDTH), lines);
    adds(group_of(rig, "host", GROUP_BANDWIDTH), lines);
}

/* Groups are read in every fifth tick only; who has nothing present gives no reading. */
static void tick(struct rig *rig, double latency_ns)
{
    bool due = (rig->tick.number + 1) % PERIOD == 0;
    for (size_t i = 0; i < rig->fake.n_groups; i++) {
        struct fake_group *group = &rig->fake.groups[i];
        if (group->group == GROUP_BANDWIDTH || group->group == GROUP_POD_BANDWIDTH)
            group->no_reading = !due || group->present == 0;
    }
    interference_tick(rig, latency_ns);
}

static bool is_named(struct rig *rig, const char *label)
{
    return !isnan(rig_value(rig, CAUSED, label));
}

static bool by_traffic(struct rig *rig)
{
    json_t *root, *domain = interference_page(rig, 0, &root);
    bool traffic = strcmp(json_string_value(json_object_get(domain, "basis")), "traffic") == 0;
    json_decref(root);
    return traffic;
}

/* A hog that stores, or is prefetched, whatever: it moves lines while it is on, and spins else. */
RIG_TEST(a_hog_that_never_sleeps, interference_setup_with_groups)
{
    make(rig, "hog");
    make(rig, "compute");
    int named = 0, hurting = 0;
    double last = NAN;
    for (uint64_t i = 0; i < 400; i++) {
        double on = i > 40 ? interference_square(i, 20, 23, 0) : 0;
        use(rig, "hog", 1, 1, 1e8 * on + 1e4);
        use(rig, "compute", 2, interference_square(i, 17, 14, 5), 1e4);
        tick(rig, 100 * exp(0.3 * on) * interference_noise(0.015));
        assert_false(is_named(rig, "container=\"compute\""));
        named += i > 120 && is_named(rig, "container=\"hog\"");
        hurting += i > 120 && on > 0;
        if (is_named(rig, "container=\"hog\""))
            last = rig_value(rig, CAUSED, "container=\"hog\"");
    }
    assert_true(by_traffic(rig));
    assert_true(named > hurting * 7 / 10);
    assert_true(last > 24e-9 && last < 45e-9); /* 35 are true */
}

/* Who always uses a whole CPU, and streams in step with an innocent, or nearly so: by CPU time the
 * two are a group (test_attribution_onsets). */
TEST_WITH(who_would_frame_another, interference_setup_with_groups, rig_teardown)
{
    static const struct {
        unsigned on, off, shift;
        double innocent;
    } cases[12] = {
        {20, 20, 0, 1e4}, {20, 30, 0, 1e4}, {35, 25, 0, 1e4}, {60, 60, 0, 1e4},
        {20, 23, 1, 1e5}, {30, 31, 1, 1e5}, {40, 33, 2, 1e5}, {12, 13, 0, 1e5},
        {20, 20, 0, 2e6}, {25, 45, 0, 2e6}, {50, 41, 1, 2e6}, {16, 27, 2, 2e6},
    };
    int right = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct rig *rig = *state;
        int spinner = 0, innocent = 0;
        make(rig, "spinner");
        make(rig, "innocent");
        for (uint64_t i = 0; i < 900; i++) {
            double on = i > 60 ? interference_square(i, cases[c].on, cases[c].off, 0) : 0;
            double seen =
                i > 60 ? interference_square(i, cases[c].on, cases[c].off, cases[c].shift) : 0;
            use(rig, "spinner", 1, 1, 1e8 * on + 1e4);
            use(rig, "innocent", 2, seen, cases[c].innocent * seen);
            tick(rig, 100 * exp(0.2 * on) * interference_noise(0.015));
            spinner += is_named(rig, "container=\"spinner\"");
            innocent += is_named(rig, "container=\"innocent\"");
        }
        if (spinner < 100 || innocent > 0)
            print_message("case %zu: spinner named in %d ticks, innocent in %d\n", c, spinner,
                          innocent);
        right += spinner >= 100 && innocent == 0;
        rig_teardown(state);
        interference_setup_with_groups(state);
    }
    assert_int_equal(right, 12);
}

/* A pod that comes once, and stays. Its group has its first figures some seconds later, when the
 * step of the latency is over. */
TEST_WITH(a_start_that_is_known_late, interference_setup_with_groups, rig_teardown)
{
    static const uint64_t start = 500, delays[] = {0, 6, 8, 15};
    for (size_t c = 0; c < sizeof delays / sizeof *delays; c++) {
        struct rig *rig = *state;
        int named = 0, innocent = 0;
        make(rig, "service");
        make(rig, "other");
        for (uint64_t i = 0; i < start + 900; i++) {
            if (i == start)
                make(rig, "hog");
            use(rig, "service", 2, 1, 4e6);
            use(rig, "other", 3, 0.5, 1e6);
            if (i >= start) {
                use(rig, "hog", 1, 1, 1e8);
                group_of(rig, "hog", GROUP_BANDWIDTH)->present *= i >= start + delays[c];
            }
            tick(rig, 100 * (i >= start ? 1.26 : 1) * interference_noise(0.015));
            named += is_named(rig, "container=\"hog\"");
            innocent +=
                is_named(rig, "container=\"service\"") || is_named(rig, "container=\"other\"");
        }
        if (named <= 800)
            fail_msg("%d s late: named in %d of 900 s", (int)delays[c], named);
        assert_int_equal(innocent, 0);
        rig_teardown(state);
        interference_setup_with_groups(state);
    }
}

/* Two containers of a pod, one group: what it moved is shared out by CPU time. */
RIG_TEST(a_pod_with_one_group, interference_setup_with_groups)
{
    static const char *const names[] = {"worker", "sidecar"};
    verdict_set(&rig->fake.open_error, REASON_NO_GROUPS, "none");
    rig->fake.open_error_of = GROUP_BANDWIDTH;
    rig->fake.open_errno = ENOENT;
    for (int k = 0; k < 2; k++) {
        interference_clocks(rig, names[k]);
        group_of(rig, names[k], GROUP_POD_BANDWIDTH);
        struct container *container = rig_unnamed(rig, names[k]);
        container->pod_uid = "uid";
        container->path = k ? "/pod/sidecar" : "/pod/worker";
        rig_name(rig, container);
    }
    const struct attribution_context *in = rig->collector;
    for (uint64_t i = 0; i < 60; i++) {
        interference_run(rig, "worker", 1, 0.9);
        interference_run(rig, "sidecar", 2, 0.3);
        for (int k = 0; k < 2; k++) /* the same group */
            adds(group_of(rig, names[k], GROUP_POD_BANDWIDTH), 4e7);
        tick(rig, 100 * interference_noise(0.015));
    }
    assert_true(by_traffic(rig));
    const struct attribution_node *node = in->node[0];
    assert_true(fabs(node->seats[0].rate - 3e7) < 1e5);
    assert_true(fabs(node->seats[1].rate - 1e7) < 1e5);
    for (uint64_t i = 0; i < 3 * PERIOD; i++) {
        interference_run(rig, "worker", 1, 0.9);
        interference_run(rig, "sidecar", 2, 0.3);
        adds(group_of(rig, "sidecar", GROUP_POD_BANDWIDTH), 4e7);
        fake_group(&rig->fake, "worker", GROUP_POD_BANDWIDTH)->present = 0;
        tick(rig, 100 * interference_noise(0.015));
    }
    assert_true(isnan(node->seats[0].rate)); /* what it moved before is not what it moves */
}

/* What the containers do not move somebody else does, who is not monitored. */
RIG_TEST(the_host, interference_setup_with_groups)
{
    make(rig, "calm");
    double host = 0;
    for (uint64_t i = 0; i < 500; i++) {
        double on = i > 60 ? interference_square(i, 20, 23, 0) : 0;
        use(rig, "calm", 1, 1, 2e6);
        adds(group_of(rig, "host", GROUP_BANDWIDTH), 1e8 * on);
        group_of(rig, "host", GROUP_BANDWIDTH)->enabled_ns[0] -= SECOND_NS;
        group_of(rig, "host", GROUP_BANDWIDTH)->running_ns[0] -= SECOND_NS;
        tick(rig, 100 * exp(0.3 * on) * interference_noise(0.015));
        assert_false(is_named(rig, "container=\"calm\""));
        if (i > 300 && on > 0)
            host = fmax(host, rig_value(rig, EXCESS, "by=\"host\""));
    }
    assert_true(by_traffic(rig));
    assert_true(host > 15e-9);
}

/* By CPU time as long as most of it is in no group; back to it when groups are gone. */
RIG_TEST(groups_come_and_go, interference_setup_with_groups)
{
    make(rig, "a");
    make(rig, "b");
    struct fake_group *a = group_of(rig, "a", GROUP_BANDWIDTH);
    for (int i = 0; i < 40; i++) { /* 'b' has a group that says nothing */
        use(rig, "a", 1, 0.5, 1e6);
        interference_run(rig, "b", 2, 1);
        group_of(rig, "b", GROUP_BANDWIDTH)->present = 0;
        fake_group_run(fake_group(&rig->fake, "b", GROUP_BANDWIDTH), 0, SECOND_NS);
        fake_group(&rig->fake, "b", GROUP_BANDWIDTH)->present = 1u << MON_LOCAL_BYTES;
        tick(rig, 100 * interference_noise(0.015));
    }
    assert_false(by_traffic(rig));
    for (int i = 0; i < 20; i++) {
        use(rig, "a", 1, 0.5, 1e6);
        use(rig, "b", 2, 1, 1e5);
        tick(rig, 100 * interference_noise(0.015));
    }
    assert_true(by_traffic(rig));
    assert_true(rig_value(rig, READINGS, "") >= 5);
    a->read_error = -ESRCH;
    fake_group(&rig->fake, "b", GROUP_BANDWIDTH)->read_error = -ESRCH;
    verdict_set(&rig->fake.open_error, REASON_NO_GROUPS, "none");
    rig->fake.open_error_of = GROUP_BANDWIDTH;
    for (int i = 0; i < 130; i++) {
        interference_run(rig, "a", 1, 0.5);
        interference_run(rig, "b", 2, 1);
        tick(rig, 100 * interference_noise(0.015));
    }
    assert_false(a->open);
    assert_false(by_traffic(rig));
    assert_true(rig_value(rig, READINGS, "") >= 1);
}

/* Also of one whose CPU time is not read any more. */
RIG_TEST(a_group_is_closed_when_its_container_ends, interference_setup_with_groups)
{
    interference_container(rig, "b");
    struct container *container = interference_container(rig, "a");
    struct fake_group *clock = fake_group(&rig->fake, "a", GROUP_ACTIVITY),
                      *lines = group_of(rig, "a", GROUP_BANDWIDTH);
    tick(rig, 100);
    assert_true(lines->open);
    clock->read_error = -EMFILE;
    tick(rig, 100);
    assert_false(clock->open);
    assert_true(lines->open);
    rig_end(rig, container);
    tick(rig, 100);
    assert_false(lines->open);
}

/* What is calm stays so when groups come: what nobody explains is not calm at once. */
RIG_TEST(groups_come_before_an_incident, interference_setup_with_groups)
{
    make(rig, "a");
    for (int i = 0; i < 7300; i++) {
        interference_run(rig, "a", 1, 0.5);
        group_of(rig, "a", GROUP_BANDWIDTH)->present = 0;
        tick(rig, 100 * interference_noise(0.015));
    }
    assert_false(by_traffic(rig));
    for (int i = 0; i < 3600; i++) {
        use(rig, "a", 1, 0.5, 1e6);
        tick(rig, 100 * (i > 60 ? 1.3 : 1) * interference_noise(0.015));
    }
    assert_true(by_traffic(rig));
    const struct attribution_context *in = rig->collector;
    if (!(in->node[0]->calm_ns < 100 * 1.13))
        fail_msg("calm is %g", in->node[0]->calm_ns);
}

/* Groups of some, not of most: after a restart it is by CPU time again before long, and knows what
 * it knew by CPU time. */
TEST_WITH(a_restart_where_few_have_groups, interference_setup_with_groups, rig_teardown)
{
    struct rig *before = *state;
    verdict_set(&before->fake.check, REASON_OK, "groups of 1 pod");
    static struct rig after;
    interference_container(before, "bystander");
    interference_container(before, "hog");
    for (int i = 0; i < 800; i++) {
        bool on = i >= 500;
        interference_run(before, "bystander", 2, 0.2);
        interference_run(before, "hog", 1, on ? 1 : 0);
        tick(before, 100 * (on ? 1.26 : 1) * interference_noise(0.015));
    }
    assert_false(by_traffic(before));
    assert_true(is_named(before, "container=\"hog\""));
    struct state *kept = interference_saved(before, 0);
    interference_again(&after, before, kept, NULL);
    after.fake.lacks = before->fake.lacks;
    interference_clocks(&after, "host");
    verdict_set(&after.fake.check, REASON_OK, "groups of 1 pod");
    rig_start(&after);
    interference_container(&after, "hog");
    make(&after, "few");
    bool was_by_traffic = false;
    for (int i = 0; i < 40; i++) {
        interference_run(&after, "hog", 1, 1);
        group_of(&after, "hog", GROUP_BANDWIDTH)->read_error = -ESRCH;
        use(&after, "few", 2, 0.01, 1e5);
        tick(&after, 126 * interference_noise(0.015));
        was_by_traffic |= by_traffic(&after);
    }
    assert_true(was_by_traffic);
    assert_false(by_traffic(&after));
    assert_true(is_named(&after, "container=\"hog\""));
    rig_release(&after);
    state_free(kept);
}
