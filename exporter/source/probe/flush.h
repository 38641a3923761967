/* Pushing cache lines out of every cache of the machine; the only file that knows instructions. */
#ifndef IE_SOURCE_PROBE_FLUSH_H
#define IE_SOURCE_PROBE_FLUSH_H

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum chase_flush { CHASE_FLUSH_NONE, CHASE_FLUSH_PLAIN, CHASE_FLUSH_OPTIMISED };

/* What this CPU offers to unprivileged code. CPUID is slow in virtual machines: ask once. */
static inline enum chase_flush chase_flush_detect(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1U << 23))
        return CHASE_FLUSH_OPTIMISED;
    return __get_cpuid(1, &a, &b, &c, &d) && (d & 1U << 19) ? CHASE_FLUSH_PLAIN : CHASE_FLUSH_NONE;
#elif defined(__aarch64__)
    return CHASE_FLUSH_PLAIN; /* Linux lets user space do this */
#else
    return CHASE_FLUSH_NONE;
#endif
}

/* Takes effect at the next chase_flush_fence. Never loads the line. */
static inline void chase_flush_line(enum chase_flush how, char *line)
{
#if defined(__x86_64__)
    if (how == CHASE_FLUSH_OPTIMISED)
        __asm__ volatile("clflushopt %0" : "+m"(*line));
    else
        __asm__ volatile("clflush %0" : "+m"(*line));
#elif defined(__aarch64__)
    (void)how;
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
    (void)how;
    (void)line;
#endif
}

/* No later load starts before the earlier flushes are done. */
static inline void chase_flush_fence(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mfence\n\tlfence" : : : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb sy\n\tisb" : : : "memory");
#endif
}

#endif
