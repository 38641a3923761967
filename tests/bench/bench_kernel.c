/*
 * What the kernel alone takes: bench_kernel ROUNDS CGROUP...
 *
 * Opens the seven software events of measure.py as one group for each cgroup on each CPU, reads all
 * groups ROUNDS times, closes them: bare system calls, without the exporter's code. Prints one line
 * of JSON: wall us per event opened, and per event closed; CPU us per group read, the median round.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

static const uint64_t events[] = {
    PERF_COUNT_SW_CPU_CLOCK,      PERF_COUNT_SW_TASK_CLOCK,      PERF_COUNT_SW_CONTEXT_SWITCHES,
    PERF_COUNT_SW_PAGE_FAULTS,    PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
    PERF_COUNT_SW_CPU_MIGRATIONS,
};
enum { EVENTS = sizeof events / sizeof *events, MAX_CPUS = 1024, MAX_ROUNDS = 1000 };

/* 0 or -errno. */
static int open_group(int cgroup, int cpu, int *fds)
{
    for (int i = 0; i < EVENTS; i++) {
        struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                       .size = sizeof attr,
                                       .config = events[i],
                                       .disabled = i == 0,
                                       .read_format = PERF_FORMAT_GROUP |
                                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                      PERF_FORMAT_TOTAL_TIME_RUNNING};
        fds[i] = (int)syscall(SYS_perf_event_open, &attr, cgroup, cpu, i ? fds[0] : -1,
                              PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
        if (fds[i] < 0)
            return -errno;
    }
    return ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

static int open_all(char **cgroups, size_t n, const int *cpus, size_t n_cpus, int *fds)
{
    for (size_t i = 0; i < n; i++) {
        int cgroup = open(cgroups[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cgroup < 0)
            return -errno;
        for (size_t c = 0; c < n_cpus; c++) {
            int err = open_group(cgroup, cpus[c], fds + (i * n_cpus + c) * EVENTS);
            if (err)
                return err;
        }
        close(cgroup);
    }
    return 0;
}

static double read_all(const int *fds, size_t groups, size_t rounds)
{
    static double took[MAX_ROUNDS];
    for (size_t round = 0; round < rounds; round++) {
        double start = thread_s();
        for (size_t i = 0; i < groups; i++) {
            uint64_t values[3 + EVENTS];
            if (read(fds[i * EVENTS], values, sizeof values) != (ssize_t)sizeof values)
                return -1;
        }
        took[round] = thread_s() - start;
        usleep(10000); /* as cold as a tick finds them, about */
    }
    qsort(took, rounds, sizeof *took, by_size);
    return took[rounds / 2];
}

static int run(char **cgroups, size_t n, const int *cpus, size_t n_cpus, size_t rounds)
{
    size_t groups = n * n_cpus, all = groups * EVENTS;
    int *fds = calloc(all, sizeof *fds);
    if (!fds)
        return 1;
    double start = now_s();
    int err = open_all(cgroups, n, cpus, n_cpus, fds);
    double opened = now_s() - start;
    if (err) {
        fprintf(stderr, "bench_kernel: %s\n", strerror(-err));
        return 1;
    }
    double read_s = read_all(fds, groups, rounds);
    start = now_s();
    for (size_t i = all; i-- > 0;)
        close(fds[i]);
    double closed = now_s() - start;
    printf("{\"open_us\": %.3f, \"read_us\": %.3f, \"close_us\": %.3f}\n",
           opened * 1e6 / (double)all, read_s * 1e6 / (double)groups, closed * 1e6 / (double)all);
    free(fds);
    return read_s < 0;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, n_cpus = 0;
    struct rlimit files;
    static int cpus[MAX_CPUS];
    cpu_set_t allowed;
    if (rounds == 0 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_kernel ROUNDS CGROUP...\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return 1;
    for (int cpu = 0; cpu < MAX_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed))
            cpus[n_cpus++] = cpu;
    return run(argv + 2, (size_t)argc - 2, cpus, n_cpus, rounds);
}
