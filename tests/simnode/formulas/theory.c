#include "tests/simnode/formulas/theory.h"

#include <math.h>

void control_shares(const double *slowdowns, size_t n, double *shares)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fmax(1, slowdowns[i]);
    for (size_t i = 0; i < n; i++)
        shares[i] = fmax(1, slowdowns[i]) / sum;
}

/* Rounding may leave a little beyond the last one. */
size_t control_shares_draw(const double *shares, size_t n, double uniform)
{
    size_t i = 0;
    for (; i + 1 < n && uniform >= shares[i]; i++)
        uniform -= shares[i];
    return i;
}

double control_billable_seconds(double cpu_seconds, double cycles, double interference_cycles)
{
    if (!(cycles > 0))
        return cpu_seconds;
    double lost = fmin(fmax(0, interference_cycles), cycles);
    return cpu_seconds * (cycles - lost) / cycles;
}

double control_nvmm_fair_time(unsigned cpus, unsigned workers, unsigned writers,
                              unsigned writer_cpus)
{
    double together = (double)(workers + writers) / cpus;
    if (writers / together <= writer_cpus)
        return fmax(1, together);
    return fmax(1, (double)workers / (cpus - writer_cpus));
}

double placement_weighted(const double *c, const double *f, size_t n, double k)
{
    double cycles = k;
    for (size_t i = 0; i < n; i++)
        cycles += c[i] * f[i];
    return cycles;
}

double placement_scaled(double c, double latency, double target)
{
    return c * target / latency;
}

double placement_affine(const double c[2], const double latency[2], double target)
{
    double slope = (c[1] - c[0]) / (latency[1] - latency[0]);
    return c[0] + slope * (target - latency[0]);
}

double placement_bandwidth(double reads_per_second, double bytes_per_read, double bytes_per_second)
{
    return reads_per_second * bytes_per_read / bytes_per_second;
}
