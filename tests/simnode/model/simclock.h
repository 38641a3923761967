/*
 * Simulated time: femtoseconds since the start, in which every clock domain (cores, memory
 * controllers) has an integer period; a frequency is thereby off by at most 2 parts in a million.
 */
#ifndef IE_SIMNODE_MODEL_SIMCLOCK_H
#define IE_SIMNODE_MODEL_SIMCLOCK_H

#include <stdint.h>

#define FS_PER_NS 1000000ULL
#define FS_PER_SECOND 1000000000000000ULL
#define SIM_NEVER UINT64_MAX

/* Cycle 'base_cycle' begins at base_fs; the base moves when the frequency changes. */
struct simclock {
    uint64_t base_fs;
    uint64_t base_cycle;
    uint64_t period_fs;
};

static inline uint64_t period_of_hz(double hz)
{
    return (uint64_t)((double)FS_PER_SECOND / hz + 0.5);
}

static inline uint64_t simclock_fs(const struct simclock *clock, uint64_t cycle)
{
    return clock->base_fs + (cycle - clock->base_cycle) * clock->period_fs;
}

/* The first cycle that begins at or after time_fs. */
static inline uint64_t simclock_cycle(const struct simclock *clock, uint64_t time_fs)
{
    return clock->base_cycle + (time_fs - clock->base_fs + clock->period_fs - 1) / clock->period_fs;
}

/*
 * A number of outstanding things over time: what hardware's occupancy counters add up each cycle.
 * 'sum_fs' / period is the occupancy in cycles, 'active_fs' / period the cycles with at least one.
 */
struct integral {
    uint32_t level;
    uint64_t last_fs, sum_fs, active_fs;
};

static inline void integral_sync(struct integral *integral, uint64_t now_fs)
{
    uint64_t span = now_fs - integral->last_fs;

    integral->last_fs = now_fs;
    if (integral->level) {
        integral->sum_fs += span * integral->level;
        integral->active_fs += span;
    }
}

static inline void integral_add(struct integral *integral, uint64_t now_fs, int change)
{
    integral_sync(integral, now_fs);
    integral->level = (uint32_t)((int)integral->level + change);
}

#endif
