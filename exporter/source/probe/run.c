#include "exporter/source/probe/run.h"

#include <sched.h>
#include <sys/resource.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/buffer.h"

#define NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_thread))

static int64_t context_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) < 0 ? 0 : usage.ru_nvcsw + usage.ru_nivcsw;
}

NO_SANITIZE static void flush(const struct chase_ring *ring, enum chase_flush how, uint32_t loads)
{
    uint32_t at = ring->next;
    for (uint32_t i = 0; i < loads; i++) {
        chase_flush_line(how, chase_ring_line(ring, at));
        if (++at == ring->lines)
            at = 0;
    }
}

/* Fetches the translations of the huge pages. Those of small pages were fetched by the flush. */
NO_SANITIZE static void warm_translations(const struct chase_ring *ring)
{
    for (size_t at = 0; at < ring->bytes; at += CHASE_HUGE_BYTES)
        (void)*(volatile char *)(ring->base + at);
}

NO_SANITIZE static void *chase(void *start, uint32_t loads)
{
    void *volatile *at = start;
    for (; loads >= 4; loads -= 4) {
        at = *at;
        at = *at;
        at = *at;
        at = *at;
    }
    for (; loads > 0; loads--)
        at = *at;
    return (void *)at;
}

void chase_run(struct chase_ring *ring, enum chase_flush how, uint32_t loads,
               struct chase_facts *facts)
{
    if (how != CHASE_FLUSH_NONE) {
        flush(ring, how, loads);
        warm_translations(ring);
    }
    void *start = chase_ring_line(ring, ring->next);
    ring->next = (uint32_t)(((uint64_t)ring->next + loads) % ring->lines);
    facts->loads = loads;
    facts->switches = -context_switches();
    facts->cpu_before = sched_getcpu();
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    chase_flush_fence();
    uint64_t wall = clock_ns(CLOCK_MONOTONIC_RAW);
    void *end = chase(start, loads);
    __asm__ volatile("" : : "r"(end) : "memory");
    facts->wall_ns = clock_ns(CLOCK_MONOTONIC_RAW) - wall;
    facts->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    facts->cpu_after = sched_getcpu();
    facts->switches += context_switches();
}

bool chase_run_counts(const struct chase_facts *facts, enum probe_discard *cause)
{
    if (facts->cpu_before != facts->cpu_wanted || facts->cpu_after != facts->cpu_wanted)
        *cause = PROBE_MIGRATED;
    else if (facts->switches != 0)
        *cause = PROBE_PREEMPTED;
    else if (facts->cpu_ns + facts->wall_ns / 50 + 500 < facts->wall_ns)
        *cause = PROBE_STOLEN;
    else
        return true;
    return false;
}

double chase_median(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
