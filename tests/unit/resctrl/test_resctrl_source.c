/*
 * Monitoring groups in a tree of our own: which is whose, what readings are published, and what
 * they make of files that fail, vanish, fall, jump or are half written.
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "exporter/source/resctrl/resctrl.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define MOUNT "sys/fs/resctrl/"
#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID32 "0a1b2c3d111122223333444455556666"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD MOUNT "mon_groups/" UID
#define CONTAINER MOUNT "gold/mon_groups/" ID

struct place {
    struct fixture tree;
    struct descriptor_pool pool;
    struct source *source;
    uint64_t space[128];
    struct reading reading;
    struct verdict why;
    uint64_t seconds;
};

/* Two sockets of two CPUs, of which the L3s have the ids 0 and 4. */
static void make_machine(struct place *p)
{
    for (int cpu = 0; cpu < 4; cpu++) {
        char path[96];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cache/index3/id", cpu);
        fixture_write(&p->tree, path, "%d\n", cpu / 2 * 4);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 cpu);
        fixture_write(&p->tree, path, "%d\n", cpu / 2);
    }
    fixture_write(&p->tree, "sys/devices/system/cpu/online", "0-3\n");
    fixture_write(&p->tree, "sys/devices/system/node/node0/cpulist", "0-1\n");
    fixture_write(&p->tree, "sys/devices/system/node/node1/cpulist", "2-3\n");
}

static void write_file(struct place *p, const char *group, const char *domain, const char *file,
                       const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s%smon_data/%s/%s", group,
             group[strlen(group) - 1] == '/' ? "" : "/", domain, file);
    fixture_write(&p->tree, path, "%s", text);
}

static void write_number(struct place *p, const char *group, const char *domain, const char *file,
                         uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu\n", (unsigned long long)value);
    write_file(p, group, domain, file, text);
}

/* A group on both sockets: so many bytes on the first one, and nothing on the other. */
static void write_group(struct place *p, const char *group, uint64_t total, uint64_t local)
{
    write_number(p, group, "mon_L3_00", "mbm_total_bytes", total);
    write_number(p, group, "mon_L3_00", "mbm_local_bytes", local);
    write_number(p, group, "mon_L3_00", "llc_occupancy", 4096);
    write_number(p, group, "mon_L3_04", "mbm_total_bytes", 0);
    write_number(p, group, "mon_L3_04", "mbm_local_bytes", 0);
    write_number(p, group, "mon_L3_04", "llc_occupancy", 0);
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    fixture_init(&p->tree);
    make_machine(p);
    p->pool.limit = 10;
    const struct resctrl_config config = {&p->tree.fs, &p->pool};
    assert_int_equal(resctrl_source_new(&config, &p->source), 0);
    p->reading = (struct reading){
        .rows = p->space, .cap = 8, .stride_bytes = reading_stride(GROUP_BANDWIDTH)};
    assert_true(8 * p->reading.stride_bytes <= sizeof p->space);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    p->source->ops->free(p->source);
    assert_int_equal(p->pool.lent, 0);
    assert_null(p->pool.call_in);
    fixture_release(&p->tree);
    free(p);
    return 0;
}

static bool check(struct place *p, enum scope_kind kind)
{
    return p->source->ops->check(p->source, kind, GROUP_BANDWIDTH, &p->why);
}

static int open_group(struct place *p, enum group group, uint64_t *handle)
{
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "c", .cgroup_fd = -1, .container_id = ID, .pod_uid = UID};
    return p->source->ops->open(p->source, &scope, group, handle, &p->why);
}

static int open_machine(struct place *p, uint64_t *handle)
{
    const struct scope scope = {.kind = SCOPE_MACHINE, .key = "host", .cgroup_fd = -1};
    return p->source->ops->open(p->source, &scope, GROUP_BANDWIDTH, handle, &p->why);
}

static void tick(struct place *p, uint64_t seconds)
{
    p->seconds += seconds;
    const struct tick now = {.mono_ns = p->seconds * SECOND, .interval_ns = SECOND};
    assert_int_equal(p->source->ops->begin(p->source, &now), 0);
}

static int read_h(struct place *p, uint64_t handle)
{
    return p->source->ops->read(p->source, handle, &p->reading);
}

/* The next reading, five seconds later. */
static int next_h(struct place *p, uint64_t handle)
{
    tick(p, 5);
    return read_h(p, handle);
}

/* The two readings of a group from which nothing is said. */
static void settle(struct place *p, uint64_t handle)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next_h(p, handle), -ENODATA);
    }
}

static const struct reading_row *row(const struct place *p, size_t i)
{
    return reading_row(&p->reading, i);
}

static uint64_t value(const struct place *p, size_t i, enum role role)
{
    int at = group_index(GROUP_BANDWIDTH, role);
    assert_true(row(p, i)->present >> at & 1);
    return row(p, i)->count[at];
}

static bool has(const struct place *p, size_t i, enum role role)
{
    return row(p, i)->present >> group_index(GROUP_BANDWIDTH, role) & 1;
}

TEST_ON(nothing_is_mounted, struct place *p, setup, teardown)
{
    uint64_t handle;
    assert_false(check(p, SCOPE_MACHINE));
    assert_int_equal(p->why.reason, REASON_NO_DEVICE);
    assert_false(check(p, SCOPE_CGROUP));
    assert_int_equal(p->why.reason, REASON_NO_DEVICE);
    assert_int_equal(open_machine(p, &handle), -ENOENT);
    assert_int_equal(open_group(p, GROUP_BANDWIDTH, &handle), -ENOENT);
    /* a directory that is no such mount */
    fixture_write(&p->tree, MOUNT "schemata", "L3:0=7ff\n");
    tick(p, 5);
    assert_false(check(p, SCOPE_MACHINE));
}

TEST_ON(whose_groups, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 1, 1);
    write_group(p, MOUNT "BE/", 1, 1);
    write_group(p, MOUNT "mon_groups/somebody", 1, 1);
    assert_true(check(p, SCOPE_MACHINE));
    assert_false(check(p, SCOPE_CGROUP));
    assert_int_equal(p->why.reason, REASON_NO_GROUPS);
    assert_non_null(strstr(p->why.words, "nri-resctrl-mon"));
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), -ENOENT);
    assert_int_equal(p->why.reason, REASON_NO_GROUPS);

    write_group(p, POD, 1, 1);
    write_group(p, CONTAINER, 1, 1);
    assert_false(check(p, SCOPE_CGROUP)); /* looked at every five seconds */
    tick(p, 5);
    assert_true(check(p, SCOPE_CGROUP));
    assert_non_null(strstr(p->why.words, "1 pods and 1 containers"));
    assert_non_null(strstr(p->why.words, "BE (koordinator)"));
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    assert_int_equal(open_group(p, GROUP_BANDWIDTH, &handle), 0);
    assert_int_equal(p->source->ops->open_counters(p->source), 2);
    assert_false(p->source->ops->check(p->source, SCOPE_MACHINE, GROUP_POD_BANDWIDTH, &p->why));
}

TEST_ON(a_pod_without_dashes, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 1, 1);
    write_group(p, MOUNT "gold/mon_groups/" UID32, 1, 1);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
}

/* What the RMID has left over is not this group's; and nobody is interrupted in between. */
TEST_ON(the_first_window_is_dropped, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 0, 0);
    write_group(p, POD, 900000000, 900);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    assert_int_equal(next_h(p, handle), -ENODATA);
    write_group(p, POD, 5000, 5000);
    assert_int_equal(next_h(p, handle), -ENODATA);
    write_group(p, POD, 7000, 6500);
    for (int i = 0; i < 4; i++) {
        tick(p, 1);
        assert_int_equal(read_h(p, handle), -ENODATA);
    }
    tick(p, 1);
    assert_int_equal(read_h(p, handle), 0);
    assert_int_equal(p->reading.n, 2);
    size_t first = row(p, 0)->cpu == 0 ? 0 : 1;
    assert_int_equal(row(p, first)->cpu, 0);
    assert_int_equal(row(p, 1 - first)->cpu, 2);
    assert_int_equal(value(p, first, ROLE_MBM_TOTAL_BYTES), 2000);
    assert_int_equal(value(p, first, ROLE_MBM_LOCAL_BYTES), 1500);
    assert_int_equal(value(p, first, ROLE_LLC_OCCUPANCY_BYTES), 4096);
    assert_int_equal(row(p, first)->enabled_ns, 5 * SECOND);
    assert_int_equal(value(p, 1 - first, ROLE_MBM_TOTAL_BYTES), 0);
    assert_false(has(p, first, ROLE_CORE_ENERGY_MICROJOULES));
}

/* One socket only, for what follows. */
static uint64_t settled(struct place *p, uint64_t total)
{
    uint64_t handle;
    write_number(p, MOUNT, "mon_L3_00", "mbm_total_bytes", 0);
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", total);
    write_number(p, POD, "mon_L3_00", "mbm_local_bytes", 0);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    settle(p, handle);
    return handle;
}

static void assert_next(struct place *p, uint64_t handle, uint64_t bytes, uint64_t seconds)
{
    assert_int_equal(next_h(p, handle), 0);
    if (value(p, 0, ROLE_MBM_TOTAL_BYTES) != bytes || row(p, 0)->enabled_ns != seconds * SECOND)
        fail_msg("%llu bytes in %llu ns", (unsigned long long)row(p, 0)->count[0],
                 (unsigned long long)row(p, 0)->enabled_ns);
}

/* A window that is not known is in neither the bytes nor the time. */
static void assert_unknown(struct place *p, uint64_t handle)
{
    assert_int_equal(next_h(p, handle), 0); /* the local bytes are known */
    assert_false(has(p, 0, ROLE_MBM_TOTAL_BYTES));
    assert_true(has(p, 0, ROLE_MBM_LOCAL_BYTES));
}

static void total_is(struct place *p, const char *text)
{
    write_file(p, POD, "mon_L3_00", "mbm_total_bytes", text);
}

TEST_ON(counters_that_fall_begin_anew, struct place *p, setup, teardown)
{
    uint64_t handle = settled(p, 1000);
    total_is(p, "1600\n");
    assert_next(p, handle, 600, 5);
    total_is(p, "100\n"); /* another RMID, or the counter wrapped */
    assert_int_equal(next_h(p, handle), 0);
    assert_false(has(p, 0, ROLE_MBM_TOTAL_BYTES));
    total_is(p, "150\n");
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(value(p, 0, ROLE_MBM_TOTAL_BYTES), 650);
    total_is(p, "99999999999999\n"); /* 20 TB/s: of whoever had it before */
    assert_unknown(p, handle);
    total_is(p, "99999999999999\n");
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(value(p, 0, ROLE_MBM_TOTAL_BYTES), 650);
}

/* After a window without a number the next one has no beginning. */
TEST_ON(numbers_that_are_none, struct place *p, setup, teardown)
{
    static const char *const texts[] = {"Unavailable\n", "Unassigned\n", "Error\n", "17", "",
                                        "1e9\n"};
    uint64_t handle = settled(p, 1000), sum = 0, at = 1000;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[32];
        total_is(p, texts[i]);
        assert_unknown(p, handle);
        snprintf(text, sizeof text, "%llu\n", (unsigned long long)(at += 5000));
        total_is(p, text);
        assert_unknown(p, handle);
        snprintf(text, sizeof text, "%llu\n", (unsigned long long)(at += 10));
        total_is(p, text);
        assert_int_equal(next_h(p, handle), 0);
        assert_int_equal(value(p, 0, ROLE_MBM_TOTAL_BYTES), sum += 10);
    }
}

/* Where the hardware knows only the bytes, too: nothing of before is left standing. */
TEST_ON(nothing_is_known, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 1, 1);
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", 1000);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    settle(p, handle);
    total_is(p, "1500\n");
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(value(p, 0, ROLE_MBM_TOTAL_BYTES), 500);
    total_is(p, "Unavailable\n");
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(row(p, 0)->present, 0);
}

static void remove_file(struct place *p, const char *path)
{
    char whole[400];
    snprintf(whole, sizeof whole, "%s/%s", p->tree.root, path);
    assert_int_equal(remove(whole), 0);
}

TEST_ON(a_file_that_vanishes, struct place *p, setup, teardown)
{
    uint64_t handle = settled(p, 1000);
    remove_file(p, POD "/mon_data/mon_L3_00/mbm_total_bytes");
    assert_unknown(p, handle);
    assert_int_equal(next_h(p, handle), 0); /* from then on the kernel has no such file */
    assert_false(has(p, 0, ROLE_MBM_TOTAL_BYTES));
}

TEST_ON(no_links_are_followed, struct place *p, setup, teardown)
{
    uint64_t handle = settled(p, 1000);
    fixture_write(&p->tree, "else/where", "5000\n");
    remove_file(p, POD "/mon_data/mon_L3_00/mbm_total_bytes");
    fixture_link(&p->tree, POD "/mon_data/mon_L3_00/mbm_total_bytes",
                 "../../../../../../../else/where");
    assert_unknown(p, handle);
    fixture_link(&p->tree, MOUNT "mon_groups/ffffffff111122223333444455556666", UID);
    tick(p, 5);
    const struct scope scope = {.kind = SCOPE_CGROUP,
                                .key = "l",
                                .cgroup_fd = -1,
                                .pod_uid = "ffffffff111122223333444455556666"};
    assert_int_equal(p->source->ops->open(p->source, &scope, GROUP_POD_BANDWIDTH, &handle, &p->why),
                     -ENOENT);
}

TEST_ON(a_group_that_is_removed, struct place *p, setup, teardown)
{
    uint64_t handle = settled(p, 1000), again;
    remove_file(p, POD "/mon_data/mon_L3_00/mbm_total_bytes");
    remove_file(p, POD "/mon_data/mon_L3_00/mbm_local_bytes");
    remove_file(p, POD "/mon_data/mon_L3_00");
    remove_file(p, POD "/mon_data");
    remove_file(p, POD);
    assert_int_equal(next_h(p, handle), -ESRCH);
    assert_int_equal(p->source->ops->open_counters(p->source), 0);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &again), -ENOENT);
    /* Another of the same name is another one, also while the first handle is still open. */
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", 5);
    assert_int_equal(next_h(p, handle), -ESRCH);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &again), 0);
    p->source->ops->close(p->source, handle);
    settle(p, again);
    assert_next(p, again, 0, 5);
}

/* The node's directories are read in place of the domain's, which is their sum. */
TEST_ON(sub_numa_clusters, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_number(p, MOUNT, "mon_L3_00", "mbm_total_bytes", 0);
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", 300);
    write_number(p, POD, "mon_L3_00/mon_sub_L3_00", "mbm_total_bytes", 100);
    write_number(p, POD, "mon_L3_00/mon_sub_L3_01", "mbm_total_bytes", 200);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    settle(p, handle);
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", 400);
    write_number(p, POD, "mon_L3_00/mon_sub_L3_00", "mbm_total_bytes", 130);
    write_number(p, POD, "mon_L3_00/mon_sub_L3_01", "mbm_total_bytes", 270);
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(p->reading.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(value(p, i, ROLE_MBM_TOTAL_BYTES), row(p, i)->cpu == 0 ? 30 : 70);
}

TEST_ON(telemetry, struct place *p, setup, teardown)
{
    uint64_t handle = settled(p, 1000);
    p->source->ops->close(p->source, handle);
    write_file(p, POD, "mon_PERF_PKG_00", "core_energy", "10.5\n");
    write_file(p, POD, "mon_PERF_PKG_00", "activity", "1.5\n");
    write_file(p, POD, "mon_PERF_PKG_00", "stalls_llc_miss", "700\n");
    write_file(p, POD, "mon_PERF_PKG_00", "unhalted_core_cycles", "1000\n");
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    settle(p, handle);
    write_file(p, POD, "mon_PERF_PKG_00", "core_energy", "12.25\n");
    write_file(p, POD, "mon_PERF_PKG_00", "stalls_llc_miss", "800\n");
    write_file(p, POD, "mon_PERF_PKG_00", "unhalted_core_cycles", "3000\n");
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(p->reading.n, 1); /* the package has the L3's first CPU */
    assert_int_equal(value(p, 0, ROLE_CORE_ENERGY_MICROJOULES), 1750000);
    assert_int_equal(value(p, 0, ROLE_LLC_MISS_STALL_CYCLES), 100);
    assert_int_equal(value(p, 0, ROLE_UNHALTED_CORE_CYCLES), 2000);
    assert_int_equal(value(p, 0, ROLE_MBM_TOTAL_BYTES), 0);
}

/* The root group has its monitoring groups in it, and the classes have theirs. */
TEST_ON(the_machine_is_all_classes, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 1000, 0);
    write_group(p, MOUNT "gold/", 500, 0);
    write_group(p, POD, 400, 0);
    assert_int_equal(open_machine(p, &handle), 0);
    settle(p, handle);
    write_group(p, MOUNT, 1300, 0);
    write_group(p, MOUNT "gold/", 600, 0);
    assert_int_equal(next_h(p, handle), 0);
    size_t first = row(p, 0)->cpu == 0 ? 0 : 1;
    assert_int_equal(value(p, first, ROLE_MBM_TOTAL_BYTES), 400);
    assert_int_equal(value(p, first, ROLE_LLC_OCCUPANCY_BYTES), 8192);
    /* One that comes joins from its third reading on. */
    write_group(p, MOUNT "silver/", 70, 0);
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(next_h(p, handle), 0);
    write_group(p, MOUNT "silver/", 75, 0);
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(value(p, first, ROLE_MBM_TOTAL_BYTES), 405);
    /* What one does not know is not known of all. */
    write_file(p, MOUNT "silver", "mon_L3_00", "mbm_total_bytes", "Unavailable\n");
    assert_int_equal(next_h(p, handle), 0);
    assert_false(has(p, first, ROLE_MBM_TOTAL_BYTES));
    assert_true(has(p, 1 - first, ROLE_MBM_TOTAL_BYTES));
}

/* A sum without one of the classes is not everybody's, and it is made anew when it can be. */
TEST_ON(a_class_that_cannot_be_read, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 1000, 0);
    write_group(p, MOUNT "gold/", 500, 0);
    assert_int_equal(open_machine(p, &handle), 0);
    settle(p, handle);
    p->pool.limit = 2;
    descriptor_pool_make_room(&p->pool, 1);
    p->pool.counters = 1;
    assert_int_equal(p->pool.lent, 1);
    write_group(p, MOUNT, 1300, 0);
    write_group(p, MOUNT "gold/", 600, 0);
    for (int i = 0; i < 4; i++) {
        tick(p, 5);
        int err = read_h(p, handle);
        assert_true(
            err == -ENODATA || err == -EMFILE ||
            (err == 0 && !has(p, 0, ROLE_MBM_TOTAL_BYTES) && !has(p, 1, ROLE_MBM_TOTAL_BYTES)));
    }
    p->pool.counters = 0;
    for (int i = 0; i < 3; i++) {
        tick(p, 5);
        (void)read_h(p, handle);
    }
    write_group(p, MOUNT, 1301, 0);
    write_group(p, MOUNT "gold/", 602, 0);
    size_t first = row(p, 0)->cpu == 0 ? 0 : 1;
    uint64_t before = value(p, first, ROLE_MBM_TOTAL_BYTES);
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(value(p, first, ROLE_MBM_TOTAL_BYTES), before + 3);
}

/* Where no CPU is known, all domains are one row. */
TEST_ON(domains_nobody_knows, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_number(p, MOUNT, "mon_L3_00", "mbm_total_bytes", 0);
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", 1);
    write_number(p, POD, "mon_L3_77", "mbm_total_bytes", 1);
    write_number(p, POD, "mon_L3_x", "mbm_total_bytes", 1);
    write_number(p, POD, "mon_MB_00", "mbm_total_bytes", 1);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), 0);
    settle(p, handle);
    write_number(p, POD, "mon_L3_00", "mbm_total_bytes", 11);
    write_number(p, POD, "mon_L3_77", "mbm_total_bytes", 4);
    write_number(p, POD, "mon_MB_00", "mbm_total_bytes", 100);
    assert_int_equal(next_h(p, handle), 0);
    assert_int_equal(p->reading.n, 1);
    assert_int_equal(row(p, 0)->cpu, -1);
    assert_int_equal(value(p, 0, ROLE_MBM_TOTAL_BYTES), 13);
}

TEST_ON(counters_need_the_descriptors, struct place *p, setup, teardown)
{
    uint64_t pod, container, other;
    write_group(p, MOUNT, 1, 1);
    write_group(p, POD, 1, 1);
    write_group(p, CONTAINER, 1, 1);
    p->pool.limit = 2;
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &pod), 0);
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &other), 0); /* the same one */
    assert_int_equal(p->pool.lent, 1);
    assert_int_equal(open_group(p, GROUP_BANDWIDTH, &container), 0);
    tick(p, 5);
    descriptor_pool_make_room(&p->pool, 1);
    assert_int_equal(p->pool.lent, 1);
    assert_int_equal(read_h(p, container), -EMFILE);
    assert_int_equal(read_h(p, pod), -ENODATA);
    p->pool.counters = 1;
    assert_int_equal(open_group(p, GROUP_BANDWIDTH, &other), -EMFILE);
    assert_int_equal(p->why.reason, REASON_FD_LIMIT);
    p->source->ops->close(p->source, pod);
    assert_int_equal(p->pool.lent, 1); /* somebody else has it */
}

TEST_ON(nothing_leaks, struct place *p, setup, teardown)
{
    uint64_t handle;
    write_group(p, MOUNT, 1, 1);
    write_group(p, MOUNT "gold/", 1, 1);
    fixture_mkdir(&p->tree, POD); /* without any file */
    size_t before = fixture_open_fds();
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), -ENOENT);
    fixture_mkdir(&p->tree, POD "/mon_data");
    assert_int_equal(open_group(p, GROUP_POD_BANDWIDTH, &handle), -ENOENT);
    assert_int_equal(open_machine(p, &handle), 0);
    settle(p, handle);
    assert_int_equal(fixture_open_fds(), before + 2);
    p->source->ops->close(p->source, handle);
    assert_int_equal(fixture_open_fds(), before);
}
