/*
 * What the flush before a tick takes: bench_flush ROUNDS
 *
 * Seven software events on each CPU stand in for the core group's: the program reads them all, but
 * no register of a PMU. Runs on the first CPU. Prints one line of JSON: us by the clock and of our
 * CPU for a flush of that CPU, and of another one, which is interrupted (the median of all; 0 where
 * there is none).
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/source/bpf/set.h"
#include "exporter/source/perf/cpus.h"
#include "exporter/source/perf/kernel.h"
#include "tests/bench/bench.h"

enum { ROLES = 7, MAX_ROUNDS = 100000 };

struct cost {
    double wall_us[MAX_ROUNDS], cpu_us[MAX_ROUNDS];
    size_t n;
};

/* One group on a CPU, counting; it stays until this process ends. */
static int open_events(struct bpf_set *set, int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
    int fds[ROLES];
    for (int i = 0; i < ROLES; i++) {
        fds[i] = perf_kernel_linux.event_open(NULL, &attr, -1, cpu, i > 0 ? fds[0] : -1, 0);
        if (fds[i] < 0)
            return fds[i];
    }
    return bpf_set_begin(set, cpu, fds);
}

static int measure(struct bpf_set *set, int cpu, struct cost *cost)
{
    double wall = clock_us(CLOCK_MONOTONIC), used = clock_us(CLOCK_THREAD_CPUTIME_ID);
    int err = bpf_set_flush(set, cpu);
    cost->cpu_us[cost->n] = clock_us(CLOCK_THREAD_CPUTIME_ID) - used;
    cost->wall_us[cost->n++] = clock_us(CLOCK_MONOTONIC) - wall;
    return err;
}

static int run(struct bpf_set *set, const struct perf_cpus *cpus, size_t rounds)
{
    static struct cost own, other;
    int err = 0;
    bpf_set_roles(set, (1u << ROLES) - 1);
    for (size_t i = 0; i < cpus->n && !err; i++)
        err = open_events(set, cpus->at[i]);
    for (size_t i = 0; i < rounds && !err; i++) {
        err = measure(set, cpus->at[0], &own);
        if (!err && cpus->n > 1)
            err = measure(set, cpus->at[1 + i % (cpus->n - 1)], &other);
    }
    if (err) {
        fprintf(stderr, "%s\n", strerror(-err));
        return 1;
    }
    printf("{\"own_us\": %.3f, \"own_cpu_us\": %.3f, \"other_us\": %.3f, \"other_cpu_us\": %.3f}\n",
           median(own.wall_us, own.n), median(own.cpu_us, own.n), median(other.wall_us, other.n),
           median(other.cpu_us, other.n));
    return 0;
}

int main(int argc, char **argv)
{
    struct bpf_set *set;
    struct perf_cpus cpus;
    struct fsroot machine;
    struct verdict why;
    cpu_set_t one;
    size_t rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    if (fsroot_init(&machine, NULL, NULL, NULL, NULL) != 0 || perf_cpus_init(&cpus, &machine) != 0)
        return 1;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpus.at[0], &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return 1;
    const struct bpf_sizes sizes = {.roles = ROLES, .slots = 1, .cpus = (size_t)cpus.possible};
    if (bpf_set_new(&sizes, &set, &why) != 0) {
        fprintf(stderr, "%s\n", why.words);
        return 1;
    }
    int status = run(set, &cpus, rounds);
    bpf_set_free(set);
    perf_cpus_release(&cpus);
    fsroot_release(&machine);
    return status;
}
