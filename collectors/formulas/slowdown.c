#include "collectors/formulas/slowdown.h"

#include <math.h>

enum slowdown_status slowdown_asm(const struct slowdown_asm_counts *c, struct slowdown_asm *out)
{
    double epoch_cycles = (double)c->epoch_count * (double)c->epoch_length;
    double hits = (double)c->hits, misses = (double)c->misses, accesses = hits + misses;
    double tags = (double)c->ats_hits + (double)c->ats_misses;

    if (!(epoch_cycles > 0))
        return SLOWDOWN_NO_EPOCH;
    if (c->quantum_cycles == 0 || c->accesses == 0 || !(accesses > 0) || !(tags > 0))
        return SLOWDOWN_NO_ACCESSES;
    if (c->misses == 0)
        return SLOWDOWN_NO_MISSES;

    struct slowdown_asm s = {0};
    double ats_hits = (double)c->ats_hits / tags * accesses;
    double ats_misses = (double)c->ats_misses / tags * accesses;
    s.contention_misses = fmax(0, ats_hits - hits); /* below 0: noise of the sampled tags */
    if (s.contention_misses > 0) {
        if (c->hits == 0)
            return SLOWDOWN_NO_MISSES;
        s.excess_cycles =
            s.contention_misses * ((double)c->miss_time / misses - (double)c->hit_time / hits);
    }
    s.queueing_delay_cycles = (double)c->queueing_cycles / misses;
    double alone_cycles = epoch_cycles - s.excess_cycles - ats_misses * s.queueing_delay_cycles;
    if (!(alone_cycles > 0))
        return SLOWDOWN_DENOMINATOR;
    s.alone_rate = accesses / alone_cycles;
    s.shared_rate = (double)c->accesses / (double)c->quantum_cycles;
    s.raw = s.alone_rate / s.shared_rate;
    s.ratio = fmax(1, s.raw);
    *out = s;
    return SLOWDOWN_OK;
}

enum slowdown_status slowdown_passive(const struct slowdown_passive_counts *c,
                                      const struct slowdown_passive_alone *alone,
                                      struct slowdown_passive *out)
{
    if (c->cycles == 0 || c->accesses == 0)
        return SLOWDOWN_NO_ACCESSES;
    if (c->misses == 0 || c->occupancy == 0)
        return SLOWDOWN_NO_MISSES;
    if (!(alone->latency_cycles > 0))
        return SLOWDOWN_UNKNOWN;

    double misses = (double)c->misses, active = (double)c->active;
    double latency = (double)c->occupancy / misses;
    double unloaded = fmin(1, alone->latency_cycles / latency);
    struct slowdown_passive s = {.memory_excess = active * (1 - unloaded)};
    double contention_misses = fmax(0, misses - alone->miss_ratio * (double)c->accesses);
    s.cache_excess = NAN;
    s.ratio = NAN;
    if (alone->hit_cycles >= 0 && alone->miss_ratio >= 0)
        s.cache_excess =
            contention_misses * fmax(0, active / misses * unloaded - alone->hit_cycles);
    double cycles = (double)c->cycles;
    double left = cycles - s.memory_excess - (isnan(s.cache_excess) ? 0 : s.cache_excess);
    if (!(left > 0))
        return SLOWDOWN_DENOMINATOR;
    if (!isnan(s.cache_excess))
        s.ratio = cycles / left;
    *out = s;
    return SLOWDOWN_OK;
}

double slowdown_probe_latency(double probe_seconds, struct core_cache cache, double frequency_hz)
{
    double seconds = probe_seconds - core_cache_seconds(cache, frequency_hz);
    return probe_seconds > 0 && seconds > 0 ? seconds : NAN;
}

double slowdown_hit_cycles(double hit_seconds, struct core_cache cache, double frequency_hz)
{
    double seconds = hit_seconds - core_cache_seconds(cache, frequency_hz);
    if (!(hit_seconds > 0) || isnan(seconds))
        return NAN;
    return seconds > 0 ? seconds * frequency_hz : 0;
}

double slowdown_alone_rate_hz(double accesses, uint64_t enabled_ns, double ratio)
{
    return enabled_ns > 0 ? accesses / ((double)enabled_ns * 1e-9) * ratio : NAN;
}
