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
 * Otherwise the words stay. What the NMI watchdog takes is not what latencies need.
 */
void latency_verdict_refine(const struct facts *facts, struct verdict *verdict);

#endif
