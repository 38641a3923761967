#include "collectors/slowdown/shadow.h"

#include "collectors/formulas/shadow.h"
#include "collectors/parts/window_read.h"

static bool estimate(struct shadow *shadow, const struct window_sum *sum,
                     struct collector_status *status, struct slowdown_shadow *out)
{
    struct slowdown_shadow_counts c = {0};
    if (!window_count(sum, GROUP_ASM_EPOCHS, ROLE_QUANTUM_CYCLES, &c.cycles) ||
        !window_count(sum, GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES, &c.shadow_cycles) ||
        !window_count(sum, GROUP_ASM_EPOCHS, ROLE_SHADOW_CACHE_CYCLES, &c.shadow_cache_cycles))
        return false;
    shadow->seen = true;
    if (slowdown_shadow(&c, out) != SLOWDOWN_OK) {
        status->discarded[DISCARD_DENOMINATOR]++;
        return false;
    }
    shadow->observed_cycles += c.cycles;
    shadow->memory_cycles += (uint64_t)out->memory_excess;
    shadow->cache_cycles += (uint64_t)out->cache_excess;
    return true;
}

void shadow_collect(struct shadow *shadow, const struct window_sum *sum,
                    struct collector_status *status, struct slowdown_set *set, bool ending)
{
    struct slowdown_shadow result = {0};
    bool known = sum && estimate(shadow, sum, status, &result);
    shadow_show(shadow, set);
    slowdown_set_gauge(set, S_SHADOW_RATIO, known && !ending, result.ratio);
}

void shadow_show(const struct shadow *shadow, struct slowdown_set *set)
{
    slowdown_set_count(set, S_SHADOW_OBSERVED, shadow->seen, shadow->observed_cycles);
    slowdown_set_count(set, S_SHADOW_MEMORY, shadow->seen, shadow->memory_cycles);
    slowdown_set_count(set, S_SHADOW_CACHE, shadow->seen, shadow->cache_cycles);
}
