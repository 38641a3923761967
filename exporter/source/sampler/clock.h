/*
 * The clock of perf's records: CLOCK_MONOTONIC if events are opened with it, otherwise perf's own.
 * The page before each buffer says how to compute that from the CPU's time stamp counter.
 *
 * With any clock but its own the kernel takes an interrupt for every precise sample; with its own
 * it lets the hardware collect some dozens. Where the page does not say how to compute it (under
 * most hypervisors, and with an unstable counter) there is no choice.
 */
#ifndef IE_SOURCE_SAMPLER_CLOCK_H
#define IE_SOURCE_SAMPLER_CLOCK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* Stand in for the CPU's instruction and for CLOCK_MONOTONIC; all zero: those themselves. For
 * tests.
 */
struct perf_clock_sources {
    uint64_t (*counter)(void *context);
    uint64_t (*monotonic_ns)(void *context);
    void *context;
};

/* All zero is CLOCK_MONOTONIC. */
struct perf_clock {
    const struct perf_clock_sources *sources; /* borrowed */
    const struct perf_event_mmap_page *page;  /* NULL: CLOCK_MONOTONIC; otherwise perf's own */
    int64_t ahead_ns; /* CLOCK_MONOTONIC minus perf's clock, when compared */
};

/* Whether this page says how perf's own clock is computed. */
bool perf_clock_is_known(const struct perf_event_mmap_page *page);

/* Now, by the records' clock. Compares the clocks again. */
uint64_t perf_clock_now(struct perf_clock *clock);
/* A record's time in CLOCK_MONOTONIC, as of that comparison. */
uint64_t perf_clock_monotonic(const struct perf_clock *clock, uint64_t time_ns);

#endif
