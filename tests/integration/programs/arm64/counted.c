/*
 * Work that a virtual machine's PMU counts, and what it counted.
 *
 *     counted in CGROUP NAME WORK...       WORK in a new process of that cgroup; at its end, and on
 *                                          SIGUSR1, "NAME" and four counts of all that was done
 *                                          from its first instruction there on: instructions
 *                                          and cycles of the process and its children; those of the
 *                                          cgroup, and how often it left the CPU
 *     counted alone CGROUP NAME WORK...    the same without the latter two, which make switches
 *                                          dearer
 *     counted spin N                       N instructions, and a program's beginning and end
 *     counted turns FIRST ROUNDS N IN OUT  so many in each round, between which it waits
 *     counted forks K N                    K programs one after another
 *     counted threads K N                  K threads beside each other
 *     counted wander K N                   K times, on the other CPU each time
 *     counted beside K WHAT                has K counters of CPU 0 until it is killed: "turns" that
 *                                          take turns, "all" that never leave
 *
 * Of "in", those of the process are never multiplexed. All count user and kernel alike.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static void spin(uint64_t instructions)
{
    uint64_t rounds = instructions / 2;
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

static int counter(uint32_t type, uint64_t config, pid_t pid, int cpu, bool pinned,
                   unsigned long flags)
{
    struct perf_event_attr attr = {
        .type = type,
        .size = sizeof attr,
        .config = config,
        .inherit = cpu < 0,
        .pinned = pinned,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC | flags);
    must(fd >= 0, "perf_event_open");
    return fd;
}

/* ---- in ---- */

static const char *name;
static int counters[4];
static int n_counters = 2;

static void report(int number_of_signal)
{
    uint64_t count[4] = {0};
    (void)number_of_signal;
    for (int i = 0; i < n_counters; i++)
        must(read(counters[i], &count[i], sizeof count[i]) == sizeof count[i], "read a counter");
    dprintf(STDOUT_FILENO, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, count[0],
            count[1], count[2], count[3]);
}

/* As some runtimes do it: at work at once. */
static void enter(const char *cgroup)
{
    char path[512];
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    int fd = open(path, O_WRONLY);
    must(fd >= 0 && dprintf(fd, "0\n") > 0, path);
    close(fd);
}

static int in(const char *cgroup, bool with_cgroup, char **work)
{
    int gate[2], status;
    char byte;
    must(pipe2(gate, O_CLOEXEC) == 0, "pipe");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        close(gate[1]);
        must(read(gate[0], &byte, 1) == 0, "the gate");
        enter(cgroup);
        *--work = (char *)"counted";
        execv("/proc/self/exe", work);
        must(0, "exec");
    }
    counters[0] = counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, child, -1, true, 0);
    counters[1] = counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, child, -1, true, 0);
    if (with_cgroup) {
        int directory = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        counters[2] = counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, directory, 0, false,
                              PERF_FLAG_PID_CGROUP);
        counters[3] = counter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, directory, 0,
                              false, PERF_FLAG_PID_CGROUP);
        n_counters = 4;
    }
    signal(SIGUSR1, report);
    close(gate[1]);
    while (waitpid(child, &status, 0) < 0)
        must(errno == EINTR, "waitpid");
    report(0);
    return status != 0;
}

/* ---- work ---- */

static int turns(bool first, uint64_t rounds, uint64_t each, const char *in_path,
                 const char *out_path)
{
    char byte = 0;
    int from = open(in_path, O_RDWR), to = open(out_path, O_RDWR);
    must(from >= 0 && to >= 0, "open a fifo");
    for (uint64_t i = 0; i < rounds; i++) {
        if (!first || i > 0)
            must(read(from, &byte, 1) == 1, "read");
        spin(each);
        must(write(to, &byte, 1) == 1, "write");
    }
    return 0;
}

static int forks(uint64_t n, char *each)
{
    char *const work[] = {(char *)"counted", (char *)"spin", each, NULL};
    int status;
    for (uint64_t i = 0; i < n; i++) {
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            execv("/proc/self/exe", work);
            _exit(1);
        }
        must(waitpid(child, &status, 0) == child && status == 0, "a child");
    }
    return 0;
}

static void *thread(void *each)
{
    spin(number(each));
    return NULL;
}

static int threads(uint64_t n, char *each)
{
    pthread_t all[64];
    must(n <= 64, "so many threads");
    for (uint64_t i = 0; i < n; i++)
        must(pthread_create(&all[i], NULL, thread, each) == 0, "pthread_create");
    for (uint64_t i = 0; i < n; i++)
        pthread_join(all[i], NULL);
    return 0;
}

/* Where the other CPU is away, it stays. */
static int wander(uint64_t n, uint64_t each)
{
    for (uint64_t i = 0; i < n; i++) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(i % 2, &cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
            must(errno == EINVAL, "sched_setaffinity");
        spin(each);
    }
    return 0;
}

/* One of them is the counter that cycles alone can have. */
static int beside(uint64_t n, bool pinned)
{
    for (uint64_t i = 0; i < n; i++)
        counter(PERF_TYPE_HARDWARE, i ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES, -1,
                0, pinned, 0);
    pause();
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if ((strcmp(what, "in") == 0 || strcmp(what, "alone") == 0) && argc > 4) {
        name = argv[3];
        return in(argv[2], what[0] == 'i', argv + 4);
    }
    if (strcmp(what, "spin") == 0 && argc == 3) {
        spin(number(argv[2]));
        return 0;
    }
    if (strcmp(what, "turns") == 0 && argc == 7)
        return turns(argv[2][0] == '1', number(argv[3]), number(argv[4]), argv[5], argv[6]);
    if (strcmp(what, "forks") == 0 && argc == 4)
        return forks(number(argv[2]), argv[3]);
    if (strcmp(what, "threads") == 0 && argc == 4)
        return threads(number(argv[2]), argv[3]);
    if (strcmp(what, "wander") == 0 && argc == 4)
        return wander(number(argv[2]), number(argv[3]));
    if (strcmp(what, "beside") == 0 && argc == 4)
        return beside(number(argv[2]), argv[3][0] == 'a');
    fprintf(stderr, "counted: see its first lines\n");
    return 2;
}
