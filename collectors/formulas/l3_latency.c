#include "collectors/formulas/l3_latency.h"

#include <errno.h>
#include <math.h>

static const uint64_t large_cache_bytes = UINT64_C(32) << 20;

int l3_cycles_unit_seconds(double l3_frequency_hz, double *out)
{
    if (!(l3_frequency_hz > 0) || !isfinite(l3_frequency_hz))
        return -ENODATA;
    *out = 16 / l3_frequency_hz;
    return 0;
}

int l3_sampled_unit_seconds(uint64_t cache_bytes, double *out)
{
    if (cache_bytes == 0)
        return -ENODATA;
    *out = cache_bytes >= large_cache_bytes ? 10e-9 : 30e-9;
    return 0;
}

int l3_latency_seconds(uint64_t wait, uint64_t reads, double unit_seconds, double *out)
{
    if (reads == 0 || !(unit_seconds > 0) || !isfinite(unit_seconds))
        return -ENODATA;
    *out = (double)wait / (double)reads * unit_seconds;
    return 0;
}
