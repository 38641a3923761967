/*
 * How often the program allocated: for tests that want a steady tick to allocate nothing; and
 * memory that runs out.
 *
 * Linking or preloading this object puts it in front of the C library's malloc, calloc and realloc,
 * for shared libraries too. Under the sanitizers, which do the same, nothing is counted and nothing
 * fails.
 */
#ifndef IE_TESTS_MALLOC_COUNT_H
#define IE_TESTS_MALLOC_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* False where counting is not possible: then malloc_count() stays 0. */
bool malloc_count_works(void);
/* Calls since the start, by all threads. */
uint64_t malloc_count(void);
/* Counts in *counter from now on, without what was counted before: for memory that others read.
 * Before the program starts threads. */
void malloc_count_in(uint64_t *counter);

/* The n-th call from now, counted from 1, gives NULL; 0: none does. False where that is not
 * possible. */
bool malloc_fail(uint64_t n);

#endif
