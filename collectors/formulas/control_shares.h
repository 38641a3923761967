/*
 * Shares by slowdown of the bandwidth that Memory Bandwidth Allocation leaves (ours). Pure.
 */
#ifndef IE_FORMULAS_CONTROL_SHARES_H
#define IE_FORMULAS_CONTROL_SHARES_H

#include <stddef.h>

/*
 * Bandwidth in percent, in steps of 'gran' (half a step up), at least 'floor' and at most 100:
 *
 *     percent_i = max(floor, round(100 slowdown_i / greatest slowdown))
 *
 * Where 100 is no multiple of 'gran', the last one before it is 100.
 *
 * Worked, floor 20, steps of 10: 2 4 1 1 -> 50 100 30 30; 4 2 1.6 1.2 -> 100 50 40 30. Steps of 12:
 *         2 4 1 1 -> 48 100 24 24.
 */
void control_mba_map(const double *slowdowns, size_t n, unsigned floor, unsigned gran,
                     unsigned *percent);

/* One step from what is set towards what is to be. Worked, steps of 10: 100 to 30 -> 90. */
unsigned control_mba_step(unsigned set, unsigned want, unsigned gran);

#endif
