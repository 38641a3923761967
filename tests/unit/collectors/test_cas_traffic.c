/* Calm windows where the memory controllers are visible, and where there are two sockets: what
 * core_latency learns of a container "a" beside neighbours that read, that do not read but use the
 * memory, and that are not monitored. */
#include "collectors/parts/cas_traffic.h"
#include "collectors/parts/core_lane.h"
#include "collectors/parts/node_traffic.h"
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

#define BASELINE "interference_container_memory_read_latency_baseline_seconds"

static const double million = 1e6;

/* ---- the machine ---- */

/* CPUs 0 and 2 are on socket 0, 1 and 3 on socket 1. */
static struct rig *new_rig(int sockets, bool controllers)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &core_latency_collector);
    rig->facts.machine.sockets = rig->facts.machine.numa_nodes = sockets;
    for (int cpu = 0; cpu < 4; cpu++)
        machine_place_cpu(&rig->facts.machine, cpu, cpu % sockets);
    for (int i = 0; i < 2 * sockets && controllers; i++) {
        struct source_unit unit = {.kind = "imc", .socket = i % sockets, .imc = i / sockets};
        snprintf(unit.key, sizeof unit.key, "imc%d", i);
        assert_int_equal(inventory_add_unit(&rig->inventory, &unit), 0);
        fake_group(&rig->fake, unit.key, GROUP_CAS)->cpus = 1;
    }
    return rig;
}

static void drop(struct rig *rig)
{
    rig_release(rig);
    free(rig);
}

static struct fake_group *controller(struct rig *rig, int i)
{
    char key[16];
    snprintf(key, sizeof key, "imc%d", i);
    return fake_group(&rig->fake, key, GROUP_CAS);
}

/* A second of a socket's two controllers, in millions of lines: of three, one is written. */
static void move(struct rig *rig, int socket, double millions)
{
    for (int i = socket; i < (int)rig->inventory.n_units; i += rig->facts.machine.sockets) {
        uint64_t third = (uint64_t)(millions * million / 6);
        fake_group_run(controller(rig, i), 0, 1000000000u);
        fake_group_add(controller(rig, i), 0, ROLE_CAS_READS, 2 * third);
        fake_group_add(controller(rig, i), 0, ROLE_CAS_WRITES, third);
    }
}

/* A second on a CPU that reads so many millions, each of which takes so many ns beyond the caches.
 */
static void work(struct rig *rig, const char *key, int cpu, double millions, double ns)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_CORE);
    uint64_t reads = (uint64_t)(millions * million);
    fake_window(g, cpu, 1000000000u, {ROLE_CYCLES, 2100000000u}, {ROLE_REF_CYCLES, 2100000000u},
                {ROLE_INSTRUCTIONS, 2100000000u}, {ROLE_L3_MISS_READS, reads},
                {ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)((double)reads * ns * 2.1)});
}

/* Beyond the caches, in ns; 0: none that rests on calm windows. */
static double calm_ns(struct rig *rig)
{
    double seconds = rig_value_of(rig, BASELINE, "container=\"a\"", "basis=\"calm\"");
    return isnan(seconds) ? 0 : round(seconds * 1e10 - 440 / 2.1) / 10;
}

/* ---- one socket ---- */

/* A hog that nobody monitors moves so many millions of lines, beside "a", which reads one. */
static void beside_the_unseen(struct rig *rig, int seconds, double hog, double ns)
{
    for (int i = 0; i < seconds; i++) {
        work(rig, "a", 0, 1, ns);
        move(rig, 0, 1 + hog);
        rig_tick(rig);
    }
}

TEST(an_unseen_hog_is_heard_and_its_silence_too)
{
    struct rig *rig = new_rig(1, true);
    rig->facts.containers_unseen = 1;
    rig_start(rig);
    assert_int_equal(rig->fake.n_open, 2);
    rig_container(rig, "a");
    beside_the_unseen(rig, 300, 299, 140);
    assert_true(calm_ns(rig) == 0);
    beside_the_unseen(rig, 9, 2, 70);
    assert_true(calm_ns(rig) == 0);
    beside_the_unseen(rig, 1, 2, 70);
    assert_true(calm_ns(rig) == 70); /* nothing of the loud time is in it */
    beside_the_unseen(rig, 100, 299, 140);
    assert_true(calm_ns(rig) == 70);
    drop(rig);
}

TEST(without_controllers_nobody_knows)
{
    struct rig *rig = new_rig(1, false);
    rig->facts.containers_unseen = 1;
    rig_start(rig);
    rig_container(rig, "a");
    beside_the_unseen(rig, 700, 0, 70);
    assert_true(calm_ns(rig) == 0);
    rig->facts.containers_unseen = 0;
    beside_the_unseen(rig, 20, 0, 70);
    assert_true(calm_ns(rig) == 70);
    drop(rig);
}

/* Prefetches, writes without reading and devices are in no core's demand reads. */
static double beside_who_does_not_read(bool controllers)
{
    struct rig *rig = new_rig(1, controllers);
    rig_start(rig);
    rig_container(rig, "a");
    rig_container(rig, "writer");
    for (int i = 0; i < 100; i++) {
        work(rig, "writer", 1, 0, 0);
        beside_the_unseen(rig, 1, 299, 140);
    }
    double calm = calm_ns(rig);
    drop(rig);
    return calm;
}

TEST(who_only_writes_is_heard)
{
    assert_true(beside_who_does_not_read(true) == 0);
    assert_true(beside_who_does_not_read(false) == 140); /* what is to be had without */
}

/* ---- controllers that are not counted, or not now ---- */

static void starve(struct rig *rig, int i)
{
    controller(rig, i)->enabled_ns[0] += 1000000000u;
}

TEST(silent_controllers_are_not_quiet)
{
    struct rig *rig = new_rig(1, true);
    rig_start(rig);
    rig_container(rig, "a");
    beside_the_unseen(rig, 100, 299, 140);
    for (int i = 0; i < 60; i++) {
        work(rig, "a", 0, 1, 140);
        starve(rig, 0);
        fake_group_run(controller(rig, 1), 0, 1000000000u);
        fake_group_add(controller(rig, 1), 0, ROLE_CAS_READS, 1000000);
        rig_tick(rig);
    }
    assert_true(calm_ns(rig) == 0);
    /* After a minute it is as if there were none: monitored containers' reads tell. */
    for (int i = 0; i < 20; i++) {
        work(rig, "a", 0, 1, 90);
        starve(rig, 0);
        starve(rig, 1);
        rig_tick(rig);
        /* It takes ten windows to know what is calm, and ten calm ones: none from before counts. */
        assert_true(calm_ns(rig) == (i < 18 ? 0 : 90));
    }
    assert_true(calm_ns(rig) == 90);
    drop(rig);
}

/* The part alone, on the rig's machine. */
static void expect_known(struct rig *rig, struct cas_traffic *cas, bool known)
{
    rig->tick.number++;
    assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
    cas_traffic_read(cas);
    assert_int_equal(cas->known, known);
}

TEST(all_controllers_or_none)
{
    struct rig *rig = new_rig(2, true);
    struct cas_traffic cas;
    rig_start(rig);
    struct verdict why = {0};
    assert_true(cas_traffic_open(&cas, &rig->env, &why));
    expect_known(rig, &cas, false); /* no time yet */
    move(rig, 0, 0);
    move(rig, 1, 0);
    expect_known(rig, &cas, false); /* nothing moved: dead counters */
    move(rig, 0, 30);
    move(rig, 1, 60);
    expect_known(rig, &cas, true);
    assert_true(cas.rate[0] == 30e6 && cas.rate[1] == 60e6 && cas.rate[SOCKETS_ALL] == 90e6);
    assert_true(cas.seconds == 1);
    assert_true(cas_traffic_covers(&cas, 1.01) && !cas_traffic_covers(&cas, 2));
    move(rig, 0, 30);
    expect_known(rig, &cas, false); /* socket 1 has no time */
    move(rig, 0, 30);
    move(rig, 1, 60);
    controller(rig, 3)->no_reading = true;
    expect_known(rig, &cas, false);
    controller(rig, 3)->no_reading = false;
    move(rig, 0, 30);
    move(rig, 1, 60);
    expect_known(rig, &cas, false); /* one window is of two seconds */
    move(rig, 0, 30);
    move(rig, 1, 60);
    expect_known(rig, &cas, true);
    controller(rig, 2)->count[0][0] = 0;
    move(rig, 0, 30);
    move(rig, 1, 60);
    expect_known(rig, &cas, false); /* reset */
    move(rig, 0, 30);
    move(rig, 1, 60);
    expect_known(rig, &cas, true);
    cas_traffic_close(&cas);
    drop(rig);
}

static bool opens(struct rig *rig)
{
    struct cas_traffic cas;
    struct verdict why = {0};
    bool said = cas_traffic_open(&cas, &rig->env, &why);
    size_t n = rig->fake.n_open;
    assert_true(said || n == 0);
    assert_int_equal(cas.n, n);
    cas_traffic_close(&cas);
    assert_int_equal(rig->fake.n_open, 0);
    return n > 0;
}

TEST(a_part_of_the_memory_says_nothing)
{
    struct rig *rig = new_rig(2, true);
    assert_true(opens(rig));
    rig->facts.machine.sockets = 3;
    assert_false(opens(rig));
    rig->facts.machine.sockets = 2;
    rig->facts.machine.pmem_dimms = 1;
    assert_false(opens(rig));
    rig->facts.machine.pmem_dimms = 0;
    rig->inventory.units[3].socket = MACHINE_SOCKETS;
    assert_false(opens(rig));
    rig->inventory.units[3].socket = 1;
    rig->fake.open_errno = -ENODEV;
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "no such channel");
    assert_false(opens(rig));
    rig->fake.open_error_key = "imc3";
    assert_false(opens(rig));
    rig->inventory.units[3].channel = 1; /* which not every group has */
    assert_true(opens(rig));
    rig->inventory.units[3].channel = 0;
    rig->fake.open_error.reason = REASON_OK;
    strcpy(rig->inventory.units[3].kind, "cxl"); /* no controller of this kind */
    assert_true(opens(rig));
    rig_start(rig);
    drop(rig);
}

/* ---- what is left for the co-runners ---- */

/* A container whose window of so many seconds has so many million reads, beside another one whose
 * last window was not valid, while the controllers move so many million lines in a second. */
struct beside {
    double seconds, own, lines;
    bool known;
    double rate; /* of the others, in millions */
};

TEST(the_rest_is_of_the_same_time)
{
    static const struct beside cases[] = {
        {1, 30, 90, true, 60},
        {0.5, 30, 90, true, 60}, /* it began half a second ago */
        {2, 60, 90, false, 0},   /* how much of it is of this second? */
        {1, 99, 90, true, 0},
        {1, 150, 90, false, 0}, /* the controllers do not see what it reads */
    };
    struct rig *rig = new_rig(1, true);
    struct container container = {.path = "/outer/inner"}, other = {.path = "/outer"};
    struct core_lane lane[2];
    struct lane_slot slot[2] = {{&lane[0], &container}, {&lane[1], &other}};
    struct lanes lanes = {.at = slot, .n = 2};
    struct node_traffic traffic = {0};
    struct corunners left;
    rig_start(rig);
    core_lane_init(&lane[0], &container, GROUP_CORE);
    core_lane_init(&lane[1], &other, GROUP_CORE);
    lane[0].outermost = 1;
    node_traffic_open(&traffic, &rig->env, "test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig->tick.mono_ns += 1000000000u;
        assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
        move(rig, 0, cases[i].lines);
        lane[0].window_seconds = cases[i].seconds;
        core_lane_settle(&lane[0], true, (uint64_t)(cases[i].own * million));
        core_lane_settle(&lane[1], false, 0);
        node_traffic_begin(&traffic, &rig->facts);
        core_lane_add_up(&lane[0], &traffic);
        core_lane_add_up(&lane[1], &traffic);
        node_traffic_end(&traffic, &rig->tick, &rig->facts);
        core_lane_corunners(&lane[0], &lanes, &traffic, &left);
        assert_int_equal(left.known, cases[i].known);
        assert_true(!left.known || fabs(left.rate - cases[i].rate * million) < 1);
    }
    node_traffic_close(&traffic);
    drop(rig);
}

/* An hour of one measure's traffic says nothing about the other's. */
TEST(measures_have_histories_of_their_own)
{
    struct rig *rig = new_rig(1, true);
    rig_start(rig);
    rig_container(rig, "a");
    rig_container(rig, "reader");
    for (int i = 0; i < 100; i++) {
        work(rig, "reader", 1, 20, 100);
        beside_the_unseen(rig, 1, 599, 140);
    }
    /* The controllers are gone, and the other reads what it has read: that is all that is known. */
    for (int i = 0; i < 200; i++) {
        work(rig, "a", 0, 1, 140);
        work(rig, "reader", 1, 20, 140);
        rig_tick(rig);
    }
    assert_true(calm_ns(rig) == 0);
    drop(rig);
}

/* ---- two sockets ---- */

/* "a" reads on its CPU, a hog on its own; each moves its socket's lines. "a" is the slower on the
 * hog's socket. The latency of its calm windows. */
static double beside_a_hog(struct rig *rig, int cpu, int hog_cpu)
{
    rig_start(rig);
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 100; i++) {
        work(rig, "a", cpu, 1, cpu % 2 == hog_cpu % 2 ? 140 : 70);
        work(rig, "hog", hog_cpu, 200, 100);
        move(rig, cpu % 2, 2);
        move(rig, hog_cpu % 2, 300);
        for (int k = 0; k < 2; k++)
            fake_group(&rig->fake, k ? "hog" : "a", GROUP_CORE)->cpus = 4;
        rig_tick(rig);
    }
    double calm = calm_ns(rig);
    drop(rig);
    return calm;
}

TEST(reads_are_divided_by_their_cpus)
{
    struct rig *rig = new_rig(2, false);
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "a", .cgroup_fd = -1};
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    struct group_window window;
    group_handle handle;
    double reads[MACHINE_SOCKETS];
    rig_start(rig);
    g->cpus = 5; /* the last has no socket */
    assert_int_equal(source_set_open(rig->sources, &scope, GROUP_CORE, &handle, NULL), 0);
    for (int second = 0; second < 2; second++) {
        for (int cpu = 0; cpu < 4; cpu++)
            work(rig, "a", cpu, 1, 70);
        g->enabled_ns[0] += 3000000000u;   /* counted for a quarter of the time */
        g->enabled_ns[3] += 500000000000u; /* starved */
        assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
        assert_int_equal(source_set_read(rig->sources, handle, &window), 0);
        assert_true(window_by_socket(&window, ROLE_L3_MISS_READS, &rig->facts.machine, reads));
        assert_true(reads[0] == 5e6 && reads[1] == 1e6 && reads[2] == 0);
        assert_int_equal(window.sum->count[group_index(GROUP_CORE, ROLE_L3_MISS_READS)], 6000000);
    }
    work(rig, "a", 4, 1, 70);
    assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
    assert_int_equal(source_set_read(rig->sources, handle, &window), 0);
    assert_false(window_by_socket(&window, ROLE_L3_MISS_READS, &rig->facts.machine, reads));
    source_set_close(rig->sources, handle);
    drop(rig);
}

TEST(a_hog_on_the_other_socket_is_no_neighbour)
{
    assert_true(beside_a_hog(new_rig(2, true), 0, 1) == 70);
    assert_true(beside_a_hog(new_rig(2, true), 3, 2) == 70);
    assert_true(beside_a_hog(new_rig(2, true), 0, 2) == 0);
    assert_true(beside_a_hog(new_rig(2, true), 3, 1) == 0);
    /* By the containers' reads as well. */
    assert_true(beside_a_hog(new_rig(2, false), 0, 1) == 70);
    assert_true(beside_a_hog(new_rig(2, false), 0, 2) == 0);
}

/* Sockets of virtual machines share a memory; and CPUs may have come later. */
TEST(where_sockets_are_unknown_the_node_counts)
{
    for (int controllers = 0; controllers < 2; controllers++) {
        struct rig *rig = new_rig(2, controllers);
        rig->facts.machine.numa_nodes = 1;
        assert_true(beside_a_hog(rig, 0, 1) == 0);
        rig = new_rig(2, controllers);
        rig->facts.machine.socket_of_cpu[1] = 0;
        assert_true(beside_a_hog(rig, 0, 1) == 0);
    }
}

/* Its share on the hog's socket is what it has of the hog. */
TEST(who_is_on_both_sockets_has_half_of_the_hog)
{
    for (int controllers = 0; controllers < 2; controllers++) {
        struct rig *rig = new_rig(2, controllers);
        rig_start(rig);
        rig_container(rig, "a");
        rig_container(rig, "hog");
        for (int i = 0; i < 100; i++) {
            work(rig, "a", 0, 1, 70);
            work(rig, "a", 1, 1, 140);
            work(rig, "hog", 3, 200, 100);
            move(rig, 0, 2);
            move(rig, 1, 300);
            for (int k = 0; k < 2; k++)
                fake_group(&rig->fake, k ? "hog" : "a", GROUP_CORE)->cpus = 4;
            rig_tick(rig);
        }
        assert_true(calm_ns(rig) == 0);
        drop(rig);
    }
}

/* "a" runs on socket 0 and reads what lies on socket 1, where the hog is: its own socket moves less
 * than it reads. */
TEST(who_reads_far_memory_has_its_neighbours_there)
{
    struct rig *rig = new_rig(2, true);
    rig_start(rig);
    rig_container(rig, "a");
    for (int i = 0; i < 100; i++) {
        work(rig, "a", 0, 20, 140);
        move(rig, 0, 1);
        move(rig, 1, 320);
        rig_tick(rig);
    }
    assert_true(calm_ns(rig) == 0);
    drop(rig);
}
