/* CPU time from a made-up tree: which file is taken, what rows it gives, what it costs. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/source/activity/activity.h"
#include "exporter/source/perf/perf.h"
#include "tests/unit/support/fake_pmu.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

enum { ROWS = 8 };

struct tree {
    struct fixture fixture;
    struct activity_config config;
    struct descriptor_pool pool;
    struct fake_pmu pmu;
    struct log log;
    struct source *source;
    char cpuacct[128], unified[128];
    size_t fds;
};

struct rows {
    struct reading reading;
    uint64_t space[ROWS * 4];
};

/* Four possible CPUs, of which 0 and 2 are online; cgroups /a in v1's cpuacct and in v2. */
static int setup(void **state)
{
    struct tree *tree = calloc(1, sizeof *tree);
    size_t fds = fixture_open_fds();
    assert_non_null(tree);
    fixture_init(&tree->fixture);
    fixture_write(&tree->fixture, "sys/devices/system/cpu/possible", "0-3\n");
    fixture_write(&tree->fixture, "sys/devices/system/cpu/online", "0,2\n");
    fixture_write(&tree->fixture, "v1/release_agent", "\n");
    fixture_write(&tree->fixture, "v1/cpuacct.usage_percpu", "1000 0 5000 0 \n");
    fixture_write(&tree->fixture, "v1/a/cpuacct.usage_percpu", "100 0 20 0 \n");
    fixture_write(&tree->fixture, "v1/a/cpuacct.usage", "120\n");
    fixture_write(&tree->fixture, "v2/a/cpu.stat", "usage_usec 30\nuser_usec 30\n");
    fixture_write(&tree->fixture, "perf/a/cgroup.procs", "1\n");
    fixture_write(&tree->fixture, "proc/stat",
                  "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 1 1 9 9 1 1 9 0 0\n"
                  "cpu2 2 2 2 9 9 2 2 9 0 0\nintr 5\n");
    snprintf(tree->cpuacct, sizeof tree->cpuacct, "%s/v1", tree->fixture.root);
    snprintf(tree->unified, sizeof tree->unified, "%s/v2", tree->fixture.root);
    tree->log.fd = -1;
    tree->fds = fds;
    fake_pmu_init(&tree->pmu);
    tree->config = (struct activity_config){.fs = &tree->fixture.fs,
                                            .cpuacct = tree->cpuacct,
                                            .unified = tree->unified,
                                            .pool = &tree->pool};
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    struct tree *tree = *state;
    if (tree->source)
        tree->source->ops->free(tree->source);
    assert_int_equal(tree->pool.lent, 0);
    assert_int_equal(tree->pmu.open, 0);
    fixture_release(&tree->fixture);
    assert_int_equal(fixture_open_fds(), tree->fds);
    free(tree);
    return 0;
}

static void start(struct tree *tree)
{
    assert_int_equal(activity_source_new(&tree->config, &tree->source), 0);
}

/* Clocks that open and count nothing: which CPUs they would be on is enough here. */
static void with_clocks(struct tree *tree)
{
    const struct perf_config clocks = {
        .fs = &tree->fixture.fs, .log = &tree->log, .kernel = &tree->pmu.kernel};
    assert_int_equal(perf_source_new(&clocks, &tree->config.clocks), 0);
}

static int open_scope(struct tree *tree, enum scope_kind kind, const char *path, uint64_t *handle,
                      struct verdict *why)
{
    char directory[256];
    snprintf(directory, sizeof directory, "%s/perf%s", tree->fixture.root, path ? path : "");
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct scope scope = {
        .kind = kind, .key = "c1", .cgroup_fd = fd, .cgroup_path = path, .cpu = -1};
    int err = tree->source->ops->open(tree->source, &scope, GROUP_ACTIVITY, handle, why);
    if (fd >= 0)
        close(fd);
    return err;
}

static uint64_t open_good(struct tree *tree, enum scope_kind kind, const char *words)
{
    struct verdict why = {.reason = REASON_NO_PMU};
    uint64_t handle = 0;
    int err = open_scope(tree, kind, kind == SCOPE_CGROUP ? "/a" : NULL, &handle, &why);
    if (err)
        fail_msg("%d: %s", err, why.words);
    assert_int_equal(why.reason, REASON_OK);
    assert_string_equal(why.words, words);
    assert_true(tree->source->ops->check(tree->source, kind, GROUP_ACTIVITY, &why));
    assert_string_equal(why.words, words);
    return handle;
}

static int read_rows(struct tree *tree, uint64_t handle, struct rows *out)
{
    out->reading = (struct reading){
        .stride_bytes = reading_stride(GROUP_ACTIVITY), .rows = out->space, .cap = ROWS};
    return tree->source->ops->read(tree->source, handle, &out->reading);
}

static void assert_row(const struct rows *rows, size_t i, int cpu, uint64_t ns)
{
    const struct reading_row *row = reading_row(&rows->reading, i);
    assert_true(i < rows->reading.n);
    assert_int_equal(row->cpu, cpu);
    assert_int_equal(row->present, 1);
    assert_int_equal(row->count[0], ns);
    assert_int_equal(row->enabled_ns, ns);
    assert_int_equal(row->running_ns, ns);
}

static void begin(struct tree *tree)
{
    const struct tick tick = {.number = 1};
    assert_int_equal(tree->source->ops->begin(tree->source, &tick), 0);
}

/* Each CPU's own, from the opening on; what falls holds; a CPU that comes online gets a row. */
TEST_ON(test_per_cpu, struct tree *tree, setup, teardown)
{
    struct rows rows;
    start(tree);
    uint64_t a =
        open_good(tree, SCOPE_CGROUP, "CPU time of containers from cpuacct.usage_percpu, per CPU");
    assert_int_equal(tree->source->ops->width(tree->source, a), 2);
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_int_equal(rows.reading.n, 2);
    assert_row(&rows, 0, 0, 0);
    assert_row(&rows, 1, 2, 0);
    fixture_write(&tree->fixture, "v1/a/cpuacct.usage_percpu", "107 7 25 0 \n");
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_row(&rows, 0, 0, 7);
    assert_row(&rows, 1, 2, 5);
    fixture_write(&tree->fixture, "v1/a/cpuacct.usage_percpu", "106 7 30 0 \n");
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_row(&rows, 0, 0, 7);
    assert_row(&rows, 1, 2, 10);

    fixture_write(&tree->fixture, "sys/devices/system/cpu/online", "0-2\n");
    begin(tree);
    rows.reading.cap = 2;
    assert_int_equal(tree->source->ops->read(tree->source, a, &rows.reading), -ENOSPC);
    assert_int_equal(tree->source->ops->width(tree->source, a), 3);
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_row(&rows, 2, 1, 0);
    fixture_write(&tree->fixture, "v1/a/cpuacct.usage_percpu", "110 11 30 0 \n");
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_row(&rows, 0, 0, 10);
    assert_row(&rows, 1, 2, 10);
    assert_row(&rows, 2, 1, 4);
    tree->source->ops->close(tree->source, a);
}

/* v2: the scope's own directory before the other mount; v1's cpu.stat is no such file. */
TEST_ON(test_sums, struct tree *tree, setup, teardown)
{
    struct rows rows;
    tree->config.cpuacct = "";
    fixture_write(&tree->fixture, "perf/a/cpu.stat", "nr_periods 0\n");
    start(tree);
    uint64_t a =
        open_good(tree, SCOPE_CGROUP, "CPU time of containers from cpu.stat, the sum of all CPUs");
    fixture_write(&tree->fixture, "v2/a/cpu.stat", "usage_usec 42\n");
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_int_equal(rows.reading.n, 1);
    assert_row(&rows, 0, -1, 12000);
    tree->source->ops->close(tree->source, a);

    fixture_write(&tree->fixture, "perf/a/cpu.stat", "usage_usec 1000\n");
    a = open_good(tree, SCOPE_CGROUP, "CPU time of containers from cpu.stat, the sum of all CPUs");
    fixture_write(&tree->fixture, "perf/a/cpu.stat", "usage_usec 1001\n");
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_row(&rows, 0, -1, 1000);
    fixture_write(&tree->fixture, "perf/a/cpu.stat", "no more\n");
    assert_int_equal(read_rows(tree, a, &rows), -ENODATA);
    tree->source->ops->close(tree->source, a);
}

TEST_ON(test_usage_alone, struct tree *tree, setup, teardown)
{
    struct rows rows;
    tree->config.unified = "";
    tree->config.ways = 1u << ACTIVITY_STAT | 1u << ACTIVITY_USAGE;
    start(tree);
    uint64_t a = open_good(tree, SCOPE_CGROUP,
                           "CPU time of containers from cpuacct.usage, the sum of all CPUs");
    fixture_write(&tree->fixture, "v1/a/cpuacct.usage", "125\n");
    assert_int_equal(read_rows(tree, a, &rows), 0);
    assert_row(&rows, 0, -1, 5);
}

/* The root of v1's hierarchy; in a namespace its mount shows some cgroup, which has no agent. */
TEST_ON(test_machine, struct tree *tree, setup, teardown)
{
    struct rows rows;
    char agent[256];
    start(tree);
    uint64_t m = open_good(tree, SCOPE_MACHINE,
                           "CPU time of the machine from cpuacct.usage_percpu, per CPU");
    fixture_write(&tree->fixture, "v1/cpuacct.usage_percpu", "1500 9 5000 0 \n");
    assert_int_equal(read_rows(tree, m, &rows), 0);
    assert_row(&rows, 0, 0, 500);
    assert_row(&rows, 1, 2, 0);
    tree->source->ops->close(tree->source, m);

    snprintf(agent, sizeof agent, "%s/release_agent", tree->cpuacct);
    assert_int_equal(unlink(agent), 0);
    m = open_good(tree, SCOPE_MACHINE, "CPU time of the machine from /proc/stat, per CPU");
    fixture_write(&tree->fixture, "proc/stat",
                  "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 2 1 1 99 99 1 1 99 1 0\n"
                  "cpu2 2 2 2 9 9 2 5 9 0 0\nintr 5\n");
    assert_int_equal(read_rows(tree, m, &rows), 0);
    assert_int_equal(rows.reading.n, 2);
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    assert_row(&rows, 0, 0, tick_ns);
    assert_row(&rows, 1, 2, 3 * tick_ns);
}

TEST_ON(test_nothing_there, struct tree *tree, setup, teardown)
{
    struct verdict why;
    uint64_t handle = 5;
    tree->config.cpuacct = tree->config.unified = "";
    start(tree);
    assert_false(tree->source->ops->check(tree->source, SCOPE_CGROUP, GROUP_ACTIVITY, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "neither cpu.stat"));
    assert_int_equal(open_scope(tree, SCOPE_CGROUP, "/a", &handle, &why), -ENOENT);
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_int_equal(open_scope(tree, SCOPE_CGROUP, "/gone", &handle, &why), -ESRCH);
    assert_non_null(strstr(why.words, "cgroup c1 is gone"));
    assert_false(tree->source->ops->check(tree->source, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_false(tree->source->ops->check(tree->source, SCOPE_CPU, GROUP_ACTIVITY, &why));
    assert_int_equal(handle, 5);
}

/* Below eight CPUs and without a PMU; refused, it is a file after all. */
TEST_ON(test_when_clocks_are_used, struct tree *tree, setup, teardown)
{
    static const char clock[] = "CPU time of containers from perf's clock of each cgroup, per CPU",
                      file[] = "CPU time of containers from cpu.stat, the sum of all CPUs";
    static const struct {
        const char *online;
        bool pmu;
        int refused;
        const char *words;
    } cases[] = {
        {"0,2\n", false, 0, clock}, {"0-6\n", false, 0, clock},     {"0-7\n", false, 0, file},
        {"0,2\n", true, 0, file},   {"0,2\n", false, EACCES, file}, {"0,2\n", false, EPERM, file},
    };
    tree->config.cpuacct = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture_write(&tree->fixture, "sys/devices/system/cpu/online", "%s", cases[i].online);
        tree->pmu.system_wide_error = cases[i].refused;
        tree->pmu.no_pmu = !cases[i].pmu;
        const struct perf_config perf = {
            .fs = &tree->fixture.fs, .log = &tree->log, .kernel = &tree->pmu.kernel};
        struct source *counters = NULL;
        struct events_file core = {.base_frequency_hz = 0};
        struct perf_config with_core = perf;
        for (int role = 0; role < ROLE_COUNT; role++)
            core.event[role] = (char *)(uintptr_t) "perf_raw::r1b7";
        with_core.file = &core;
        assert_int_equal(perf_source_new(&with_core, &counters), 0);
        tree->config.counters = counters;
        with_clocks(tree);
        start(tree);
        uint64_t a = open_good(tree, SCOPE_CGROUP, cases[i].words);
        size_t cpus = cases[i].online[2] == '6' ? 7 : 2;
        assert_int_equal(tree->pool.lent, cases[i].words == clock ? cpus + 1 : 1);
        assert_int_equal(tree->source->ops->open_counters(tree->source), tree->pool.lent);
        tree->source->ops->close(tree->source, a);
        tree->source->ops->free(tree->source);
        tree->source = NULL;
        counters->ops->free(counters);
    }
}

TEST_ON(test_a_steady_read_allocates_nothing, struct tree *tree, setup, teardown)
{
    struct rows rows;
    uint64_t handles[3];
    if (!malloc_count_works())
        skip();
    start(tree);
    handles[0] =
        open_good(tree, SCOPE_CGROUP, "CPU time of containers from cpuacct.usage_percpu, per CPU");
    handles[1] = open_good(tree, SCOPE_MACHINE,
                           "CPU time of the machine from cpuacct.usage_percpu, per CPU");
    uint64_t before = malloc_count();
    for (int i = 0; i < 10; i++) {
        begin(tree);
        for (int h = 0; h < 2; h++)
            assert_int_equal(read_rows(tree, handles[h], &rows), 0);
    }
    assert_int_equal(malloc_count(), before);
}

/* Out of memory anywhere: an error, nothing left open. */
TEST_ON(test_out_of_memory, struct tree *tree, setup, teardown)
{
    struct verdict why;
    uint64_t handle;
    if (!malloc_fail(0))
        skip();
    for (uint64_t n = 1;; n++) {
        malloc_fail(n);
        int err = activity_source_new(&tree->config, &tree->source);
        malloc_fail(0);
        if (!err)
            break;
        assert_int_equal(err, -ENOMEM);
    }
    for (uint64_t n = 1;; n++) {
        malloc_fail(n);
        int err = open_scope(tree, SCOPE_CGROUP, "/a", &handle, &why);
        malloc_fail(0);
        if (!err)
            break;
        assert_int_equal(err, -ENOMEM);
        assert_int_equal(tree->pool.lent, 0);
    }
    assert_int_equal(tree->pool.lent, 1);
}
