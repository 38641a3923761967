/*
 * The source as others see it, on this machine's kernel: what it holds, and for whom it counts.
 *
 * Takes root, and a kernel that takes the program; software events stand in for the PMU's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/source/bpf/bpf.h"
#include "exporter/source/perf/cpus.h"
#include "tests/unit/support/unit.h"

enum { CONTAINERS = 8, GROUPS = 2 };

static const enum group groups[GROUPS] = {GROUP_CORE, GROUP_CPI};

struct rig {
    struct fsroot fs;
    struct log log;
    struct events_file file;
    struct descriptor_pool pool;
    struct source *source; /* NULL: not here */
    size_t before;         /* descriptors without its counters */
    char hierarchy[4096], cgroup[4160];
    int cgroup_fd;
};

static size_t descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    size_t n = 0;
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static void name_events(struct events_file *file)
{
    for (int i = 0; i < GROUPS; i++)
        for (size_t role = 0; role < group_descs[groups[i]].n; role++)
            file->event[group_descs[groups[i]].roles[role]] =
                (char *)(uintptr_t) "software:page-faults";
}

static void make_cgroup(struct rig *rig)
{
    struct cgroup_hierarchy found;
    char error[256];
    rig->cgroup_fd = -1;
    if (cgroup_hierarchy_find(&rig->fs, &found, error, sizeof error) != 0 || found.version != 2)
        return;
    memcpy(rig->hierarchy, found.path, sizeof found.path);
    snprintf(rig->cgroup, sizeof rig->cgroup, "%s/ie-test-%d-bpf-source", found.path,
             (int)getpid());
    if (mkdir(rig->cgroup, 0755) == 0)
        rig->cgroup_fd = open(rig->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct verdict why;
    assert_non_null(rig);
    *state = rig;
    assert_int_equal(fsroot_init(&rig->fs, NULL, NULL, NULL, NULL), 0);
    rig->log = (struct log){.fd = memfd_create("log", MFD_CLOEXEC)};
    rig->pool.limit = 1000;
    name_events(&rig->file);
    make_cgroup(rig);
    const struct bpf_config config = {.perf = {.fs = &rig->fs,
                                               .log = &rig->log,
                                               .file = &rig->file,
                                               .kernel = &perf_kernel_linux,
                                               .fd_limit = rig->pool.limit,
                                               .pool = &rig->pool},
                                      .containers = CONTAINERS};
    if (rig->cgroup_fd >= 0 && bpf_source_new(&config, &rig->source, &why) != 0)
        printf("not here: %s\n", why.words);
    rig->before = descriptors();
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    if (rig->source)
        rig->source->ops->free(rig->source);
    assert_int_equal(rig->pool.counters, 0);
    if (rig->cgroup_fd >= 0) {
        close(rig->cgroup_fd);
        rmdir(rig->cgroup);
    }
    close(rig->log.fd);
    fsroot_release(&rig->fs);
    free(rig);
    return 0;
}

static struct rig *rig_of(void **state)
{
    struct rig *rig = *state;
    if (!rig->source)
        skip();
    return rig;
}

static uint64_t open_group(struct rig *rig, enum group group)
{
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "test", .cgroup_fd = rig->cgroup_fd};
    struct verdict why;
    uint64_t handle = 0;
    assert_int_equal(rig->source->ops->open(rig->source, &scope, group, &handle, &why), 0);
    return handle;
}

/* Whatever it holds counts, or counters of perf beside it would take more than there is. */
TEST_WITH(test_all_descriptors_count, setup, teardown)
{
    struct rig *rig = rig_of(state);
    const struct source_ops *ops = rig->source->ops;
    uint64_t handles[CONTAINERS * GROUPS];
    size_t first = 0;
    for (int i = 0; i < CONTAINERS; i++) {
        for (int k = 0; k < GROUPS; k++) {
            handles[i * GROUPS + k] = open_group(rig, groups[k]);
            assert_int_equal(descriptors() - rig->before, rig->pool.counters);
        }
        first = i == 0 ? rig->pool.counters : first;
        assert_int_equal(rig->pool.counters, first); /* further containers take none */
    }
    assert_true(ops->open_counters(rig->source) < first);
    for (int i = 0; i < CONTAINERS * GROUPS; i++)
        ops->close(rig->source, handles[i]);
}

/* Others of the pool leave no room. */
TEST_WITH(test_no_room_in_the_pool, setup, teardown)
{
    struct rig *rig = rig_of(state);
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "test", .cgroup_fd = rig->cgroup_fd};
    struct verdict why;
    uint64_t handle;
    rig->pool.counters = rig->pool.limit;
    assert_int_equal(rig->source->ops->open(rig->source, &scope, GROUP_CORE, &handle, &why),
                     -EMFILE);
    assert_int_equal(why.reason, REASON_FD_LIMIT);
    assert_null(strstr(why.words, "--containers.max")); /* fewer would not help */
    rig->pool.counters -= rig->pool.limit;
    handle = open_group(rig, GROUP_CORE);
    rig->source->ops->close(rig->source, handle);
}

/* As the loop does; with ticks, all that it takes to load a program is gone. */
static void begin_ticks(struct rig *rig)
{
    const struct tick tick = {.number = 1, .mono_ns = 1};
    assert_int_equal(rig->source->ops->begin(rig->source, &tick), 0);
}

static bool check(struct rig *rig, enum group group, struct verdict *why)
{
    return rig->source->ops->check(rig->source, SCOPE_CGROUP, group, why);
}

TEST_WITH(test_loaded_at_the_start_only, setup, teardown)
{
    struct rig *rig = rig_of(state);
    struct verdict why;
    assert_true(check(rig, GROUP_CORE, &why));
    begin_ticks(rig);
    size_t before = descriptors();
    assert_false(check(rig, GROUP_CPI, &why));
    assert_int_equal(descriptors(), before);
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_string_equal(why.words, "group cpi: a BPF program can be loaded at the start only: "
                                   "restart the exporter");
    assert_true(check(rig, GROUP_CORE, &why));
    rig->source->ops->close(rig->source, open_group(rig, GROUP_CORE));
}

/* Beside what counts the first group; a container has one slot for both. */
TEST_WITH(test_delays, setup, teardown)
{
    struct rig *rig = rig_of(state);
    const struct source_ops *ops = rig->source->ops;
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "test", .cgroup_fd = rig->cgroup_fd, .owner = 7};
    struct verdict why;
    struct cpu_taking takings[1];
    uint64_t space[16], handle;
    struct reading reading = {
        .rows = space, .cap = 1, .stride_bytes = reading_stride(GROUP_DELAYS)};
    assert_false(check(rig, GROUP_DELAYS, &why));
    assert_non_null(strstr(why.words, "none of these is counted"));
    uint64_t counts = open_group(rig, GROUP_CPI);
    if (!check(rig, GROUP_DELAYS, &why)) { /* these tasks do not say it */
        ops->close(rig->source, counts);
        skip();
    }
    size_t before = descriptors();
    assert_int_equal(ops->open(rig->source, &scope, GROUP_DELAYS, &handle, &why), 0);
    assert_int_equal(descriptors(), before);
    begin_ticks(rig);
    assert_int_equal(ops->width(rig->source, handle), 1);
    assert_int_equal(ops->read(rig->source, handle, &reading), 0);
    const struct reading_row *row = reading_row(&reading, 0);
    assert_int_equal(reading.n, 1);
    assert_int_equal(row->cpu, -1);
    assert_int_equal(row->present, 1);
    assert_int_equal(row->count[0], 0); /* nothing runs in it */
    assert_true(row->enabled_ns > 0 && row->running_ns == row->enabled_ns);
    assert_int_equal(ops->takings(rig->source, takings, 1), 0);
    ops->close(rig->source, counts);
    assert_int_equal(ops->read(rig->source, handle, &reading), 0);
    ops->close(rig->source, handle);
    assert_false(ops->check(rig->source, SCOPE_MACHINE, GROUP_DELAYS, &why));
}

/* ---- containers that come and go ---- */

static void make_container(const struct rig *rig, int number, char path[4200], int *fd)
{
    snprintf(path, 4200, "%s/%d", rig->cgroup, number);
    assert_int_equal(mkdir(path, 0755), 0);
    *fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(*fd >= 0);
}

static int open_of(struct source *source, int cgroup_fd, enum group group, uint64_t *handle)
{
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "test", .cgroup_fd = cgroup_fd, .owner = 7};
    struct verdict why;
    return source->ops->open(source, &scope, group, handle, &why);
}

/* Off the CPU before: what it did since it came there would be taken along. A move alone sleeps
 * only where no other one was just before. */
static void enter(const char *cgroup)
{
    const struct timespec moment = {.tv_nsec = 1000 * 1000};
    char path[4300];
    assert_int_equal(nanosleep(&moment, NULL), 0);
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("0", file) > 0);
    assert_int_equal(fclose(file), 0);
}

static void fault(int n)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *page =
        mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    for (; n > 0; n--) {
        page[0] = 1;
        madvise((void *)page, page_size, MADV_DONTNEED);
    }
    munmap((void *)page, page_size);
}

/* Of the first role, over all rows. */
static uint64_t counted(struct source *source, uint64_t handle, enum group group)
{
    size_t cap = source->ops->width(source, handle);
    struct reading reading = {.cap = cap, .stride_bytes = reading_stride(group)};
    uint64_t sum = 0;
    reading.rows = calloc(cap, reading.stride_bytes);
    assert_non_null(reading.rows);
    assert_int_equal(source->ops->read(source, handle, &reading), 0);
    for (size_t i = 0; i < reading.n; i++)
        sum += reading_row(&reading, i)->count[0];
    free(reading.rows);
    return sum;
}

/* When the table is full its counts are copied out, the last included, and its delays; one that
 * lives has its slot. So many fit, and no more. */
TEST_WITH(test_who_has_ended_makes_room, setup, teardown)
{
    enum { FAULTS = 20000, SLOTS = CONTAINERS + BPF_SPARE };
    struct rig *rig = rig_of(state);
    uint64_t handle[SLOTS], ended, delays = 0, none = 77;
    struct verdict why;
    char path[4200];
    int fd;
    make_container(rig, 0, path, &fd);
    assert_int_equal(open_of(rig->source, fd, GROUP_CPI, &ended), 0);
    if (check(rig, GROUP_DELAYS, &why))
        assert_int_equal(open_of(rig->source, fd, GROUP_DELAYS, &delays), 0);
    for (int i = 1; i < SLOTS; i++)
        handle[i] = open_group(rig, GROUP_CPI);
    assert_int_equal(open_of(rig->source, rig->cgroup_fd, GROUP_CPI, &none), -ENOSPC);
    begin_ticks(rig);
    for (int i = 0; i < 2; i++) { /* and once more after it was read */
        enter(path);
        fault(FAULTS);
        enter(rig->hierarchy);
        if (i == 0)
            assert_in_range(counted(rig->source, ended, GROUP_CPI), FAULTS, 3 * FAULTS / 2);
    }
    assert_int_equal(open_of(rig->source, rig->cgroup_fd, GROUP_CPI, &none), -ENOSPC);
    assert_int_equal(rmdir(path), 0);
    uint64_t waited = delays ? counted(rig->source, delays, GROUP_DELAYS) : 0;
    uint64_t before = counted(rig->source, ended, GROUP_CPI);
    assert_in_range(before, 2 * FAULTS, 3 * FAULTS);
    handle[0] = open_group(rig, GROUP_CPI);
    assert_int_equal(open_of(rig->source, rig->cgroup_fd, GROUP_CPI, &none), -ENOSPC);
    assert_int_equal(none, 77);
    assert_int_equal(counted(rig->source, ended, GROUP_CPI), before);
    assert_int_equal(counted(rig->source, handle[0], GROUP_CPI), 0);
    if (delays) {
        assert_int_equal(counted(rig->source, delays, GROUP_DELAYS), waited);
        rig->source->ops->close(rig->source, delays);
    }
    rig->source->ops->close(rig->source, ended); /* it has no slot to give back */
    assert_int_equal(open_of(rig->source, rig->cgroup_fd, GROUP_CPI, &none), -ENOSPC);
    for (int i = 0; i < SLOTS; i++)
        rig->source->ops->close(rig->source, handle[i]);
    close(fd);
}

/* As many as there may be, and in a minute that is one interval 2,000 of them give way to others:
 * none is refused, and each can be read at the end. */
TEST_WITH(test_churn, setup, teardown)
{
    enum { LIVE = 2500, CHANGES = 2000 };
    struct rig *rig = rig_of(state);
    const struct bpf_config config = {.perf = {.fs = &rig->fs,
                                               .log = &rig->log,
                                               .file = &rig->file,
                                               .kernel = &perf_kernel_linux},
                                      .containers = LIVE};
    uint64_t *handle = calloc(LIVE + CHANGES, sizeof *handle);
    int *fd = calloc(LIVE + CHANGES, sizeof *fd);
    struct source *source;
    struct verdict why;
    char path[4200];
    assert_true(handle && fd);
    assert_int_equal(bpf_source_new(&config, &source, &why), 0);
    for (int i = 0; i < LIVE + CHANGES; i++) {
        if (i >= LIVE) {
            snprintf(path, sizeof path, "%s/%d", rig->cgroup, i - LIVE);
            assert_int_equal(rmdir(path), 0);
        }
        make_container(rig, i, path, &fd[i]);
        assert_int_equal(open_of(source, fd[i], GROUP_CPI, &handle[i]), 0);
    }
    for (int i = 0; i < LIVE + CHANGES; i++) {
        assert_int_equal(counted(source, handle[i], GROUP_CPI), 0);
        source->ops->close(source, handle[i]);
        close(fd[i]);
        snprintf(path, sizeof path, "%s/%d", rig->cgroup, i);
        assert_int_equal(rmdir(path), i < CHANGES ? -1 : 0);
    }
    source->ops->free(source);
    free(handle);
    free(fd);
}

/* The limit with which so many more can be opened. */
static rlim_t limit_for(size_t n)
{
    int fd = 0;
    for (; n > 0; fd++)
        n -= fcntl(fd, F_GETFD) < 0;
    return (rlim_t)fd;
}

/* A restart alone would not help: the cause is said again. */
TEST_WITH(test_refused_at_the_start, setup, teardown)
{
    struct rig *rig = rig_of(state);
    struct rlimit all, few;
    struct verdict why;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    few = all;
    few.rlim_cur = limit_for(group_descs[GROUP_CORE].n); /* for a trial of its events */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    bool taken = check(rig, GROUP_CORE, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_false(taken);
    assert_int_equal(why.reason, REASON_FD_LIMIT);
    begin_ticks(rig);
    verdict_clear(&why);
    assert_false(check(rig, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_FD_LIMIT);
    assert_non_null(strstr(why.words, "too few file descriptors for the BPF program"));
}

/* As Linux before 5.8 answers. */
static void forget_cap_bpf(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_CAPBSET_READ, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/* SYS_ADMIN, which stood for it, is not asked for. The last test: for good. */
TEST_WITH(test_a_kernel_without_the_capability, setup, teardown)
{
    struct rig *rig = rig_of(state);
    const struct bpf_config config = {
        .perf = {.fs = &rig->fs, .log = &rig->log, .kernel = &perf_kernel_linux},
        .containers = CONTAINERS};
    struct source *source = NULL;
    struct verdict why;
    forget_cap_bpf();
    assert_int_equal(bpf_source_new(&config, &source, &why), -EPERM);
    assert_null(source);
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "this kernel has no CAP_BPF"));
}
