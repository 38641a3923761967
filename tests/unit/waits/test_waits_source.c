/*
 * What containers wait for, from cgroup files in a tree of our own: v2, v1 and both; files that
 * come late, are cut off or wrong; totals that fall; cgroups that go; descriptors called in.
 */
#include <fcntl.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/waits/files.h"
#include "exporter/source/waits/waits.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

struct place {
    struct fixture tree;
    char unified[128], cpu[128], cpuacct[128], cpuset[128], memory[128];
    struct descriptor_pool pool;
    struct source *source;
    int directory;
    struct tick now;
    uint64_t space[24];
    struct reading reading;
    struct verdict why;
};

static void pressure(struct place *p, const char *cgroup, const char *of, unsigned some,
                     unsigned full)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.pressure", cgroup, of);
    fixture_write(&p->tree, path, "some avg10=0.00 total=%u\nfull avg10=0.00 total=%u\n", some,
                  full);
}

static void make_source(struct place *p, bool v1)
{
    snprintf(p->unified, sizeof p->unified, "%s/unified", p->tree.root);
    char *const mounts[] = {p->cpu, p->cpuacct, p->cpuset, p->memory};
    static const char *const names[] = {"cpu", "cpuacct", "cpuset", "memory"};
    for (int i = 0; i < 4; i++)
        snprintf(mounts[i], sizeof p->cpu, v1 ? "%s/%s" : "", p->tree.root, names[i]);
    const struct waits_config config = {
        .fs = &p->tree.fs,
        .mounts = {p->unified, p->cpu, p->cpuacct, p->cpuset, p->memory},
        .pool = &p->pool};
    assert_int_equal(waits_source_new(&config, &p->source), 0);
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    fixture_init(&p->tree);
    fixture_write(&p->tree, "perf/c/cgroup.procs", "1\n");
    char path[160];
    snprintf(path, sizeof path, "%s/perf/c", p->tree.root);
    p->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(p->directory >= 0);
    fixture_write(&p->tree, "proc/stat", "cpu  1\ncpu0 1 1 1 1 1 1 1 100\ncpu1 1 1 1 1 1 1 1 0\n");
    fixture_write(&p->tree, "proc/pressure/memory", "some total=10\nfull total=0\n");
    fixture_write(&p->tree, "proc/vmstat", "pgscan_kswapd 5\npgscan_direct 2\n");
    p->pool.limit = 100;
    p->reading =
        (struct reading){.rows = p->space, .cap = 1, .stride_bytes = reading_stride(GROUP_WAITS)};
    assert_true(p->reading.stride_bytes <= sizeof p->space);
    p->now.mono_ns = clock_mono_ns();
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    if (p->source)
        p->source->ops->free(p->source);
    assert_int_equal(p->pool.lent, 0);
    assert_null(p->pool.call_in);
    close(p->directory);
    fixture_release(&p->tree);
    free(p);
    return 0;
}

static int open_c(struct place *p, const char *path, enum group group, uint64_t *handle)
{
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "c", .cgroup_fd = p->directory, .cgroup_path = path};
    return p->source->ops->open(p->source, &scope, group, handle, &p->why);
}

/* So many seconds later. */
static int read_c(struct place *p, uint64_t handle, enum group group, unsigned seconds)
{
    p->now.mono_ns += seconds * SECOND;
    p->reading.stride_bytes = reading_stride(group);
    assert_int_equal(p->source->ops->begin(p->source, &p->now), 0);
    return p->source->ops->read(p->source, handle, &p->reading);
}

/* UINT64_MAX: it is not in the row. */
static uint64_t value(const struct place *p, enum group group, enum role role)
{
    const struct reading_row *row = reading_row(&p->reading, 0);
    int i = group_index(group, role);
    return row->present >> i & 1 ? row->count[i] : UINT64_MAX;
}

#define WAITS(role) value(p, GROUP_WAITS, ROLE_##role)
#define BOUNDS(role) value(p, GROUP_BOUNDS, ROLE_##role)
#define ABSENT UINT64_MAX

static void v2_stat(struct place *p, unsigned usage_us, unsigned periods, unsigned throttled)
{
    fixture_write(&p->tree, "unified/c/cpu.stat",
                  "usage_usec %u\nnr_periods %u\nnr_throttled %u\nthrottled_usec 9\n", usage_us,
                  periods, throttled);
}

TEST_ON(v2, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, false);
    assert_true(p->source->ops->check(p->source, SCOPE_CGROUP, GROUP_WAITS, &p->why));
    assert_string_equal(p->why.words, "");
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), -ENOENT);
    assert_int_equal(p->why.reason, REASON_NO_DEVICE);
    v2_stat(p, 1000, 50, 5);
    pressure(p, "unified/c", "cpu", 100, 40);
    pressure(p, "unified/c", "memory", 10, 0);
    pressure(p, "unified/c", "io", 20, 0);
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    assert_int_equal(p->pool.lent, 4);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(CPU_TIME_NS), 0);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 0);
    v2_stat(p, 4000, 60, 12);
    pressure(p, "unified/c", "cpu", 150, 60);
    fixture_write(&p->tree, "proc/stat", "cpu  1\ncpu0 1 1 1 1 1 1 1 160\ncpu1 1 1 1 1 1 1 1 0\n");
    fixture_write(&p->tree, "proc/vmstat", "pgscan_kswapd 8\npgscan_direct 3\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(CPU_TIME_NS), 3000000);
    assert_int_equal(WAITS(QUOTA_PERIODS), 10);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 7);
    assert_int_equal(WAITS(CPU_SOME_NS), 50000);
    assert_int_equal(WAITS(CPU_FULL_NS), 20000);
    assert_int_equal(WAITS(IO_SOME_NS), 0);
    assert_int_equal(WAITS(STEAL_NS), 300000000); /* 0.6 s of one of two CPUs */
    assert_int_equal(WAITS(NODE_RECLAIMED), 4);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), ABSENT); /* it does not wait for memory */
    assert_int_equal(WAITS(RUN_DELAY_NS), ABSENT);
}

/* v1's limit and v2's pressure of the same processes; and the pod's limit, which is reached more
 * often than its own. */
TEST_ON(both_versions, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, true);
    fixture_write(&p->tree, "unified/pod/c/cpu.stat", "usage_usec 1000\n");
    pressure(p, "unified/pod/c", "cpu", 100, 40);
    fixture_write(&p->tree, "cpu/pod/c/cpu.stat", "nr_periods 9\nnr_throttled 1\n");
    fixture_write(&p->tree, "cpu/pod/cpu.cfs_quota_us", "50000\n");
    fixture_write(&p->tree, "cpu/pod/cpu.cfs_period_us", "100000\n");
    fixture_write(&p->tree, "cpu/pod/cpu.stat", "nr_periods 100\nnr_throttled 70\n");
    assert_int_equal(open_c(p, "/pod/c", GROUP_WAITS, &handle), 0);
    fixture_write(&p->tree, "cpu/pod/c/cpu.stat", "nr_periods 19\nnr_throttled 2\n");
    fixture_write(&p->tree, "cpu/pod/cpu.stat", "nr_periods 110\nnr_throttled 78\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(QUOTA_PERIODS), 10);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 8);
    fixture_write(&p->tree, "cpu/pod/c/cpu.stat", "nr_periods 29\nnr_throttled 12\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(QUOTA_PERIODS), 20);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 18);
}

/* The runtime makes v1's cgroup after v2's: its history is not the container's loss. */
TEST_ON(a_limit_that_comes_later, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, true);
    fixture_write(&p->tree, "unified/c/cpu.stat", "usage_usec 1000\n");
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    fixture_write(&p->tree, "cpu/c/cpu.stat", "nr_periods 900\nnr_throttled 900\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(THROTTLED_PERIODS), ABSENT);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 2), 0);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 0);
    fixture_write(&p->tree, "cpu/c/cpu.stat", "nr_periods 910\nnr_throttled 905\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 5);
}

TEST_ON(v1_alone, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, true);
    p->unified[0] = '\0';
    assert_true(p->source->ops->check(p->source, SCOPE_CGROUP, GROUP_WAITS, &p->why));
    assert_int_equal(p->why.reason, REASON_OK);
    assert_non_null(strstr(p->why.words, "cgroup v2"));
    fixture_write(&p->tree, "cpuacct/c/cpuacct.usage", "5000\n");
    fixture_write(&p->tree, "cpu/c/cpu.stat", "nr_periods 1\nnr_throttled 0\n");
    /* Without pressure the tasks are asked. */
    fixture_write(&p->tree, "cpu/c/tasks", "7\n8\n");
    fixture_write(&p->tree, "proc/7/schedstat", "1 1000 1\n");
    fixture_write(&p->tree, "proc/8/schedstat", "1 500 1\n");
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    fixture_write(&p->tree, "cpuacct/c/cpuacct.usage", "7000\n");
    fixture_write(&p->tree, "proc/7/schedstat", "1 1400 1\n");
    fixture_write(&p->tree, "cpu/c/tasks", "7\n9\n"); /* 8 has ended, 9 is new */
    fixture_write(&p->tree, "proc/9/schedstat", "1 30 1\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(CPU_TIME_NS), 2000);
    assert_int_equal(WAITS(RUN_DELAY_NS), 430);
    assert_int_equal(WAITS(CPU_SOME_NS), ABSENT);
    fixture_write(&p->tree, "cpu/c/tasks", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"); /* too many */
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(RUN_DELAY_NS), ABSENT);
}

/* Half a file, nonsense, nothing: that part is absent, the rest is there. */
TEST_ON(bad_files, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, false);
    v2_stat(p, 1000, 50, 5);
    pressure(p, "unified/c", "cpu", 100, 40);
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    fixture_write(&p->tree, "unified/c/cpu.pressure", "some avg10=0.00 tot");
    fixture_write(&p->tree, "unified/c/cpu.stat", "usage_usec 2000\nnr_periods 60\nnr_throt");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(CPU_TIME_NS), 1000000);
    assert_int_equal(WAITS(CPU_SOME_NS), ABSENT);
    assert_int_equal(WAITS(THROTTLED_PERIODS), ABSENT);
    fixture_write(&p->tree, "unified/c/cpu.stat", "usage_us");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), -EINVAL);
    v2_stat(p, 500, 10, 0); /* all fall: of the kernel's totals it shows */
    pressure(p, "unified/c", "cpu", 50, 40);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(CPU_TIME_NS), 0);
    assert_int_equal(WAITS(THROTTLED_PERIODS), 0);
}

/* Events and refaults are read of suspects, and are theirs since they became some. */
TEST_ON(suspects, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, false);
    v2_stat(p, 1000, 0, 0);
    pressure(p, "unified/c", "memory", 0, 0);
    fixture_write(&p->tree, "unified/c/memory.events", "low 0\nhigh 10\nmax 5\noom 0\n");
    fixture_write(&p->tree, "unified/c/memory.stat",
                  "anon 1\nworkingset_refault_anon 3\nworkingset_refault_file 4\n");
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    pressure(p, "unified/c", "memory", 4000000, 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), 0);
    pressure(p, "unified/c", "memory", 9000000, 0);
    fixture_write(&p->tree, "unified/c/memory.events", "low 0\nhigh 12\nmax 9\noom 0\n");
    fixture_write(&p->tree, "unified/c/memory.stat",
                  "anon 1\nworkingset_refault_anon 3\nworkingset_refault_file 104\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), 6);
    assert_int_equal(WAITS(REFAULTS), 100);
    for (int i = 0; i < SUSPECT_READINGS - 1; i++) { /* the next burst is not missed */
        fixture_write(&p->tree, "unified/c/memory.events", "low 0\nhigh 12\nmax 10\noom 0\n");
        assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
        assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), 7);
    }
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), ABSENT); /* none any more */
}

/* Half a file of events is none; one that fell tells nothing until the next. Where there is none,
 * there is no limit. */
TEST_ON(bad_events, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, false);
    v2_stat(p, 1000, 0, 0);
    pressure(p, "unified/c", "memory", 0, 0);
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    pressure(p, "unified/c", "memory", 4000000, 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), 0);
    static const struct {
        const char *events;
        uint64_t counted;
    } then[] = {{"high 3\nmax 4\n", 7}, {"high 3\nma", ABSENT}, {"high x\nmax 9\n", ABSENT},
                {"high 3\nmax 6\n", 7}, {"high 0\nmax 1\n", 7}, {"high 0\nmax 3\n", 9},
                {"high 0\nmax 3\nm", 9}};
    for (size_t i = 0; i < sizeof then / sizeof *then; i++) {
        fixture_write(&p->tree, "unified/c/memory.events", "%s", then[i].events);
        assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
        assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), then[i].counted);
        assert_int_equal(WAITS(REFAULTS), ABSENT); /* there is no memory.stat */
    }
}

/* The pod's limit counts; a sibling's, which is in the pod's memory.events as well, does not. */
TEST_ON(limits_above, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, false);
    fixture_write(&p->tree, "unified/pod/c/cpu.stat", "usage_usec 1000\n");
    fixture_write(&p->tree, "unified/pod/c/memory.events", "high 0\nmax 0\n");
    fixture_write(&p->tree, "unified/pod/memory.events", "high 0\nmax 10\n");
    fixture_write(&p->tree, "unified/pod/memory.events.local", "high 0\nmax 0\n");
    pressure(p, "unified/pod/c", "memory", 0, 0);
    assert_int_equal(open_c(p, "/pod/c", GROUP_WAITS, &handle), 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    pressure(p, "unified/pod/c", "memory", 4000000, 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    pressure(p, "unified/pod/c", "memory", 9000000, 0);
    fixture_write(&p->tree, "unified/pod/memory.events", "high 0\nmax 90\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), 0);
    pressure(p, "unified/pod/c", "memory", 14000000, 0);
    fixture_write(&p->tree, "unified/pod/memory.events.local", "high 0\nmax 3\n");
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(MEMORY_LIMIT_EVENTS), 3);
}

TEST_ON(bounds, struct place *p, setup, teardown)
{
    uint64_t handle, other;
    make_source(p, false);
    fixture_write(&p->tree, "unified/cpuset.cpus.effective", "0-3\n");
    fixture_write(&p->tree, "unified/c/cpu.weight", "300\n");
    fixture_write(&p->tree, "unified/d/cpu.weight", "100\n");
    fixture_write(&p->tree, "unified/c/memory.current", "700\n");
    fixture_write(&p->tree, "unified/c/memory.max", "max\n");
    fixture_write(&p->tree, "unified/c/memory.high", "900\n");
    assert_int_equal(open_c(p, "/c", GROUP_BOUNDS, &handle), 0);
    assert_int_equal(read_c(p, handle, GROUP_BOUNDS, 0), 0);
    assert_int_equal(BOUNDS(ENTITLED_NS), 4 * SECOND);
    assert_int_equal(open_c(p, "/d", GROUP_BOUNDS, &other), 0);
    assert_int_equal(read_c(p, handle, GROUP_BOUNDS, 0), 0);
    assert_int_equal(BOUNDS(ENTITLED_NS), 3 * SECOND);
    assert_int_equal(BOUNDS(QUOTA_NS), ABSENT);
    assert_int_equal(BOUNDS(CPU_SET), 0xf);
    assert_int_equal(BOUNDS(MEMORY_BYTES), 700);
    assert_int_equal(BOUNDS(MEMORY_LIMIT_BYTES), 900);
    assert_int_equal(p->pool.lent, 0);
    /* What changes is seen within a minute of the second reading. */
    fixture_write(&p->tree, "unified/c/cpu.max", "50000 100000\n");
    assert_int_equal(read_c(p, handle, GROUP_BOUNDS, 3), 0);
    assert_int_equal(BOUNDS(QUOTA_NS), SECOND / 2);
    assert_int_equal(BOUNDS(ENTITLED_NS), SECOND / 2);
    p->source->ops->close(p->source, other);
    fixture_write(&p->tree, "unified/c/cpu.max", "max 100000\n");
    assert_int_equal(read_c(p, handle, GROUP_BOUNDS, 2 * BOUNDS_PERIOD_SECONDS), 0);
    assert_int_equal(BOUNDS(ENTITLED_NS), 4 * SECOND);
    /* Resized in place, as Kubernetes does: its request and its limits. */
    assert_int_equal(open_c(p, "/d", GROUP_BOUNDS, &other), 0);
    fixture_write(&p->tree, "unified/c/cpu.weight", "100\n");
    fixture_write(&p->tree, "unified/c/cpu.max", "150000 100000\n");
    fixture_write(&p->tree, "unified/c/memory.max", "800\n");
    fixture_write(&p->tree, "unified/c/memory.high", "max\n");
    assert_int_equal(read_c(p, handle, GROUP_BOUNDS, 4 * BOUNDS_PERIOD_SECONDS), 0);
    assert_int_equal(BOUNDS(ENTITLED_NS), 3 * SECOND / 2); /* of two alike the half is more */
    assert_int_equal(BOUNDS(QUOTA_NS), 3 * SECOND / 2);
    assert_int_equal(BOUNDS(MEMORY_LIMIT_BYTES), 800);
    fixture_write(&p->tree, "unified/c/cpu.max", "max 100000\n");
    fixture_write(&p->tree, "unified/c/memory.max", "1600\n");
    assert_int_equal(read_c(p, handle, GROUP_BOUNDS, 6 * BOUNDS_PERIOD_SECONDS), 0);
    assert_int_equal(BOUNDS(ENTITLED_NS), 2 * SECOND);
    assert_int_equal(BOUNDS(MEMORY_LIMIT_BYTES), 1600);
    p->source->ops->close(p->source, other);
}

TEST_ON(descriptors, struct place *p, setup, teardown)
{
    uint64_t first, second;
    size_t fds = fixture_open_fds();
    make_source(p, false);
    size_t own = fixture_open_fds() - fds;
    v2_stat(p, 1000, 0, 0);
    pressure(p, "unified/c", "cpu", 0, 0);
    p->pool.limit = 9;
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &first), 0);
    assert_int_equal(p->pool.lent, 2);
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &second), 0);
    p->pool.counters = 8;
    descriptor_pool_make_room(&p->pool, 0);
    assert_int_equal(p->pool.lent, 0);
    assert_int_equal(read_c(p, first, GROUP_WAITS, 1), -EMFILE);
    assert_int_equal(fixture_open_fds(), fds + own);
    uint64_t third;
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &third), -EMFILE);
    assert_int_equal(p->why.reason, REASON_FD_LIMIT);
    p->source->ops->close(p->source, first);
    p->source->ops->close(p->source, second);
}

/* May not be read: not the CPU time, then not at all; not the pressure, then without it. */
TEST_ON(no_permission, struct place *p, setup, teardown)
{
    uint64_t handle;
    make_source(p, false);
    v2_stat(p, 1000, 0, 0);
    fixture_mkdir(&p->tree, "unified/c/cpu.pressure"); /* even root cannot read that */
    assert_int_equal(open_c(p, "/c", GROUP_WAITS, &handle), 0);
    assert_int_equal(read_c(p, handle, GROUP_WAITS, 1), 0);
    assert_int_equal(WAITS(CPU_SOME_NS), ABSENT);
    assert_int_equal(WAITS(CPU_TIME_NS), 0);
    fixture_mkdir(&p->tree, "unified/d/cpu.stat");
    assert_int_equal(open_c(p, "/d", GROUP_WAITS, &handle), -ENOENT);
    unlinkat(p->directory, "cgroup.procs", 0);
    assert_int_equal(open_c(p, "/gone", GROUP_WAITS, &handle), -ESRCH);
}
