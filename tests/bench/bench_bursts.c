/*
 * What is better at the same cost: one long burst of the memory probe in a second, or three short
 * ones at three moments?
 *
 *   bench_bursts [SECONDS]      default 300
 *
 * Both are made in every second, next to each other in random order, on the probe's CPU. Printed is
 * the standard deviation of their logarithms, with levels of a minute taken out, and what they
 * cost.
 */
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/probe.h"
#include "exporter/source/probe/run.h"
#include "exporter/source/probe/thread.h"
#include "exporter/source/probe/topology.h"

enum { MOST_SECONDS = 3600, LONG_RUNS = 10, LEVEL_SECONDS = 60, SHORT = CHASE_BURSTS };
enum { ONE_LONG, ONE_SHORT, MEAN_OF_SHORT, MEDIAN_OF_SHORT, WAYS };

static const char *const names[WAYS] = {
    [ONE_LONG] = "one burst of ten runs",
    [ONE_SHORT] = "one burst of three runs",
    [MEAN_OF_SHORT] = "mean of three bursts of three runs",
    [MEDIAN_OF_SHORT] = "median of three bursts of three runs",
};

struct prober {
    struct chase_ring ring;
    enum chase_flush how;
    int cpu;
    uint64_t random;
};

static double readings[WAYS][MOST_SECONDS];

static void sleep_until(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* The median of the runs that count; not a number when fewer than half of them do. */
static double burst_ns(struct prober *prober, int runs, uint64_t *cpu_ns)
{
    double latency_ns[LONG_RUNS];
    size_t kept = 0;
    struct chase_facts facts = {.cpu_wanted = prober->cpu};
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    chase_run(&prober->ring, prober->how, CHASE_WARM_LOADS, &facts);
    for (int i = 0; i < runs; i++) {
        enum probe_discard cause;
        chase_run(&prober->ring, prober->how, CHASE_RUN_LOADS, &facts);
        if (chase_run_counts(&facts, &cause))
            latency_ns[kept++] = (double)facts.wall_ns / CHASE_RUN_LOADS;
    }
    *cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    return kept > 0 && 2 * kept >= (size_t)runs ? chase_median(latency_ns, kept) : NAN;
}

static void combine(const double *bursts, size_t second)
{
    double kept[SHORT], sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < SHORT; i++) {
        if (isnan(bursts[i]))
            continue;
        kept[n++] = bursts[i];
        sum += bursts[i];
    }
    readings[ONE_SHORT][second] = bursts[0];
    readings[MEAN_OF_SHORT][second] = n > 0 ? sum / (double)n : NAN;
    readings[MEDIAN_OF_SHORT][second] = n > 0 ? chase_median(kept, n) : NAN;
}

static void measure(struct prober *prober, size_t seconds, uint64_t cpu_ns[2])
{
    const uint64_t apart_ns = 20000000;
    uint64_t start = clock_mono_ns();
    for (size_t s = 0; s < seconds; s++) {
        double bursts[SHORT];
        size_t with_long = chase_random(&prober->random) % SHORT;
        bool long_first = chase_random(&prober->random) % 2;
        for (size_t i = 0; i < SHORT; i++) {
            uint64_t at = start + s * 1000000000U + i * (1000000000U / SHORT) +
                          chase_random(&prober->random) % (800000000U / SHORT);
            sleep_until(at);
            if (i == with_long && long_first) {
                readings[ONE_LONG][s] = burst_ns(prober, LONG_RUNS, &cpu_ns[0]);
                sleep_until(at + apart_ns);
            }
            bursts[i] = burst_ns(prober, CHASE_RUNS, &cpu_ns[1]);
            if (i == with_long && !long_first) {
                sleep_until(at + apart_ns);
                readings[ONE_LONG][s] = burst_ns(prober, LONG_RUNS, &cpu_ns[0]);
            }
        }
        combine(bursts, s);
    }
}

/* In percent; levels of a minute are taken out. */
static double deviation(const double *ns, size_t seconds, size_t *n)
{
    double squares = 0;
    *n = 0;
    for (size_t from = 0; from < seconds; from += LEVEL_SECONDS) {
        size_t to = from + LEVEL_SECONDS < seconds ? from + LEVEL_SECONDS : seconds, have = 0;
        double level = 0;
        for (size_t s = from; s < to; s++)
            if (!isnan(ns[s])) {
                level += log(ns[s]);
                have++;
            }
        for (size_t s = from; s < to && have > 0; s++)
            if (!isnan(ns[s])) {
                double off = log(ns[s]) - level / (double)have;
                squares += off * off;
                ++*n;
            }
    }
    return *n > 0 ? 100 * sqrt(squares / (double)*n) : NAN;
}

int main(int argc, char **argv)
{
    size_t seconds = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
    struct prober prober = {.how = chase_flush_detect(), .random = 2026};
    struct chase_topology topology = {0};
    struct chase_allowed allowed;
    struct chase_buffer buffer;
    struct verdict why;
    struct fsroot fs;
    uint64_t cpu_ns[2] = {0, 0};
    cpu_set_t cpus;
    if (seconds < 1 || seconds > MOST_SECONDS || fsroot_init(&fs, NULL, NULL, NULL, NULL) < 0)
        return 2;
    chase_allowed_read(&allowed);
    if (chase_topology_init(&topology, &fs, &allowed, NULL) < 0 || topology.n_initiators == 0)
        return 1;
    prober.cpu = topology.initiators[0].cpu;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)prober.cpu, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    if (chase_buffer_init(&buffer, &fs, 2 * CHASE_HUGE_BYTES, topology.initiators[0].node,
                          prober.cpu, topology.n_targets == 1, &why) < 0 ||
        chase_ring_init(&prober.ring, buffer.base, buffer.bytes, 0, 1, prober.random) < 0)
        return 1;
    measure(&prober, seconds, cpu_ns);
    for (int way = 0; way < WAYS; way++) {
        size_t n;
        double percent = deviation(readings[way], seconds, &n);
        printf("%-38s deviation %5.2f %%   n %zu\n", names[way], percent, n);
    }
    printf("CPU a second: one long %.0f us, three short %.0f us\n",
           (double)cpu_ns[0] / 1e3 / (double)seconds, (double)cpu_ns[1] / 1e3 / (double)seconds);
    chase_ring_release(&prober.ring);
    chase_buffer_release(&buffer);
    chase_topology_release(&topology);
    fsroot_release(&fs);
    return 0;
}
