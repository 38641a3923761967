/*
 * Latency inside the memory controller: Shen & Li 2020 section 4.1, table 3 (FORMULAS.md section
 * 2).
 *
 *     f_imc        = the highest d(clockticks of one unit) / d(running time) of the socket [Hz]
 *     dram latency = occupancy / inserts / f_imc + l_CAS            [s]
 *     pmm latency  = occupancy / inserts / f_imc                    [s]
 *
 * A DRAM entry leaves the read pending queue when its read command is issued, so the time until the
 * data come, l_CAS, is added; a PMM entry stays until it is served. Occupancies and inserts are
 * summed over (pseudo-)channels before dividing, each scaled first; clockticks are never summed.
 *
 * Worked: occupancy 6.0e8, inserts 1.0e7, f_imc 1.4665 GHz, l_CAS 14.3 ns
 *         -> 60 ticks -> 40.914 + 14.3 = 55.214 ns.
 *
 * It is shared by all cores and leaves out the caches and the interconnect: shown beside the core
 * latency, never in its place. Pure; -ENODATA where there is no result, the output untouched.
 */
#ifndef IE_FORMULAS_IMC_LATENCY_H
#define IE_FORMULAS_IMC_LATENCY_H

#include <stdint.h>

/*
 * 'clockticks' raw over the running time, or scaled over the enabled time: the same quotient.
 * Worked: 1,466,500,000 ticks in 1,000,000,000 ns -> 1.4665 GHz. -ENODATA without ticks or time.
 */
int imc_frequency_hz(uint64_t clockticks, uint64_t time_ns, double *out);

/* -ENODATA without inserts, frequency or l_CAS: without l_CAS the number would be too low. */
int imc_dram_latency_seconds(uint64_t occupancy, uint64_t inserts, double imc_frequency,
                             double cas_latency_seconds, double *out);

/* -ENODATA without inserts or frequency. */
int imc_pmm_latency_seconds(uint64_t occupancy, uint64_t inserts, double imc_frequency,
                            double *out);

#endif
