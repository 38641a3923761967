/*
 * Numbers without a pattern, and the same in every run: xorshift64 (Marsaglia 2003, "Xorshift
 * RNGs", 13, 7, 17).
 */
#ifndef IE_TESTS_DRAW_H
#define IE_TESTS_DRAW_H

#include <stdint.h>

/* A state to begin with; any but 0 is good. */
#define DRAW_SEED UINT64_C(88172645463325252)

/* Never 0. */
uint64_t draw(uint64_t *state);
/* At least 0 and below 1. */
double draw_unit(uint64_t *state);

#endif
