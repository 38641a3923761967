/*
 * Latency of the misses of an AMD L3, from its own PMU: from the L3 to where the line is and back.
 *
 *     Zen 2, Zen 3   16 * wait / reads / f_L3      [s]   XI_SYS_FILL_LATENCY, XI_CCX_SDP_REQ1
 *     Zen 4 to 6     unit * wait / reads           [s]   L3_XI_SAMPLED_LATENCY, .._REQUESTS
 *
 * XI_SYS_FILL_LATENCY adds up a sixteenth of the misses outstanding in every cycle of the L3. Of
 * Zen 4 and later, the L3 times some of its misses: in tens of nanoseconds where it has 32 MiB or
 * more, else in thirties (AMD document 55901, Processor Programming Reference).
 *
 * Worked: wait 1.25e7, reads 1e6, 3.2 GHz -> 200 cycles -> 62.5 ns.
 * Worked: wait 1.2e6, reads 1e5, 32 MiB -> 12 units -> 120 ns; with 16 MiB 360 ns.
 *
 * All cores of the complex share it, and it leaves out the core's own caches: below what a core
 * waits. Pure; -ENODATA where there is no result, the output untouched.
 */
#ifndef IE_FORMULAS_L3_LATENCY_H
#define IE_FORMULAS_L3_LATENCY_H

#include <stdint.h>

/* One unit of 'wait', in seconds. -ENODATA for a frequency that is none. */
int l3_cycles_unit_seconds(double l3_frequency_hz, double *out);
/* Likewise; -ENODATA without a size. */
int l3_sampled_unit_seconds(uint64_t cache_bytes, double *out);

/* -ENODATA without reads or unit. */
int l3_latency_seconds(uint64_t wait, uint64_t reads, double unit_seconds, double *out);

#endif
