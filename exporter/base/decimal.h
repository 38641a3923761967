/*
 * Numbers as decimal text: the fewest digits that read back as the same number.
 *
 * All functions write up to DECIMAL_SIZE bytes, without a NUL, and return how many. Pure.
 */
#ifndef IE_BASE_DECIMAL_H
#define IE_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_SIZE = 32 };

size_t decimal_u64(char out[DECIMAL_SIZE], uint64_t value);

/* 0.25, 8e-08, 1234567; NaN, +Inf, -Inf. */
size_t decimal_double(char out[DECIMAL_SIZE], double value);

/* As OpenMetrics wants numbers in the label le, which every exporter must spell the same way: 1.0,
 * 0.25, 8e-08, 1e+06, +Inf. */
size_t decimal_canonical(char out[DECIMAL_SIZE], double value);

#endif
