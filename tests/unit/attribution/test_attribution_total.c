/* The traffic of everybody: what the memory controllers count beyond the containers is the host's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/lane.h"
#include "collectors/attribution/lanes/total.h"
#include "collectors/table.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/waits_rig.h"

/* ---- a machine of one socket or two, each with a NUMA node, a controller, and two CPUs ---- */

static struct fake_group *controller(struct rig *rig, int socket)
{
    return fake_group(&rig->fake, socket ? "imc1" : "imc0", GROUP_CAS);
}

static struct rig *new_rig(int sockets, int numa_nodes)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &attribution_collector);
    rig_flag(rig, "--collector.attribution.traffic");
    rig->facts.machine.sockets = sockets;
    rig->facts.machine.numa_nodes = numa_nodes;
    rig->facts.machine.cpus = INTERFERENCE_RIG_CPUS;
    for (int cpu = 0; cpu < INTERFERENCE_RIG_CPUS; cpu++) {
        machine_place_cpu(&rig->facts.machine, cpu, cpu % sockets);
        machine_place_cpu_on_node(&rig->facts.machine, cpu, cpu % numa_nodes);
    }
    for (int i = 0; i < sockets; i++) {
        struct source_unit unit = {.kind = "imc", .socket = i};
        snprintf(unit.key, sizeof unit.key, "imc%d", i);
        assert_int_equal(inventory_add_unit(&rig->inventory, &unit), 0);
        controller(rig, i)->cpus = 1;
    }
    for (int i = 0; i < numa_nodes; i++) {
        struct source_thread thread = {
            .kind = "probe", .tid = 1, .initiator_numa_node = i, .target_numa_node = i, .cpu = i};
        snprintf(thread.key, sizeof thread.key, "p%d", i);
        assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    }
    rig_start(rig);
    assert_int_equal(read_latencies_reserve(&rig->facts.reads, RIG_CONTAINERS), 0);
    return rig;
}

static void drop(struct rig *rig)
{
    read_latencies_release(&rig->facts.reads);
    rig_release(rig);
    free(rig);
}

/* A third of them are written. */
static void move(struct rig *rig, int socket, double lines)
{
    uint64_t third = (uint64_t)(lines / 3);
    fake_group_run(controller(rig, socket), 0, SECOND_NS);
    fake_group_add(controller(rig, socket), 0, ROLE_CAS_WRITES, third);
    fake_group_add(controller(rig, socket), 0, ROLE_CAS_READS, (uint64_t)lines - third);
}

/* Three that always do the same, one that goes on and off, and a host with these lines; the
 * controllers count `seen` of what all of them move. */
static void second_seen(struct rig *rig, double on, double host, double seen)
{
    double all = 1e8 + 1e8 * on + host;
    waits_use_all(rig, on);
    move(rig, 0, all * seen);
    waits_burst(rig, all);
    waits_tick(rig);
}

static void second(struct rig *rig, double on, double host)
{
    second_seen(rig, on, host, 1);
}

static void learn(struct rig *rig, double host)
{
    for (int i = 0; i < 120; i++)
        second(rig, interference_square(rig->tick.number, 6, 7, 0), host);
    for (int i = 0; i < 7; i++)
        second(rig, 0, host);
}

/* ---- what the page says ---- */

static double number_in(struct rig *rig, size_t domain, const char *object, const char *key)
{
    json_t *root, *page = interference_page(rig, domain, &root);
    const json_t *value = json_object_get(json_object_get(page, object), key);
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    json_decref(root);
    return number;
}

static double host_of(struct rig *rig, size_t domain)
{
    return number_in(rig, domain, "traffic", "host_lines_per_second");
}

static double total_of(struct rig *rig, size_t domain)
{
    return number_in(rig, domain, "traffic", "lines_per_second");
}

static bool of_everybody(struct rig *rig, size_t domain)
{
    json_t *root, *page = interference_page(rig, domain, &root);
    const char *of = json_string_value(json_object_get(json_object_get(page, "traffic"), "of"));
    bool everybody = strcmp(of, "everybody") == 0;
    assert_true(everybody || strcmp(of, "containers") == 0);
    json_decref(root);
    return everybody;
}

static void expect_waits_unknown(struct rig *rig, bool unknown)
{
    assert_true(isnan(number_in(rig, 0, "waits", "wait_seconds")) == unknown);
}

/* ---- tests ---- */

TEST(what_the_containers_do_not_have_is_the_hosts)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    second(rig, 0, 5e7); /* first readings span an unknown time */
    second(rig, 0, 5e7);
    assert_true(of_everybody(rig, 0));
    near(total_of(rig, 0), 1.5e8, 1e-6);
    near(host_of(rig, 0), 5e7, 1e-6);
    second(rig, 1, 2e7);
    near(total_of(rig, 0), 2.2e8, 1e-6);
    near(host_of(rig, 0), 2e7, 1e-6);
    drop(rig);
}

/* By the formula's worked numbers, while there is a container whose traffic nobody counts: it is a
 * part of the host. */
TEST(the_host_is_charged_and_with_it_who_is_not_counted)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 1e8);
    rig->facts.containers_unseen = 1;
    waits_for_worked(rig);
    second(rig, 0, 1e8);
    expect_waits_unknown(rig, false);
    near(number_in(rig, 0, "waits", "host_wait_seconds"), 0.1405573, 1e-5);
    near(waits_counter(rig, "one"), 0.0843344, 1e-5);
    near(number_in(rig, 0, "waits", "wait_seconds"), 0.26, 1e-12);
    drop(rig);
}

/* The containers are still there, and the host makes memory slow by turns. */
TEST(a_host_that_hurts_is_the_cause)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 0);
    for (int i = 0; i < 200; i++)
        second(rig, 0, 1e8 * interference_square(rig->tick.number, 12, 13, 0));
    while (!interference_square(rig->tick.number, 12, 13, 0) ||
           interference_square(rig->tick.number + 1, 12, 13, 0))
        second(rig, 0, 1e8 * interference_square(rig->tick.number, 12, 13, 0));
    double excess = rig_value(rig, EXCESS, "by=\"host\"");
    assert_true(excess > 12e-9 && excess < 45e-9); /* of about 38 at the end of a turn */
    assert_int_equal(rig_series(rig, CAUSED), 0);
    drop(rig);
}

/* Each node has its own socket's; with more nodes than sockets nobody knows. */
TEST(of_two_sockets_each_has_its_own)
{
    (void)state;
    for (int numa_nodes = 2; numa_nodes <= 4; numa_nodes += 2) {
        struct rig *rig = new_rig(2, numa_nodes);
        waits_container(rig, "one");
        for (int i = 0; i < 2; i++) {
            waits_use(rig, "one", 2, 6e7);
            waits_use(rig, "one", 3, 1e7);
            move(rig, 0, 1e8);
            move(rig, 1, 3e7);
            for (int node = 0; node < 2; node++)
                interference_burst(rig, node, 100);
            waits_tick(rig);
        }
        for (size_t node = 0; node < 2; node++) {
            assert_int_equal(of_everybody(rig, node), numa_nodes == 2);
            if (numa_nodes == 2)
                near(host_of(rig, node), node ? 2e7 : 4e7, 1e-6);
        }
        drop(rig);
    }
}

TEST(sockets_that_share_a_memory_are_one_node)
{
    (void)state;
    struct rig *rig = new_rig(2, 1);
    waits_container(rig, "one");
    for (int i = 0; i < 2; i++) {
        waits_use(rig, "one", 3, 1e7);
        move(rig, 0, 1e8);
        move(rig, 1, 3e7);
        interference_burst(rig, 0, 100);
        waits_tick(rig);
    }
    near(host_of(rig, 0), 1.2e8, 1e-6);
    drop(rig);
}

/* Then the total is larger, and the latency is not: no change of anybody's activity. */
TEST(controllers_that_come_later)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    controller(rig, 0)->no_reading = true;
    learn(rig, 3e8);
    assert_false(of_everybody(rig, 0));
    near(total_of(rig, 0), 1e8, 1e-6);
    assert_true(isnan(host_of(rig, 0)));
    rig->facts.containers_unseen = 1;
    waits_for_worked(rig);
    second(rig, 0, 3e8);
    expect_waits_unknown(rig, true);
    const struct pooled *pooled = waits_node(rig)->pooled;
    double slope = pooled_slope(pooled) / pooled->unit, z = pooled->domain.z[0] * pooled->unit;
    controller(rig, 0)->no_reading = false;
    while (!of_everybody(rig, 0))
        second(rig, 0, 3e8);
    assert_true(fabs(pooled->domain.z[0] * pooled->unit - z) < 1e7);
    near(total_of(rig, 0), 4e8, 1e-6);
    waits_for_worked(rig);
    second(rig, 0, 3e8);
    expect_waits_unknown(rig, false);
    near(pooled_slope(pooled) / pooled->unit, slope, 0.1);
    drop(rig);
}

/* Within a minute there is no total; then it is the containers' again. */
TEST(controllers_that_fall_silent)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 3e8);
    const struct pooled *pooled = waits_node(rig)->pooled;
    double slope = pooled_slope(pooled) / pooled->unit, z = pooled->domain.z[0] * pooled->unit;
    uint64_t readings = pooled->domain.readings;
    controller(rig, 0)->no_reading = true;
    for (int i = 0; i < 60; i++) {
        second(rig, 0, 3e8);
        assert_true(isnan(total_of(rig, 0)) && isnan(host_of(rig, 0)));
    }
    assert_int_equal(pooled->domain.readings, readings);
    second(rig, 0, 3e8);
    assert_false(of_everybody(rig, 0));
    near(total_of(rig, 0), 1e8, 1e-6);
    assert_true(fabs(pooled->domain.z[0] * pooled->unit - z) < 1e7);
    near(pooled_slope(pooled) / pooled->unit, slope, 0.1);
    drop(rig);
}

/* A total that fell says nothing of that tick. */
TEST(a_reset_is_no_traffic)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 5e7);
    controller(rig, 0)->count[0][0] = 0;
    second(rig, 0, 5e7);
    assert_true(isnan(total_of(rig, 0)) && isnan(host_of(rig, 0)));
    assert_true(of_everybody(rig, 0));
    second(rig, 0, 5e7);
    near(host_of(rig, 0), 5e7, 1e-6);
    drop(rig);
}

/* By a tenth that is the time between the readings; by more they are not of the same memory. */
TEST(a_total_that_is_less_than_its_parts)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 0);
    rig->facts.containers_unseen = 1;
    waits_for_worked(rig);
    second_seen(rig, 0, 0, 0.95);
    assert_true(host_of(rig, 0) == 0);
    near(total_of(rig, 0), 1e8, 1e-6);
    expect_waits_unknown(rig, false);
    waits_for_worked(rig);
    second_seen(rig, 0, 0, 0.85);
    assert_true(isnan(host_of(rig, 0)));
    near(total_of(rig, 0), 1e8, 1e-6);
    expect_waits_unknown(rig, true);
    drop(rig);
}

/* Everybody's is known without a container that was not read; the host's is not. */
TEST(the_total_without_somebody)
{
    (void)state;
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 1e8);
    fake_group(&rig->fake, "one", GROUP_TRAFFIC)->no_reading = true;
    second(rig, 0, 1e8);
    near(total_of(rig, 0), 2e8, 1e-6);
    assert_true(isnan(host_of(rig, 0)));
    drop(rig);
}

TEST(a_tick_allocates_nothing)
{
    (void)state;
    if (!malloc_count_works())
        skip();
    struct rig *rig = new_rig(1, 1);
    waits_containers(rig);
    learn(rig, 1e8);
    uint64_t allocated = 0;
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 3; k++)
            waits_use(rig, worked_name[k], k + 1, 1e7);
        move(rig, 0, 1e8);
        waits_burst(rig, 1e8);
        allocated += waits_allocates(rig);
    }
    assert_int_equal(allocated, 0);
    drop(rig);
}
