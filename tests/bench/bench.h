/* What benches share. */
#ifndef IE_TESTS_BENCH_H
#define IE_TESTS_BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double clock_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static inline double now_s(void)
{
    return clock_us(CLOCK_MONOTONIC) * 1e-6;
}

/* Of this thread, kernel and user. */
static inline double thread_s(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID) * 1e-6;
}

/* Of this process, kernel and user. */
static inline double cpu_us(void)
{
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them; 0 where there are none. */
static inline double median(double *at, size_t n)
{
    qsort(at, n, sizeof *at, by_size);
    return n ? at[n / 2] : 0;
}

static inline void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

#endif
