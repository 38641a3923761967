/*
 * Model shadow: how many times slower an application runs because of its neighbours, from hardware
 * that does not exist. Research: only recordings of simulated hardware count for it.
 *
 * Ours, from shadow clocks: hardware that keeps, beside each access, the time at which it
 * would have been made and served without neighbours (tests/simnode/model/shadow.h). Over a
 * quantum,
 *
 *     slowdown      = cycles / shadow_cycles
 *     cache_excess  = max(0, cycles - shadow_cache_cycles)         only evictions undone
 *     memory_excess = max(0, shadow_cache_cycles - shadow_cycles)  the rest
 *
 * Worked: cycles 5000000, shadow_cache_cycles 3500000, shadow_cycles 2000000 -> slowdown 2.5,
 *         cache_excess 1.5e6, memory_excess 1.5e6.
 */
#ifndef IE_FORMULAS_SHADOW_H
#define IE_FORMULAS_SHADOW_H

#include "collectors/formulas/slowdown.h"

/* Differences over one quantum. */
struct slowdown_shadow_counts {
    uint64_t cycles;
    uint64_t shadow_cycles;       /* of the same instructions, without neighbours */
    uint64_t shadow_cache_cycles; /* the same with memory as slow as it was */
};

struct slowdown_shadow {
    double cache_excess, memory_excess; /* cycles */
    double raw;                         /* cycles / shadow_cycles */
    double ratio;                       /* the slowdown: raw, but at least 1 */
};

/* SLOWDOWN_NO_ACCESSES without cycles, SLOWDOWN_DENOMINATOR without shadow cycles. */
enum slowdown_status slowdown_shadow(const struct slowdown_shadow_counts *counts,
                                     struct slowdown_shadow *out);

#endif
