/* The kernel's clocks in nanoseconds. Any thread. */
#ifndef IE_BASE_CLOCK_H
#define IE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* 0 for a clock that the kernel does not have. */
static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, which ticks are stamped with. */
static inline uint64_t clock_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

#endif
