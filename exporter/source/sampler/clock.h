/*
 * The clock of perf's records: CLOCK_MONOTONIC if events are opened with it, else perf's own, which
 * the page before each buffer tells how to compute from the CPU's time stamp counter.
 *
 * With any clock but its own the kernel takes an interrupt for every precise sample, where it else
 * lets the hardware collect some dozens. Where the page does not tell (under most hypervisors, and
 * with an unstable counter) there is no choice.
 */
#ifndef IE_SOURCE_SAMPLER_CLOCK_H
#define IE_SOURCE_SAMPLER_CLOCK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* Stand for the CPU's instruction and for CLOCK_MONOTONIC; all zero: those themselves. For tests.
 */
struct perf_clock_sources {
    uint64_t (*counter)(void *context);
    uint64_t (*monotonic_ns)(void *context);
    void *context;
};

/* All zero is CLOCK_MONOTONIC. */
struct perf_clock {
    const struct perf_clock_sources *sources; /* borrowed */
    const struct perf_event_mmap_page *page;  /* NULL: CLOCK_MONOTONIC; else perf's own, borrowed */
    int64_t ahead_ns;                         /* CLOCK_MONOTONIC less perf's clock, at last look */
};

/* Whether this page says how perf's own clock is computed. */
bool perf_clock_is_told(const struct perf_event_mmap_page *page);

/* Now, by the records' clock. Compares the clocks again. */
uint64_t perf_clock_now(struct perf_clock *clock);
/* A record's time in CLOCK_MONOTONIC, as of that comparison. */
uint64_t perf_clock_monotonic(const struct perf_clock *clock, uint64_t time_ns);

#endif
