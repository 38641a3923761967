/*
 * CPU time on the real kernel: a process works in a cgroup, and every way to read it says the same,
 * which is also what the process says of itself. Ratios only. Skipped, with the reason, without
 * root or where a way is missing.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/source/activity/activity.h"
#include "exporter/source/perf/perf.h"
#include "tests/unit/support/unit.h"

enum { ROWS = 512, WORK_MS = 250 };

struct real {
    struct fsroot fs;
    struct log log;
    struct cgroup_hierarchy hierarchy;
    char cpuacct[4096], unified[4096];
    char path[64];      /* of the cgroup, below each mount */
    char made[3][4200]; /* its directories */
    size_t n_made;
    struct source *sources[ACTIVITY_WAYS];
    uint64_t handles[ACTIVITY_WAYS], machine;
    bool open[ACTIVITY_WAYS];
    const char *why_not;
};

struct rows {
    struct reading reading;
    uint64_t space[ROWS * 4];
};

static void make_in(struct real *real, const char *mount)
{
    if (!*mount || real->n_made == 3)
        return;
    char *path = real->made[real->n_made];
    snprintf(path, sizeof real->made[0], "%s%s", mount, real->path);
    if (mkdir(path, 0755) == 0)
        real->n_made++;
}

static void open_all(struct real *real)
{
    char directory[4200];
    snprintf(directory, sizeof directory, "%s%s", real->hierarchy.path, real->path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "c1", .cgroup_fd = fd, .cgroup_path = real->path};
    const struct perf_config clocks = {
        .fs = &real->fs, .log = &real->log, .kernel = &perf_kernel_linux};
    for (int way = 0; way < ACTIVITY_PROC; way++) {
        struct activity_config config = {
            .fs = &real->fs, .cpuacct = real->cpuacct, .unified = real->unified, .ways = 1u << way};
        struct verdict why;
        if (way == ACTIVITY_CLOCK)
            assert_int_equal(perf_source_new(&clocks, &config.clocks), 0);
        assert_int_equal(activity_source_new(&config, &real->sources[way]), 0);
        struct source *source = real->sources[way];
        real->open[way] =
            source->ops->open(source, &scope, GROUP_ACTIVITY, &real->handles[way], &why) == 0;
        if (!real->open[way])
            printf("not here: %s\n", why.words);
    }
    if (fd >= 0)
        close(fd);
}

static int setup(void **state)
{
    struct real *real = calloc(1, sizeof *real);
    char error[256];
    assert_non_null(real);
    *state = real;
    real->log.fd = -1;
    assert_int_equal(fsroot_init(&real->fs, NULL, NULL, NULL, NULL), 0);
    if (geteuid() != 0) {
        real->why_not = "not root";
        return 0;
    }
    if (cgroup_hierarchy_find(&real->fs, &real->hierarchy, error, sizeof error)) {
        real->why_not = "no cgroup hierarchy is mounted";
        return 0;
    }
    (void)cgroup_mount_find(&real->fs, "cpuacct", real->cpuacct, sizeof real->cpuacct);
    (void)cgroup_mount_find(&real->fs, "", real->unified, sizeof real->unified);
    snprintf(real->path, sizeof real->path, "/ie-activity-%d", (int)getpid());
    make_in(real, real->hierarchy.path);
    make_in(real, real->cpuacct);
    make_in(real, real->unified);
    if (real->n_made == 0)
        real->why_not = "no cgroup can be made";
    else
        open_all(real);
    return 0;
}

static void remove_cgroup(struct real *real)
{
    while (real->n_made > 0)
        rmdir(real->made[--real->n_made]);
}

static int teardown(void **state)
{
    struct real *real = *state;
    for (int way = 0; way < ACTIVITY_PROC; way++)
        if (real->sources[way])
            real->sources[way]->ops->free(real->sources[way]);
    remove_cgroup(real);
    fsroot_release(&real->fs);
    free(real);
    return 0;
}

static void need(const struct real *real)
{
    if (real->why_not) {
        printf("SKIPPED: %s\n", real->why_not);
        skip();
    }
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void enter(const struct real *real)
{
    char procs[4300];
    for (size_t i = 0; i < real->n_made; i++) {
        snprintf(procs, sizeof procs, "%s/cgroup.procs", real->made[i]);
        int fd = open(procs, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            _exit(1);
        close(fd);
    }
}

static uint64_t timeval_ns(const struct timeval *value)
{
    return (uint64_t)value->tv_sec * 1000000000 + (uint64_t)value->tv_usec * 1000;
}

/* A process of the cgroup uses so much CPU time, on one CPU or (-1) anywhere, and sleeps as long.
 * What it has used there by its own clock. */
struct used {
    uint64_t inside_ns; /* while it surely was in the cgroup, and alive */
    uint64_t whole_ns;  /* with its start, and with the end that the kernel gives it */
    uint64_t
        taken_ns; /* that hypervisor and interrupts took meanwhile, as far as /proc/stat tells */
};

/* Of one CPU, or (-1) of all. Clocks of perf go on while these have the CPU, those of processes do
 * not, and who is charged differs between kernels. */
static uint64_t taken_ns(int cpu)
{
    char name[16], line[512];
    unsigned long long irq, softirq, steal, ticks = 0;
    snprintf(name, sizeof name, cpu < 0 ? "cpu " : "cpu%d ", cpu);
    FILE *file = fopen("/proc/stat", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line, "%*s %*u %*u %*u %*u %*u %llu %llu %llu", &irq, &softirq, &steal) == 3)
            ticks = irq + softirq + steal;
    fclose(file);
    return ticks * 1000000000 / (unsigned long long)sysconf(_SC_CLK_TCK);
}

static struct used work(const struct real *real, int cpu)
{
    int pipe_fds[2], status;
    uint64_t used = 0;
    struct rusage whole;
    const uint64_t taken = taken_ns(cpu);
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu < 0 ? 0 : cpu, &set);
        if (cpu >= 0 && sched_setaffinity(0, sizeof set, &set) != 0)
            _exit(2);
        enter(real);
        uint64_t start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        while (now_ns(CLOCK_PROCESS_CPUTIME_ID) - start < UINT64_C(1000000) * WORK_MS)
            ;
        usleep(WORK_MS * 1000);
        used = now_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
        _exit(write(pipe_fds[1], &used, sizeof used) == sizeof used ? 0 : 3);
    }
    close(pipe_fds[1]);
    assert_int_equal(wait4(child, &status, 0, &whole), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(read(pipe_fds[0], &used, sizeof used), sizeof used);
    close(pipe_fds[0]);
    return (struct used){used, timeval_ns(&whole.ru_utime) + timeval_ns(&whole.ru_stime),
                         taken_ns(cpu) - taken};
}

static int read_way(struct real *real, int way, struct rows *out)
{
    struct source *source = real->sources[way];
    out->reading = (struct reading){
        .stride_bytes = reading_stride(GROUP_ACTIVITY), .rows = out->space, .cap = ROWS};
    return source->ops->read(source, real->handles[way], &out->reading);
}

/* Of one CPU, or (-1) of all rows. */
static uint64_t time_of(const struct rows *rows, int cpu)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rows->reading.n; i++) {
        const struct reading_row *row = reading_row(&rows->reading, i);
        if (!row->present)
            continue;
        assert_int_equal(row->enabled_ns, row->count[0]);
        assert_int_equal(row->running_ns, row->count[0]);
        if (cpu < 0 || row->cpu == cpu)
            sum += row->count[0];
    }
    return sum;
}

static void assert_near(const char *what, uint64_t got, struct used want)
{
    double least = (double)got / (double)want.inside_ns;
    double most = (double)got / (double)(want.whole_ns + want.taken_ns);
    if (!(least > 0.93 && most < 1.07))
        fail_msg("%s: %.3f of the process's own clock, %.3f of its whole life and what others took",
                 what, least, most);
}

/* Time asleep is in none of them. */
TEST_ON(test_all_ways_agree, struct real *real, setup, teardown)
{
    struct rows rows;
    size_t compared = 0;
    char what[32];
    need(real);
    struct used used = work(real, -1);
    for (int way = 0; way < ACTIVITY_PROC; way++) {
        if (!real->open[way])
            continue;
        assert_int_equal(read_way(real, way, &rows), 0);
        snprintf(what, sizeof what, "way %d", way);
        assert_near(what, time_of(&rows, -1), used);
        compared++;
    }
    assert_true(compared > 0);
}

TEST_ON(test_each_cpu, struct real *real, setup, teardown)
{
    static const int ways[] = {ACTIVITY_PERCPU, ACTIVITY_CLOCK};
    struct rows before, after;
    need(real);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    for (int cpu = 1; cpu >= 0; cpu--) {
        for (size_t i = 0; i < 2; i++) {
            if (!real->open[ways[i]])
                continue;
            assert_int_equal(read_way(real, ways[i], &before), 0);
            struct used used = work(real, cpu);
            assert_int_equal(read_way(real, ways[i], &after), 0);
            assert_near("its CPU", time_of(&after, cpu) - time_of(&before, cpu), used);
            /* Before it entered the cgroup it was pinned already. */
            assert_int_equal(time_of(&after, !cpu), time_of(&before, !cpu));
        }
    }
}

/* While it runs, each reading is at least the one before; time goes on. */
TEST_ON(test_never_backwards, struct real *real, setup, teardown)
{
    uint64_t last[ACTIVITY_WAYS] = {0};
    struct rows rows;
    need(real);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        enter(real);
        for (;;)
            ;
    }
    for (int round = 0; round < 300; round++) {
        for (int way = 0; way < ACTIVITY_PROC; way++) {
            if (!real->open[way])
                continue;
            assert_int_equal(read_way(real, way, &rows), 0);
            uint64_t total = time_of(&rows, -1);
            assert_true(total >= last[way]);
            last[way] = total;
        }
        usleep(1000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (int way = 0; way < ACTIVITY_PROC; way++)
        assert_true(!real->open[way] || last[way] > 0);
}

/* Files of a cgroup that is gone say nothing; perf's clock has its last counts. */
TEST_ON(test_an_ended_cgroup, struct real *real, setup, teardown)
{
    struct rows rows;
    need(real);
    struct used used = work(real, -1);
    remove_cgroup(real);
    for (int way = 0; way < ACTIVITY_PROC; way++) {
        if (!real->open[way])
            continue;
        int err = read_way(real, way, &rows);
        assert_int_equal(err, way == ACTIVITY_CLOCK ? 0 : -ESRCH);
        if (!err)
            assert_near("its last counts", time_of(&rows, -1), used);
    }
}

/* The machine has run what the container has, and not more than there are CPUs. */
TEST_ON(test_the_machine, struct real *real, setup, teardown)
{
    static const uint32_t ways[] = {1u << ACTIVITY_PERCPU, 1u << ACTIVITY_PROC};
    static struct rows rows;
    need(real);
    for (size_t i = 0; i < 2; i++) {
        const struct activity_config config = {
            .fs = &real->fs, .cpuacct = real->cpuacct, .unified = real->unified, .ways = ways[i]};
        const struct scope scope = {.kind = SCOPE_MACHINE, .key = "host", .cgroup_fd = -1};
        struct reading out = {
            .stride_bytes = reading_stride(GROUP_ACTIVITY), .rows = rows.space, .cap = ROWS};
        struct source *source;
        struct verdict why;
        uint64_t handle;
        assert_int_equal(activity_source_new(&config, &source), 0);
        uint64_t start = now_ns(CLOCK_MONOTONIC);
        if (source->ops->open(source, &scope, GROUP_ACTIVITY, &handle, &why) != 0) {
            printf("not here: %s\n", why.words);
            source->ops->free(source);
            continue;
        }
        uint64_t used = work(real, 0).inside_ns;
        assert_int_equal(source->ops->read(source, handle, &out), 0);
        uint64_t passed = now_ns(CLOCK_MONOTONIC) - start;
        rows.reading = out;
        assert_true(time_of(&rows, 0) > used / 10 * 9);
        for (size_t row = 0; row < out.n; row++)
            assert_true(reading_row(&out, row)->count[0] <= passed + passed / 10);
        source->ops->free(source);
    }
}
