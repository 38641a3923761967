/*
 * bandwidth: what containers, pods and sockets moved; groups that come, go and pass from one
 * container of a pod to another; what is said where there are none.
 */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

#define BYTES "interference_container_memory_bandwidth_bytes"
#define OCCUPANCY "interference_container_llc_occupancy_bytes"
#define ENERGY "interference_container_core_energy_joules"
#define NODE "interference_node_memory_bandwidth_bytes"
#define TOTAL "scope=\"total\""
#define LOCAL "scope=\"local\""
#define POD "container=\"\""

static int setup(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &bandwidth_collector);
    rig->fake.lacks = 0;
    rig->facts.machine.sockets = 2;
    machine_place_cpu(&rig->facts.machine, 0, 0);
    machine_place_cpu(&rig->facts.machine, 1, 1);
    rig_start(rig);
    *state = rig;
    return 0;
}

/* The node's, and whoever has no group. */
static struct fake_group *group_of(struct rig *rig, const char *key, enum group group)
{
    struct fake_group *made = fake_group(&rig->fake, key, group);
    made->present = 1u << MON_TOTAL_BYTES | 1u << MON_LOCAL_BYTES | 1u << MON_OCCUPANCY_BYTES;
    return made;
}

static void moves(struct fake_group *group, int cpu, uint64_t total, uint64_t local, uint64_t has)
{
    fake_window(group, cpu, 5000000000, {ROLE_MBM_TOTAL_BYTES, total},
                {ROLE_MBM_LOCAL_BYTES, local});
    group->count[cpu][MON_OCCUPANCY_BYTES] = has;
}

static void refuse(struct rig *rig, enum group group, const char *key)
{
    verdict_set(&rig->fake.open_error, REASON_NO_GROUPS, "none");
    rig->fake.open_error_of = group;
    rig->fake.open_error_key = key;
    rig->fake.open_errno = ENOENT;
}

static struct container *in_pod(struct rig *rig, const char *name, const char *uid)
{
    struct container *container = rig_unnamed(rig, name);
    container->pod_uid = uid;
    container->pod = "cart-0";
    container->namespace_ = "shop";
    rig_name(rig, container);
    return container;
}

static void assert_value(double found, double expected)
{
    if (!(fabs(found - expected) < 1e-6))
        fail_msg("%g, not %g", found, expected);
}

RIG_TEST(a_container, setup)
{
    rig_container(rig, "a");
    struct fake_group *a = group_of(rig, "a", GROUP_BANDWIDTH);
    moves(a, 0, 1000, 800, 4096);
    moves(a, 1, 200, 0, 100);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1200);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", LOCAL), 800);
    assert_value(rig_value(rig, OCCUPANCY, "container=\"a\""), 4196);
    assert_true(isnan(rig_value(rig, ENERGY, "container=\"a\"")));
    a->no_reading = true; /* between two readings it stands */
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1200);
    assert_value(rig_value(rig, OCCUPANCY, "container=\"a\""), 4196);
    a->no_reading = false;
    moves(a, 0, 300, 300, 10);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1500);
    assert_value(rig_value(rig, OCCUPANCY, "container=\"a\""), 110);
    assert_int_equal(rig_series(rig, "container=\"a\""), 3 + 1); /* and info */
}

/* A window whose bytes are not known is in no counter, and a level that is not known is none. */
RIG_TEST(what_is_not_known, setup)
{
    rig_container(rig, "a");
    struct fake_group *a = group_of(rig, "a", GROUP_BANDWIDTH);
    moves(a, 0, 1000, 800, 4096);
    rig_tick(rig);
    a->present = 1u << MON_LOCAL_BYTES;
    fake_group_add(a, 0, ROLE_MBM_LOCAL_BYTES, 50);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1000);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", LOCAL), 850);
    assert_true(isnan(rig_value(rig, OCCUPANCY, "container=\"a\"")));
    assert_true(rig->status.discarded[DISCARD_RESET] > 0);
}

RIG_TEST(telemetry, setup)
{
    rig_container(rig, "a");
    struct fake_group *a = group_of(rig, "a", GROUP_BANDWIDTH);
    a->present = 1u << MON_CORE_ENERGY | 1u << MON_STALLS | 1u << MON_CYCLES;
    fake_group_add(a, 0, ROLE_CORE_ENERGY_MICROJOULES, 2500000);
    fake_group_add(a, 0, ROLE_LLC_MISS_STALL_CYCLES, 30);
    fake_group_add(a, 1, ROLE_UNHALTED_CORE_CYCLES, 100);
    rig_tick(rig);
    assert_value(rig_value(rig, ENERGY, "container=\"a\""), 2.5);
    assert_value(rig_value(rig, "interference_container_llc_miss_stall_cycles", "a"), 30);
    assert_value(rig_value(rig, "interference_container_unhalted_cycles", "a"), 100);
    assert_true(isnan(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL)));
}

/* The pod's figures are the pod's; when the container by which its group is open ends, another's
 * readings go on where they were. */
RIG_TEST(a_pod, setup)
{
    refuse(rig, GROUP_BANDWIDTH, NULL);
    struct container *first = in_pod(rig, "a", "uid-1");
    in_pod(rig, "b", "uid-1");
    struct fake_group *a = group_of(rig, "a", GROUP_POD_BANDWIDTH);
    struct fake_group *b = group_of(rig, "b", GROUP_POD_BANDWIDTH);
    assert_true(a->open);
    assert_false(b->open);
    moves(a, 0, 700, 700, 64);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, POD, TOTAL), 700);
    assert_value(rig_value_of(rig, BYTES, "pod=\"cart-0\"", LOCAL), 700);
    assert_value(rig_value(rig, OCCUPANCY, POD), 64);
    assert_true(isnan(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL)));

    rig_end(rig, first);
    moves(a, 0, 10, 10, 64); /* its last reading */
    moves(b, 0, 10, 10, 64); /* which who opens the same group in this tick would have as well */
    rig_tick(rig);
    assert_false(a->open);
    assert_true(b->open);
    assert_value(rig_value_of(rig, BYTES, POD, TOTAL), 710);
    memset(b->count, 0, sizeof b->count);
    moves(b, 0, 5, 5, 32);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, POD, TOTAL), 715);
    assert_value(rig_value(rig, OCCUPANCY, POD), 32);
    rig_forget(rig, first);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, POD, TOTAL), 715);
}

/* Of a container whose pod has a group, its own comes later. */
RIG_TEST(a_group_beside_the_pods, setup)
{
    refuse(rig, GROUP_BANDWIDTH, NULL);
    in_pod(rig, "a", "uid-1");
    rig_tick(rig);
    assert_true(group_of(rig, "a", GROUP_POD_BANDWIDTH)->open);
    rig->fake.open_error.reason = REASON_OK;
    for (int i = 0; i < 6; i++)
        rig_tick(rig);
    assert_true(group_of(rig, "a", GROUP_BANDWIDTH)->open);
}

RIG_TEST(pods_that_end, setup)
{
    refuse(rig, GROUP_BANDWIDTH, NULL);
    struct container *only = in_pod(rig, "a", "uid-1");
    struct fake_group *a = group_of(rig, "a", GROUP_POD_BANDWIDTH);
    moves(a, 0, 700, 700, 64);
    rig_tick(rig);
    rig_end(rig, only);
    rig_tick(rig);
    assert_false(a->open);
    assert_value(rig_value_of(rig, BYTES, POD, TOTAL), 700); /* it lingers */
    assert_true(isnan(rig_value(rig, OCCUPANCY, POD)));      /* and has nothing */
    rig_forget(rig, only);
    rig_tick(rig);
    assert_true(isnan(rig_value_of(rig, BYTES, POD, TOTAL)));
}

RIG_TEST(sockets, setup)
{
    struct fake_group *node = group_of(rig, "host", GROUP_BANDWIDTH);
    moves(node, 0, 1000, 900, 1);
    moves(node, 1, 50, 50, 2);
    rig_tick(rig);
    assert_value(rig_value_of(rig, NODE, "socket=\"0\"", TOTAL), 1000);
    assert_value(rig_value_of(rig, NODE, "socket=\"0\"", LOCAL), 900);
    assert_value(rig_value_of(rig, NODE, "socket=\"1\"", TOTAL), 50);
    assert_value(rig_value(rig, "interference_node_llc_occupancy_bytes", "socket=\"1\""), 2);
    node->read_error = -ESRCH; /* it is unmounted */
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, "interference_node_llc_occupancy_bytes", "socket=\"1\"")));
    assert_value(rig_value_of(rig, NODE, "socket=\"1\"", TOTAL), 50);
}

RIG_TEST(groups_come_and_go, setup)
{
    refuse(rig, GROUP_BANDWIDTH, "a");
    verdict_set(&rig->fake.check, REASON_NO_GROUPS, "make some");
    rig_container(rig, "a");
    rig_tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_GROUPS);
    assert_false(collector_is_available(&rig->status));
    assert_int_equal(rig->status.open_failures[REASON_NO_GROUPS], 0);

    verdict_set(&rig->fake.check, REASON_OK, "of 1 pods");
    rig->fake.open_error.reason = REASON_OK;
    struct fake_group *a = group_of(rig, "a", GROUP_BANDWIDTH);
    for (int i = 0; i < 6; i++)
        rig_tick(rig);
    assert_true(a->open);
    moves(a, 0, 1000, 800, 4096);
    rig_tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(collector_is_available(&rig->status));
    assert_string_equal(rig->status.verdict.words, "of 1 pods");
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1000);

    a->read_error = -ESRCH; /* somebody removed it */
    refuse(rig, GROUP_BANDWIDTH, "a");
    rig_tick(rig);
    assert_false(a->open);
    assert_true(isnan(rig_value(rig, OCCUPANCY, "container=\"a\"")));
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1000);
    a->read_error = 0; /* and made it again: its totals begin anew */
    memset(a->count, 0, sizeof a->count);
    memset(a->enabled_ns, 0, sizeof a->enabled_ns);
    rig->fake.open_error.reason = REASON_OK;
    for (int i = 0; i < 6; i++)
        rig_tick(rig);
    moves(a, 0, 7, 7, 1);
    rig_tick(rig);
    assert_value(rig_value_of(rig, BYTES, "container=\"a\"", TOTAL), 1007);
}

RIG_TEST(not_where_nothing_is_mounted, setup)
{
    struct verdict why;
    verdict_set(&rig->fake.check, REASON_NO_DEVICE, "no resctrl");
    assert_false(bandwidth_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    verdict_clear(&rig->fake.check);
}
