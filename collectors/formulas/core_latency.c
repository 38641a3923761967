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

int core_latency_estimate(const struct core_latency_counts *counts, double base_frequency_hz,
                          double cache_cycles, struct core_latency *out)
{
    double f;

    if (counts->reads == 0 || !(cache_cycles > 0) || !isfinite(cache_cycles))
        return -ENODATA;
    int error = core_frequency_hz(counts->cycles, counts->ref_cycles, base_frequency_hz, &f);
    if (error)
        return error;

    out->frequency_hz = f;
    out->cycles = cache_cycles + (double)counts->occupancy / (double)counts->reads;
    out->latency_seconds = out->cycles / f;
    out->wait_seconds = (cache_cycles * (double)counts->reads + (double)counts->occupancy) / f;
    out->beyond_seconds = (double)counts->occupancy / (double)counts->reads / f;
    return 0;
}

int core_latency_estimate_sums(const struct core_latency_sums *sums, double base_frequency_hz,
                               double cache_cycles, struct core_latency *out)
{
    if (sums->reads == 0 || !(sums->reference_reads > 0) || !(cache_cycles > 0) ||
        !isfinite(cache_cycles) || !(base_frequency_hz > 0) || !isfinite(base_frequency_hz))
        return -ENODATA;
    double reads = (double)sums->reads;

    out->frequency_hz = reads / sums->reference_reads * base_frequency_hz;
    out->cycles = cache_cycles + sums->reference_occupancy / sums->reference_reads;
    out->latency_seconds = out->cycles / out->frequency_hz;
    out->wait_seconds =
        (cache_cycles * sums->reference_reads + sums->reference_occupancy) / base_frequency_hz;
    out->beyond_seconds = sums->reference_occupancy / base_frequency_hz / reads;
    return 0;
}

int core_latency_calibrate(const struct core_latency_counts *counts, double base_frequency_hz,
                           double true_latency_seconds, double *cache_cycles)
{
    double f;

    if (counts->reads == 0 || !(true_latency_seconds > 0) || !isfinite(true_latency_seconds))
        return -ENODATA;
    int error = core_frequency_hz(counts->cycles, counts->ref_cycles, base_frequency_hz, &f);
    if (error)
        return error;

    double cycles = true_latency_seconds * f - (double)counts->occupancy / (double)counts->reads;
    if (!(cycles > 0) || cycles > CORE_CACHE_LARGEST_SHARE * true_latency_seconds * f)
        return -ERANGE;
    *cache_cycles = cycles;
    return 0;
}

int core_latency_error_ratio(double estimate_seconds, double true_seconds, double *out)
{
    if (!(true_seconds > 0) || !isfinite(true_seconds) || !isfinite(estimate_seconds))
        return -ENODATA;
    *out = fabs(estimate_seconds - true_seconds) / true_seconds;
    return 0;
}
