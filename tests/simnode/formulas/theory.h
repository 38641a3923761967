/*
 * What the papers compute, and no program of ours does: against it the simulated node holds what
 * ours do. Pure.
 */
#ifndef IE_SIMNODE_THEORY_H
#define IE_SIMNODE_THEORY_H

#include <stddef.h>

/* ---- shares of memory's epochs: ASM-Mem, Subramanian et al. 2015, section 7.2 ---- */

/*
 * Of the next quantum's epochs, each application's share:
 *
 *     share_i = slowdown_i / sum of slowdowns        slowdowns below 1 count as 1
 *
 * Worked: 2 4 1 1 -> 0.25 0.5 0.125 0.125; ASM-Cache-Mem takes the slowdowns of the allocation just
 *         made: 1.6 2.1 1.5 -> 0.307692 0.403846 0.288462.
 */
void control_shares(const double *slowdowns, size_t n, double *shares);

/* Whose the next epoch is: 'uniform' is drawn from [0, 1). n > 0. */
size_t control_shares_draw(const double *shares, size_t n, double uniform);

/* ---- billing: section 7.4 ---- */

/*
 * CPU seconds that the work would have taken alone:
 *
 *     cpu_seconds (cycles - interference_cycles) / cycles
 *
 * Cycles without an estimate are billed in full: 'cycles' are all of them, of which those with an
 * estimate lost interference_cycles to others. Never time over mean slowdown: one hour at 2 and two
 * hours at 4 are 1.0 h, not 0.9. Without cycles, cpu_seconds.
 *
 * Worked: 3600 s, 9e12 cycles, 3e12 lost -> 2400 s; 1e13 cycles, of which 9e12 with an estimate ->
 * 2520 s. Three hours at slowdown 3, so that two thirds are lost -> 1 h.
 */
double control_billable_seconds(double cpu_seconds, double cycles, double interference_cycles);

/* ---- what fair shares alone give ---- */

/*
 * How many times longer 'workers' compute-only threads take on 'cpus' CPUs because of 'writers'
 * busy threads, as many workers as CPUs, with max-min fair shares and nothing lost. Writers are
 * kept on 'writer_cpus' of the CPUs; as many as 'cpus': they are not kept anywhere.
 *
 *     (workers + writers) / cpus                         while the writers' fair share fits
 *     workers / (cpus - writer_cpus)                     beyond
 *
 * Worked, 16 CPUs and 16 workers: 1, 4, 16, 32 writers not kept -> 1.0625 1.25 2 3; kept on 3 CPUs
 * -> 1.0625 1.2308 1.2308 1.2308.
 */
double control_nvmm_fair_time(unsigned cpus, unsigned workers, unsigned writers,
                              unsigned writer_cpus);

/* ---- what other memory would cost: Serrano et al. 2011 (collectors/formulas/placement.h) ---- */

/* Equation 4: k and the sum over n regions of c[i] f[i]. */
double placement_weighted(const double *c, const double *f, size_t n, double k);

/* ---- a region that was not sampled, as who has the paper's stalls would have it ---- */

/* Stalls in proportion to latency. Worked: 44687 at 100 cycles -> 183216.7 at 410, of 166757. */
double placement_scaled(double c, double latency, double target);
/* Affine in latency, through two samples. Worked: 44687 at 100, 62236 at 142 -> 174215.3 at 410. */
double placement_affine(const double c[2], const double latency[2], double target);

/*
 * The least T of T now that the target's bandwidth allows, whatever its latency: what is asked of
 * it per second of now, by what it can. Worked: 50e6 reads per second of 256 bytes each, of
 * 6.6e9 bytes per second -> 1.9394; of 64 bytes .4848: does not bind.
 */
double placement_bandwidth(double reads_per_second, double bytes_per_read, double bytes_per_second);

#endif
