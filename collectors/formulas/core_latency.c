#include "collectors/formulas/core_latency.h"

#include <errno.h>
#include <math.h>

int core_frequency_hz(uint64_t cycles, uint64_t ref_cycles, double base_frequency_hz, double *out)
{
    if (cycles == 0 || ref_cycles == 0 || !(base_frequency_hz > 0) || !isfinite(base_frequency_hz))
        return -ENODATA;
    *out = (double)cycles / (double)ref_cycles * base_frequency_hz;
    return 0;
}

double core_cache_seconds(struct core_cache cache, double frequency_hz)
{
    if (!(cache.cycles > 0) || !isfinite(cache.cycles) || !(cache.seconds >= 0) ||
        !isfinite(cache.seconds) || !(frequency_hz > 0))
        return NAN;
    return cache.cycles / frequency_hz + cache.seconds;
}

int core_latency_estimate(const struct core_latency_counts *counts, double base_frequency_hz,
                          struct core_cache cache, struct core_latency *out)
{
    double f;

    if (counts->reads == 0)
        return -ENODATA;
    int err = core_frequency_hz(counts->cycles, counts->ref_cycles, base_frequency_hz, &f);
    if (err)
        return err;
    double cache_seconds = core_cache_seconds(cache, f);
    if (isnan(cache_seconds))
        return -ENODATA;

    double beyond_cycles = (double)counts->occupancy / (double)counts->reads;
    out->frequency_hz = f;
    out->cycles = cache_seconds * f + beyond_cycles;
    out->beyond_seconds = beyond_cycles / f;
    out->latency_seconds = out->cycles / f;
    out->wait_seconds = out->latency_seconds * (double)counts->reads;
    return 0;
}

int core_latency_estimate_sums(const struct core_latency_sums *sums, double base_frequency_hz,
                               struct core_cache cache, struct core_latency *out)
{
    if (sums->reads == 0 || !(sums->reference_reads > 0) || !(base_frequency_hz > 0) ||
        !isfinite(base_frequency_hz))
        return -ENODATA;
    double reads = (double)sums->reads;
    double f = reads / sums->reference_reads * base_frequency_hz;
    double cache_seconds = core_cache_seconds(cache, f);
    if (isnan(cache_seconds))
        return -ENODATA;

    /* The mean is harmonic: c_cache / f of all reads is the sum over the CPUs. */
    out->frequency_hz = f;
    out->cycles = cache_seconds * f + sums->reference_occupancy / sums->reference_reads;
    out->beyond_seconds = sums->reference_occupancy / base_frequency_hz / reads;
    out->latency_seconds = cache_seconds + out->beyond_seconds;
    out->wait_seconds = out->latency_seconds * reads;
    return 0;
}

int core_latency_of_stalls(const struct core_latency_sums *sums, double base_frequency_hz,
                           struct core_latency *out)
{
    if (sums->reads == 0 || !(sums->reference_reads > 0) || !(base_frequency_hz > 0) ||
        !isfinite(base_frequency_hz))
        return -ENODATA;
    double reads = (double)sums->reads;
    out->frequency_hz = reads / sums->reference_reads * base_frequency_hz;
    out->cycles = sums->reference_occupancy / sums->reference_reads;
    out->beyond_seconds = sums->reference_occupancy / base_frequency_hz / reads;
    out->latency_seconds = out->beyond_seconds;
    out->wait_seconds = out->latency_seconds * reads;
    return 0;
}

int core_latency_calibrate(const struct core_latency_counts *counts, double base_frequency_hz,
                           double true_latency_seconds, double core_cycles, struct core_cache *out)
{
    double f;

    if (counts->reads == 0 || !(true_latency_seconds > 0) || !isfinite(true_latency_seconds))
        return -ENODATA;
    int err = core_frequency_hz(counts->cycles, counts->ref_cycles, base_frequency_hz, &f);
    if (err)
        return err;

    double cycles = true_latency_seconds * f - (double)counts->occupancy / (double)counts->reads;
    if (!(cycles > core_cycles) || cycles > CORE_CACHE_LARGEST_SHARE * true_latency_seconds * f)
        return -ERANGE;
    *out = core_cycles > 0 ? (struct core_cache){core_cycles, (cycles - core_cycles) / f}
                           : (struct core_cache){cycles, 0};
    return 0;
}

int core_latency_error_ratio(double estimate_seconds, double true_seconds, double *out)
{
    if (!(true_seconds > 0) || !isfinite(true_seconds) || !isfinite(estimate_seconds))
        return -ENODATA;
    *out = fabs(estimate_seconds - true_seconds) / true_seconds;
    return 0;
}
