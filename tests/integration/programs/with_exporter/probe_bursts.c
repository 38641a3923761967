/*
 * The memory probe on command: a line on stdin, a burst, a line on stdout.
 *
 *   probe_bursts CPU
 *
 * Prints "ready HUGE" first (HUGE 0 or 1: whether NUMA node 0 gave huge pages), then for every line
 * read the burst's latency in nanoseconds, or "none" when too many of its runs had to be discarded.
 * The line says which burst: "probe" as the exporter's; "small" through a ring that fits in a
 * core's own cache; "cached" through the same ring without flushing it.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/thread.h"

enum { BUFFER_BYTES = 4 << 20, SMALL_BYTES = 2 << 20, BUDGET_NS = 900000, SEED = 20240817 };

static int answer(struct chase_ring *ring, struct chase_ring *small, int cpu)
{
    char line[64];
    enum chase_flush how = chase_flush_detect();
    while (fgets(line, sizeof line, stdin)) {
        struct chase_burst burst;
        bool probe = strncmp(line, "probe", 5) == 0, cached = strncmp(line, "cached", 6) == 0;
        chase_burst(probe ? ring : small, cached ? CHASE_FLUSH_NONE : how, cpu, BUDGET_NS, &burst);
        if (burst.valid)
            printf("%.2f\n", burst.latency_ns);
        else
            printf("none\n");
        fflush(stdout);
    }
    return 0;
}

static int serve(char *memory, bool huge, int cpu)
{
    struct chase_ring ring = {0}, small = {0};
    int result = 1;
    /* Every eighth slot: 64 KiB of lines. */
    if (chase_ring_init(&ring, memory, BUFFER_BYTES, 0, 1, SEED) == 0 &&
        chase_ring_init(&small, memory + BUFFER_BYTES, SMALL_BYTES, 0, 8, SEED) == 0) {
        printf("ready %d\n", huge);
        fflush(stdout);
        result = answer(&ring, &small, cpu);
    }
    chase_ring_release(&ring);
    chase_ring_release(&small);
    return result;
}

int main(int argc, char **argv)
{
    struct fsroot fs;
    struct chase_buffer buffer;
    struct verdict why;
    cpu_set_t cpus;
    int cpu = argc > 1 ? atoi(argv[1]) : 0, result = 1;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) < 0 || fsroot_init(&fs, NULL, NULL, NULL, NULL))
        return 1;
    if (chase_buffer_init(&buffer, &fs, BUFFER_BYTES + SMALL_BYTES, 0, cpu, true, &why) == 0) {
        result = serve(buffer.base, buffer.huge, cpu);
        chase_buffer_release(&buffer);
    } else {
        fprintf(stderr, "%s\n", why.words);
    }
    fsroot_release(&fs);
    return result;
}
