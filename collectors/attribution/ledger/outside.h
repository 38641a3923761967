/*
 * Steps of the latency that nobody here made: how often, and what they say of those who are blamed.
 * Internal to the ledger.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_OUTSIDE_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_OUTSIDE_H

#include "collectors/attribution/ledger/ledger.h"

/* Looks for one half a minute ago, when episodes near it have been judged. */
void outside_watch(struct ledger *ledger);

/* What those steps upwards came to that have not ended, log latency. */
double ledger_risen(const struct ledger *ledger);

/*
 * By how much the evidence against a workload is less, ln, after the latency fell by `fall` to what
 * it was before the workload began, while that goes on, and no rise from outside of that size is
 * known to have ended. Either it began by chance as the latency rose from outside, which now ended:
 * such rises last half an hour or so. Or the fall has nothing to do with it: of lambda steps an
 * hour a fifth are such falls, of 0 to 0.25.
 *
 *     ln(2 / (0.2 lambda)) + ln(0.25 / (sd sqrt(2 pi))) - ((fall - effect) / sd)^2 / 2
 *
 * with sd = 0.2 effect; not below 0, and 0 where they differ by more than 2 sd. Worked: half a step
 * an hour, effect and fall 0.26: ln 20 + ln 1.91799 = 3.64701.
 */
double outside_doubt(const struct ledger *ledger, double effect, double fall);

#endif
