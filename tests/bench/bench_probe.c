/*
 * What the memory probe costs and how well it measures.
 *
 *   bench_probe [SECONDS [INTERVAL_MS]]     default 30 s at 1000 ms
 *
 * First the probe as the exporter runs it: readings, their spread, discarded runs, and the share of
 * a CPU that each initiator's thread used. Then, on the first initiator's CPU, a cross-check that
 * flushes nothing: a buffer far larger than the caches (1 GiB, less where memory is short) whose
 * lines have long been evicted when they are loaded. "page by page" chases inside one huge page
 * after fetching the translation of each of its small pages (a hypervisor may back it with those),
 * as the probe does; "anywhere" pays for the TLB too.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/probe.h"
#include "exporter/source/probe/topology.h"
#include "tests/bench/bench.h"

enum { MOST_READINGS = 8192, CROSS_RUNS = 400, CROSS_LOADS = 250, SMALL_PAGE = 4096 };

static void print_spread(const char *what, double *values, size_t n)
{
    double sum = 0, squares = 0;
    if (n == 0) {
        printf("%-34s no reading\n", what);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    double median = chase_median(values, n); /* sorts */
    printf("%-34s median %7.1f ns   p5 %7.1f   p95 %7.1f   deviation %4.1f %%   n %zu\n", what,
           median, values[n / 20], values[n - 1 - n / 20],
           100 * sqrt(variance > 0 ? variance : 0) / mean, n);
}

static void print_pairs(const struct probe_reading *readings, size_t n, double *values)
{
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        char what[64];
        for (size_t j = 0; j < n; j++) {
            if (readings[j].initiator_numa_node != readings[i].initiator_numa_node ||
                readings[j].target_numa_node != readings[i].target_numa_node)
                continue;
            if (j < i)
                break; /* this pair is printed already */
            values[same++] = readings[j].latency_ns;
        }
        if (same == 0)
            continue;
        snprintf(what, sizeof what, "probe, node %d to node %d", readings[i].initiator_numa_node,
                 readings[i].target_numa_node);
        print_spread(what, values, same);
    }
}

static int run_probe(const struct fsroot *fs, const struct log *log, double seconds,
                     uint64_t interval_ns)
{
    static struct probe_reading readings[MOST_READINGS];
    static double values[MOST_READINGS];
    struct probe_config config = {.fs = fs, .log = log, .interval_ns = interval_ns};
    struct source *source;
    struct verdict why;
    size_t n = 0, n_threads;
    double start = now_s();
    if (probe_source_new(&config, &source, &why) < 0) {
        fprintf(stderr, "no probe here: %s\n", why.words);
        return 1;
    }
    double ready = now_s();
    while (now_s() - ready < seconds) {
        size_t got;
        usleep(100000);
        source->ops->probes(source, readings + n, MOST_READINGS - n, &got);
        n += got;
    }
    double elapsed = now_s() - ready;
    printf("start %.1f ms, buffers %zu MiB, interval %g ms, %.0f s\n", 1e3 * (ready - start),
           probe_source_buffer_bytes(source) >> 20, (double)interval_ns / 1e6, elapsed);
    const struct source_thread *threads = probe_source_threads(source, &n_threads);
    for (size_t i = 0; i < n_threads; i++)
        printf("CPU of initiator node %d: %.4f %% of one CPU (budget 0.1 %%)\n",
               threads[i].initiator_numa_node,
               (double)probe_source_cpu_ns(source, i) / 1e7 / elapsed);
    print_pairs(readings, n, values);
    uint64_t discarded[PROBE_DISCARDS];
    source->ops->probe_discards(source, discarded);
    printf("runs discarded:");
    static const char *const causes[PROBE_DISCARDS] = {
        [PROBE_PREEMPTED] = "preempted", [PROBE_MIGRATED] = "migrated", [PROBE_STOLEN] = "stolen"};
    for (int cause = 0; cause < PROBE_DISCARDS; cause++)
        printf(" %s %llu", causes[cause], (unsigned long long)discarded[cause]);
    double stopping = now_s();
    source->ops->free(source);
    printf("\nstop %.1f ms\n", 1e3 * (now_s() - stopping));
    return 0;
}

/* Fetches every translation of a page through lines that its ring, of odd slots only, leaves out.
 */
static void touch_small_pages(const struct chase_ring *page)
{
    for (size_t at = 0; at < page->bytes; at += SMALL_PAGE)
        (void)*(volatile char *)(page->base + at);
}

static void cross_check(const char *what, struct chase_ring *rings, size_t n_rings, int cpu)
{
    double values[CROSS_RUNS];
    size_t kept = 0;
    for (size_t i = 0; i < CROSS_RUNS; i++) {
        struct chase_facts facts = {.cpu_wanted = cpu};
        enum probe_discard cause;
        struct chase_ring *ring = &rings[i * 7 % n_rings]; /* far from the last one */
        if (n_rings > 1)
            touch_small_pages(ring);
        chase_run(ring, CHASE_FLUSH_NONE, CROSS_LOADS, &facts);
        if (chase_run_counts(&facts, &cause))
            values[kept++] = (double)facts.wall_ns / CROSS_LOADS;
    }
    print_spread(what, values, kept);
}

static size_t cross_bytes(void)
{
    size_t half = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
    size_t bytes = (size_t)1 << 30;
    while (bytes > half && bytes > (size_t)64 << 20)
        bytes /= 2;
    return bytes;
}

static int run_cross_check(const struct fsroot *fs, int node, int cpu)
{
    struct chase_buffer buffer;
    struct chase_ring whole = {0}, *pages = NULL;
    struct verdict why;
    size_t bytes = cross_bytes(), n_pages = bytes / CHASE_HUGE_BYTES;
    int err = chase_buffer_init(&buffer, fs, bytes, node, cpu, false, &why);
    if (err) {
        fprintf(stderr, "no cross-check: %s\n", why.words);
        return 1;
    }
    printf("cross-check: %zu MiB on node %d%s, no flush\n", bytes >> 20, node,
           buffer.huge ? ", huge pages" : "");
    pages = calloc(n_pages, sizeof *pages);
    for (size_t i = 0; pages && !err && i < n_pages; i++)
        err = chase_ring_init(&pages[i], buffer.base + i * CHASE_HUGE_BYTES, CHASE_HUGE_BYTES, 1, 2,
                              i);
    if (pages && !err)
        cross_check("  page by page, TLB warm", pages, n_pages * 3 / 4,
                    cpu); /* the rest is cached */
    err = chase_ring_init(&whole, buffer.base, bytes, 0, 1, 1);
    if (!err)
        cross_check("  anywhere, TLB misses included", &whole, 1, cpu);
    chase_ring_release(&whole);
    for (size_t i = 0; pages && i < n_pages; i++)
        chase_ring_release(&pages[i]);
    free(pages);
    chase_buffer_release(&buffer);
    return err ? 1 : 0;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 30, interval_ms = argc > 2 ? atof(argv[2]) : 1000;
    struct log log = {.fd = STDERR_FILENO, .level = LOG_LEVEL_WARN, .format = LOG_FORMAT_LOGFMT};
    struct chase_topology topology = {0};
    struct chase_allowed allowed;
    struct fsroot fs;
    cpu_set_t cpus;
    if (seconds <= 0 || interval_ms < 1 || fsroot_init(&fs, NULL, NULL, NULL, NULL) < 0)
        return 2;
    int result = run_probe(&fs, &log, seconds, (uint64_t)(interval_ms * 1e6));
    chase_allowed_read(&allowed);
    if (!result && chase_topology_init(&topology, &fs, &allowed, NULL) == 0 &&
        topology.n_initiators > 0) {
        CPU_ZERO(&cpus);
        CPU_SET((size_t)topology.initiators[0].cpu, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
        result = run_cross_check(&fs, topology.initiators[0].node, topology.initiators[0].cpu);
    }
    chase_topology_release(&topology);
    fsroot_release(&fs);
    return result;
}
