/*
 * The perf source on the real kernel, with events that need no PMU: uprobes on this program's own
 * functions, whose calls are known exactly, in cgroup mode. Skipped, with the reason, without root
 * or without a cgroup hierarchy that perf can use.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/source/perf/perf.h"
#include "tests/unit/support/unit.h"

__attribute__((noinline)) static void counted_a(void)
{
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void counted_b(void)
{
    __asm__ volatile("nop" ::: "memory");
}

/* "uprobe:PATH:0xOFFSET" of a function in this program. */
static int probe_of(void (*function)(void), char *out, size_t size)
{
    unsigned long wanted = (unsigned long)(uintptr_t)function, start, end, offset;
    char line[4096], path[3072];
    int err = -ENOENT;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return -errno;
    while (err && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %3071s", &start, &end, &offset, path) == 4 &&
            wanted >= start && wanted < end) {
            snprintf(out, size, "uprobe:%s:0x%lx", path, wanted - start + offset);
            err = 0;
        }
    fclose(maps);
    return err;
}

/* The mount point that owns perf_event: a v1 hierarchy of that name, otherwise version 2. */
static bool find_hierarchy(char *out, size_t size)
{
    char line[1024], where[512], type[32], options[256];
    bool found = false, v1 = false;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts && fgets(line, sizeof line, mounts)) {
        if (sscanf(line, "%*s %511s %31s %255s", where, type, options) != 3)
            continue;
        bool owns = strcmp(type, "cgroup") == 0 && strstr(options, "perf_event");
        if (!owns && (v1 || found || strcmp(type, "cgroup2") != 0))
            continue;
        v1 = owns;
        found = true;
        snprintf(out, size, "%s", where);
    }
    if (mounts)
        fclose(mounts);
    return found;
}

struct world {
    struct fsroot fs;
    struct log log;
    struct events_file file;
    struct source *source;
    char probe_a[3200], probe_b[3200], faults[32];
    char root[512], cgroup[640], nested[720];
    const char *why_not; /* NULL: everything is there */
};

static const char *prepare(struct world *world)
{
    uint64_t type;
    if (geteuid() != 0)
        return "not root";
    if (fsroot_read_u64(&world->fs, FSROOT_SYS, "bus/event_source/devices/uprobe/type", &type))
        return "this kernel has no uprobes";
    if (!find_hierarchy(world->root, sizeof world->root))
        return "no cgroup hierarchy is mounted";
    snprintf(world->cgroup, sizeof world->cgroup, "%s/ie-test-%d", world->root, (int)getpid());
    snprintf(world->nested, sizeof world->nested, "%s/inner", world->cgroup);
    if (mkdir(world->cgroup, 0755) || mkdir(world->nested, 0755))
        return "no cgroup can be made";
    return NULL;
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_int_equal(fsroot_init(&world->fs, NULL, NULL, NULL, NULL), 0);
    world->log.fd = -1;
    world->why_not = prepare(world);
    assert_int_equal(probe_of(counted_a, world->probe_a, sizeof world->probe_a), 0);
    assert_int_equal(probe_of(counted_b, world->probe_b, sizeof world->probe_b), 0);
    snprintf(world->faults, sizeof world->faults, "software:page-faults");
    world->file.event[ROLE_CYCLES] = world->probe_a;
    world->file.event[ROLE_REF_CYCLES] = world->probe_b;
    world->file.event[ROLE_L3_MISS_READS] = world->faults;
    world->file.event[ROLE_L3_MISS_READ_OCCUPANCY] = world->probe_b;
    world->file.event[ROLE_STORES] = world->probe_a;
    struct perf_config config = {
        .fs = &world->fs, .log = &world->log, .file = &world->file, .kernel = &perf_kernel_linux};
    assert_int_equal(perf_source_new(&config, &world->source), 0);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    world->source->ops->free(world->source);
    if (world->nested[0]) {
        rmdir(world->nested);
        rmdir(world->cgroup);
    }
    fsroot_release(&world->fs);
    free(world);
    return 0;
}

static void need(const struct world *world)
{
    if (world->why_not) {
        printf("SKIPPED: %s\n", world->why_not);
        skip();
    }
}

static int open_cgroup(struct world *world, enum group group, uint64_t *handle, struct verdict *why)
{
    int fd = open(world->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct scope scope = {.kind = SCOPE_CGROUP, .key = world->cgroup, .cgroup_fd = fd};
    int err = world->source->ops->open(world->source, &scope, group, handle, why);
    close(fd);
    return err;
}

static bool pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/* A process of the cgroup calls a and b so often on each CPU; true when it could. */
static bool call(const char *cgroup, const int *cpus, const int *calls_a, const int *calls_b, int n)
{
    char procs[800];
    int status;
    snprintf(procs, sizeof procs, "%s/cgroup.procs", cgroup);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(procs, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            _exit(1);
        for (int i = 0; i < n; i++) {
            if (!pin(cpus[i]))
                _exit(2);
            for (int k = 0; k < calls_a[i]; k++)
                counted_a();
            for (int k = 0; k < calls_b[i]; k++)
                counted_b();
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct rows {
    struct reading reading;
    uint64_t space[64 * (3 + GROUP_MAX_ROLES)];
};

static void read_rows(struct world *world, uint64_t handle, enum group group, struct rows *out)
{
    out->reading =
        (struct reading){.stride_bytes = reading_stride(group), .rows = out->space, .cap = 64};
    assert_int_equal(world->source->ops->read(world->source, handle, &out->reading), 0);
}

static const struct reading_row *row_of(const struct rows *rows, int cpu)
{
    for (size_t i = 0; i < rows->reading.n; i++)
        if (reading_row(&rows->reading, i)->cpu == cpu)
            return reading_row(&rows->reading, i);
    fail_msg("no row of CPU %d", cpu);
    return NULL;
}

TEST_ON(test_exact_counts, struct world *world, setup, teardown)
{
    struct verdict why = {0};
    struct rows rows;
    uint64_t handle;
    need(world);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        printf("SKIPPED: one CPU only\n");
        skip();
    }
    int err = open_cgroup(world, GROUP_CORE, &handle, &why);
    if (err && why.reason == REASON_NO_PERMISSION) {
        printf("SKIPPED: %s\n", why.words);
        skip();
    }
    if (err)
        fail_msg("%d: %s", err, why.words);
    const int cpus[] = {0, 1}, a[] = {1234, 777}, b[] = {55, 4321};
    assert_true(call(world->cgroup, cpus, a, b, 2));
    /* What is called elsewhere does not count; what descendants call does. */
    assert_true(call(world->root, cpus, a, b, 2));
    for (int i = 0; i < 99; i++)
        counted_a();
    const int cpu1[] = {1}, three[] = {3}, four[] = {4};
    assert_true(call(world->nested, cpu1, three, four, 1));

    read_rows(world, handle, GROUP_CORE, &rows);
    const struct reading_row *row = row_of(&rows, 0);
    assert_int_equal(row->present, 0x1b);
    assert_int_equal(row->count[0], 1234);
    assert_int_equal(row->count[1], 55);
    assert_int_equal(row->count[4], 55);
    assert_true(row->enabled_ns > 0);
    assert_int_equal(row->enabled_ns, row->running_ns);
    row = row_of(&rows, 1);
    assert_int_equal(row->count[0], 777 + 3);
    assert_int_equal(row->count[1], 4321 + 4);
    assert_int_equal(row->count[4], 4321 + 4);

    /* The container ends; its last counts are still there to be read. */
    assert_true(call(world->cgroup, cpu1, three, four, 1));
    assert_int_equal(rmdir(world->nested), 0);
    assert_int_equal(rmdir(world->cgroup), 0);
    struct tick tick = {.number = 2};
    assert_int_equal(world->source->ops->begin(world->source, &tick), 0);
    read_rows(world, handle, GROUP_CORE, &rows);
    assert_int_equal(row_of(&rows, 0)->count[0], 1234);
    assert_int_equal(row_of(&rows, 1)->count[0], 777 + 3 + 3);
    assert_int_equal(row_of(&rows, 1)->count[1], 4321 + 4 + 4);
    world->source->ops->close(world->source, handle);
    assert_int_equal(world->source->ops->open_counters(world->source), 0);
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

TEST_ON(test_out_of_descriptors, struct world *world, setup, teardown)
{
    struct verdict why = {0};
    struct rlimit before, low;
    uint64_t handle = 77;
    need(world);
    if (!world->source->ops->check(world->source, SCOPE_CGROUP, GROUP_CORE, &why)) {
        printf("SKIPPED: %s\n", why.words);
        skip();
    }
    size_t open = open_descriptors();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    /* Room for the cgroup's directory, its copy, and a part of the group. */
    low.rlim_cur = open + 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int err = open_cgroup(world, GROUP_CORE, &handle, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(err, -EMFILE);
    assert_int_equal(why.reason, REASON_FD_LIMIT);
    assert_int_equal(handle, 77);
    assert_int_equal(open_descriptors(), open);
}

TEST_ON(test_cgroup_is_gone, struct world *world, setup, teardown)
{
    struct verdict why = {0};
    uint64_t handle;
    need(world);
    int fd = open(world->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(rmdir(world->nested), 0);
    assert_int_equal(rmdir(world->cgroup), 0);
    struct scope scope = {.kind = SCOPE_CGROUP, .key = "/ended", .cgroup_fd = fd};
    int err = world->source->ops->open(world->source, &scope, GROUP_CORE, &handle, &why);
    close(fd);
    if (why.reason == REASON_NO_PERMISSION) {
        printf("SKIPPED: %s\n", why.words);
        skip();
    }
    assert_int_equal(err, -ESRCH);
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "/ended is gone"));
}

TEST_ON(test_thread, struct world *world, setup, teardown)
{
    struct verdict why = {0};
    struct rows rows;
    uint64_t handle;
    need(world);
    struct scope scope = {.kind = SCOPE_THREAD, .key = "p0", .cgroup_fd = -1, .tid = (int)gettid()};
    int err = world->source->ops->open(world->source, &scope, GROUP_STORES, &handle, &why);
    if (err && why.reason == REASON_NO_PERMISSION) {
        printf("SKIPPED: %s\n", why.words);
        skip();
    }
    if (err)
        fail_msg("%d: %s", err, why.words);
    for (int i = 0; i < 321; i++)
        counted_a();
    read_rows(world, handle, GROUP_STORES, &rows);
    assert_int_equal(rows.reading.n, 1);
    assert_int_equal(row_of(&rows, -1)->count[0], 321);
    assert_int_equal(row_of(&rows, -1)->present, 1);
}
