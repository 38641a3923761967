/*
 * Whether latencies can be computed, and what is to be said while they cannot: the decision from
 * the facts alone, so that it stands in one place. Pure.
 */
#ifndef IE_COLLECTORS_CONTRACT_LATENCY_VERDICT_H
#define IE_COLLECTORS_CONTRACT_LATENCY_VERDICT_H

#include "collectors/contract/facts.h"

/* The probe calibrates within a minute or two: 30 bursts. After this long something is wrong. */
static const uint64_t CALIBRATION_OVERDUE_NS = UINT64_C(600) * 1000000000;

/*
 * Turns what a source says of the core group into what holds for latencies:
 * - REASON_UNSUPPORTED_CPU when the base frequency is unknown;
 * - REASON_NOT_CALIBRATED when the calibration is overdue, or can never come and no constant is
 *   known instead;
 * - REASON_OK with words while it is awaited, if there is no latency until then.
 * - REASON_OK with words when the base frequency is in doubt (below).
 * Otherwise the words stay. What the NMI watchdog takes is not what latencies need.
 */
void latency_verdict_refine(const struct facts *facts, struct verdict *verdict);

/* Windows that must say so before the base frequency is in doubt, and how long one must be. */
enum { BASE_DOUBTED_WINDOWS = 10, BASE_WINDOW_NS = 100000000 };
#define BASE_EXCEEDED_RATIO 1.02

/*
 * A free check of the base frequency: a thread that runs is not halted, so reference cycles per
 * running time are what the TSC counts at; less where the hypervisor takes time away, never more.
 * In a virtual machine that moved to a host with another TSC, the guest's clock is scaled and the
 * counter is not: every latency is off by the ratio of the two. Takes a window's counts of a group,
 * which need no scaling; true in the one window that brings the doubt.
 */
bool base_frequency_check(struct facts *facts, uint64_t ref_cycles, uint64_t enabled_ns);

#endif
