#include "collectors/formulas/shadow.h"

#include <math.h>

enum slowdown_status slowdown_shadow(const struct slowdown_shadow_counts *c,
                                     struct slowdown_shadow *out)
{
    double cycles = (double)c->cycles, shadow = (double)c->shadow_cycles;
    double shadow_cache = (double)c->shadow_cache_cycles;

    if (c->cycles == 0)
        return SLOWDOWN_NO_ACCESSES;
    if (c->shadow_cycles == 0)
        return SLOWDOWN_DENOMINATOR;
    *out = (struct slowdown_shadow){.cache_excess = fmax(0, cycles - shadow_cache),
                                    .memory_excess = fmax(0, shadow_cache - shadow),
                                    .raw = cycles / shadow,
                                    .ratio = fmax(1, cycles / shadow)};
    return SLOWDOWN_OK;
}
