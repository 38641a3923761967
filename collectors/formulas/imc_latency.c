#include "collectors/formulas/imc_latency.h"

#include <errno.h>
#include <math.h>

int imc_frequency_hz(uint64_t clockticks, uint64_t time_ns, double *out)
{
    if (clockticks == 0 || time_ns == 0)
        return -ENODATA;
    *out = (double)clockticks / ((double)time_ns * 1e-9);
    return 0;
}

int imc_pmm_latency_seconds(uint64_t occupancy, uint64_t inserts, double imc_frequency, double *out)
{
    if (inserts == 0 || !(imc_frequency > 0) || !isfinite(imc_frequency))
        return -ENODATA;
    *out = (double)occupancy / (double)inserts / imc_frequency;
    return 0;
}

int imc_dram_latency_seconds(uint64_t occupancy, uint64_t inserts, double imc_frequency,
                             double cas_latency_seconds, double *out)
{
    double queued;

    if (!(cas_latency_seconds > 0) || !isfinite(cas_latency_seconds))
        return -ENODATA;
    int err = imc_pmm_latency_seconds(occupancy, inserts, imc_frequency, &queued);
    if (err)
        return err;
    *out = queued + cas_latency_seconds;
    return 0;
}
