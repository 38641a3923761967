/*
 * A pair of processes in two cgroups, whose speed shows what counting them costs.
 *
 *   bench_workload pingpong|compute SECONDS CPU_A CPU_B CGROUP_A CGROUP_B
 *
 * pingpong sends one byte back and forth through pipes: with both on one CPU every half round is a
 * switch between the cgroups. compute counts turns of an arithmetic loop in both. Prints one line
 * of JSON: turns of both (round trips; loop turns), seconds, CPU seconds of both, and the times
 * that they gave up or lost their CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

/* Seen by both processes and their parent. */
struct shared {
    atomic_int entered;
    atomic_bool begin, end;
    atomic_ullong turns[2];
};

static int enter(const char *cgroup, int cpu)
{
    char path[4096];
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)cpu, &cpus);
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = write(fd, "0", 1) == 1 ? 0 : -errno;
    close(fd);
    if (!err && sched_setaffinity(0, sizeof cpus, &cpus) < 0)
        err = -errno;
    return err;
}

/* Ends when the other end of a pipe is closed. */
static void pingpong(struct shared *shared, int self, int in, int out)
{
    char byte = 0;
    if (self == 0 && write(out, &byte, 1) != 1)
        return;
    while (!atomic_load_explicit(&shared->end, memory_order_relaxed)) {
        if (read(in, &byte, 1) != 1 || write(out, &byte, 1) != 1)
            return;
        if (self == 0)
            atomic_fetch_add_explicit(&shared->turns[0], 1, memory_order_relaxed);
    }
}

static void compute(struct shared *shared, int self)
{
    volatile uint64_t sink = 0;
    uint64_t x = 88172645463325252u;
    while (!atomic_load_explicit(&shared->end, memory_order_relaxed)) {
        for (int i = 0; i < 1000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        sink = x;
        atomic_fetch_add_explicit(&shared->turns[self], 1, memory_order_relaxed);
    }
    (void)sink;
}

struct plan {
    bool pingpong;
    double seconds;
    int cpu[2];
    const char *cgroup[2];
};

static int child(const struct plan *plan, struct shared *shared, int self, int pipes[2][2])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    close(pipes[self][1]); /* of the pipe it reads */
    close(pipes[!self][0]);
    int err = enter(plan->cgroup[self], plan->cpu[self]);
    if (err) {
        fprintf(stderr, "bench_workload: %s: %s\n", plan->cgroup[self], strerror(-err));
        return 1;
    }
    atomic_fetch_add(&shared->entered, 1);
    while (!atomic_load(&shared->begin))
        sched_yield();
    if (plan->pingpong)
        pingpong(shared, self, pipes[self][0], pipes[!self][1]);
    else
        compute(shared, self);
    return 0;
}

static double cpu_seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static int run(const struct plan *plan, struct shared *shared)
{
    int pipes[2][2], status, failed = 0;
    struct rusage usage;
    if (pipe(pipes[0]) < 0 || pipe(pipes[1]) < 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(child(plan, shared, i, pipes));
        if (pid < 0)
            return 1;
    }
    for (int i = 0; i < 2; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    for (int i = 0; i < 1000 && atomic_load(&shared->entered) < 2; i++)
        usleep(1000);
    double start = now_s();
    atomic_store(&shared->begin, true);
    usleep((useconds_t)(plan->seconds * 1e6));
    atomic_store(&shared->end, true);
    double seconds = now_s() - start;
    unsigned long long turns =
        atomic_load(&shared->turns[0]) + (plan->pingpong ? 0 : atomic_load(&shared->turns[1]));
    while (wait(&status) > 0)
        failed |= status;
    getrusage(RUSAGE_CHILDREN, &usage);
    if (failed)
        return 1;
    printf("{\"turns\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"switches\": %ld}\n",
           turns, seconds, cpu_seconds(&usage), usage.ru_nvcsw + usage.ru_nivcsw);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: bench_workload pingpong|compute SECONDS CPU_A CPU_B CGROUP_A "
                        "CGROUP_B\n");
        return 2;
    }
    const struct plan plan = {.pingpong = strcmp(argv[1], "pingpong") == 0,
                              .seconds = atof(argv[2]),
                              .cpu = {atoi(argv[3]), atoi(argv[4])},
                              .cgroup = {argv[5], argv[6]}};
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    return run(&plan, shared);
}
