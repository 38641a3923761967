/*
 * What is done with slowdowns without touching anybody: admission (Subramanian et al. 2015, section
 * 7.5, which names no algorithm: ours), and a slowdown from an epoch on hardware (ours, after
 * section 4). Pure.
 */
#ifndef IE_GOVERNOR_CONTROL_BILLING_H
#define IE_GOVERNOR_CONTROL_BILLING_H

#include <stdbool.h>

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
    /* Accesses that went on to memory; and both in the tick before the window, in which best-effort
     * work was held back as well. NaN: not counted. */
    double alone_misses, shared_misses, warm_reads, warm_misses;
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

/*
 * Whether the container was still filling the cache again in the window, so that what it does there
 * is less than it would do alone: its miss ratio m = misses / reads fell on.
 *
 *     m_warm - m_alone > (m_shared - m_warm) / 2,  and > m_warm / 20
 *
 * A fall that is exponential with the time constant tau, through ticks of T, has the two falls in
 * the ratio k (1 - q) / (1 - k) with q = exp(-T / tau), k = (1 - q) tau / T: 0.5 for tau = 0.376 T.
 * There the window's mean is above the end by 2 % of the whole fall; for tau = T, where the ratio
 * is 1.09, by 23 %. What is less than a twentieth is noise, or so slow a refill that two ticks do
 * not show it. False where a count is not known.
 *
 * Worked, from 0.5 to 0.1: tau = T: 0.5, 0.3528, 0.1930 -> true; tau = 0.2 T: 0.5, 0.1795, 0.1005
 * -> false.
 */
bool control_epoch_refills(const struct control_epoch *epoch);

#endif
