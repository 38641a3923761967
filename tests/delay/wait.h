/*
 * Makes the core wait as long as memory would: a fence, then the TSC. What comes after does not run
 * meanwhile, unlike NOPs, which a core that waits for memory executes for nothing.
 */
#ifndef DELAY_WAIT_H
#define DELAY_WAIT_H

#include <stdint.h>

/* Ticks of the TSC a second, measured for 50 ms against CLOCK_MONOTONIC_RAW. */
double wait_calibrate(void);

/* Returns the ticks that it took, the fence included. */
uint64_t wait_ticks(uint64_t ticks);

/* Code that executes as many NOPs and returns; NULL if there is no memory for it. It is never
 * freed: it ends with the program. */
typedef void wait_nops(void);
wait_nops *wait_make_nops(unsigned nops);

#endif
