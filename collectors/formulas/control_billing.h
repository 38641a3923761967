/*
 * What is done with slowdowns without touching anybody: billing (Subramanian et al. 2015, section
 * 7.4), admission (7.5, which names no algorithm: ours), and a slowdown from an epoch on hardware
 * (ours, after section 4). Pure.
 */
#ifndef IE_FORMULAS_CONTROL_BILLING_H
#define IE_FORMULAS_CONTROL_BILLING_H

#include <stdbool.h>

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

/* ---- whether a node should get more work ---- */

struct control_admission_config {
    double hold_slowdown, ok_slowdown; /* 2.0 and 1.5 */
    unsigned hold_minutes, hold_of;    /* 3 of 5; hold_of <= 32 */
    unsigned ok_minutes;               /* 10 in a row */
};

void control_admission_defaults(struct control_admission_config *config);

/* Zeroed: ok. */
struct control_admission {
    bool hold;
    unsigned history; /* the last minute in bit 0; 1: above hold_slowdown */
    unsigned calm;    /* minutes below ok_slowdown in a row */
};

/* A minute, with the greatest slowdown of a protected container over five minutes; NaN: none is
 * known, which is neither above nor below. Returns whether to hold. */
bool control_admission_step(struct control_admission *state,
                            const struct control_admission_config *config, double slowdown);

/* ---- slowdown from an epoch ---- */

/* Differences of one container: in an epoch, when best-effort work was held back, and outside. */
struct control_epoch {
    double alone_reads, alone_cycles; /* accesses of the last-level cache */
    double shared_reads, shared_cycles;
    double alone_cpus, shared_cpus; /* CPU time over time */
};

/*
 *     slowdown = max(1, (alone_reads / alone_cycles) / (shared_reads / shared_cycles))
 *
 * False, and nothing set: fewer than 1000 reads in one of the two, no cycles, or the use of CPUs
 * changed by more than 20 %, so that the two are not of the same work.
 *
 * Worked: 27000 in 5e6 cycles shared, 6818 in 1e6 alone -> 5.4e-3, 6.818e-3, slowdown 1.2626.
 */
bool control_epoch_slowdown(const struct control_epoch *epoch, double *slowdown);

#endif
