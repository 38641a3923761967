#include "exporter/source/sampler/clock.h"

#include <stddef.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "exporter/base/clock.h"

/* How often the clocks are compared: the comparison that took the shortest time counts. */
enum { COMPARISONS = 3 };

static uint64_t monotonic_of(const struct perf_clock *clock)
{
    if (clock->sources && clock->sources->monotonic_ns)
        return clock->sources->monotonic_ns(clock->sources->context);
    return clock_mono_ns();
}

static uint64_t counter_of(const struct perf_clock *clock)
{
    if (clock->sources && clock->sources->counter)
        return clock->sources->counter(clock->sources->context);
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0; /* perf_clock_is_known says no */
#endif
}

bool perf_clock_is_known(const struct perf_event_mmap_page *page)
{
#if defined(__x86_64__)
    return page->cap_user_time_zero && page->time_mult != 0;
#else
    (void)page;
    return false;
#endif
}

/* As the kernel's header says; its sequence count shows when the numbers are being changed. */
static uint64_t perf_now(const struct perf_clock *clock)
{
    const struct perf_event_mmap_page *page = clock->page;
    uint32_t before, multiplier;
    uint64_t zero, counter;
    uint16_t shift;
    do {
        before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        multiplier = page->time_mult;
        shift = page->time_shift;
        zero = page->time_zero;
        counter = counter_of(clock);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (before & 1 || __atomic_load_n(&page->lock, __ATOMIC_RELAXED) != before);
    uint64_t high = counter >> shift, low = counter & ((UINT64_C(1) << shift) - 1);
    return zero + high * multiplier + (low * multiplier >> shift);
}

uint64_t perf_clock_now(struct perf_clock *clock)
{
    uint64_t best_ns = UINT64_MAX, now = 0;
    if (!clock->page)
        return monotonic_of(clock);
    for (int i = 0; i < COMPARISONS; i++) {
        uint64_t before = monotonic_of(clock);
        uint64_t perf = perf_now(clock);
        uint64_t took = monotonic_of(clock) - before;
        if (took < best_ns) {
            best_ns = took;
            clock->ahead_ns = (int64_t)(before + took / 2 - perf);
        }
        now = perf;
    }
    return now;
}

uint64_t perf_clock_monotonic(const struct perf_clock *clock, uint64_t time_ns)
{
    return clock->page ? time_ns + (uint64_t)clock->ahead_ns : time_ns;
}
