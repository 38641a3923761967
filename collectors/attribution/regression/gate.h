/*
 * Who may be named (ATTRIBUTION.md section 2, "Gate"): never one for whom a coincidence, a
 * neighbour that moves alike, or noise would do as well.
 *
 * During learning all candidates are unknown. Correlation is looked at between candidates only, not
 * with the rest. A group has at least two members.
 *
 * Nor is one named who may only be waiting (ours, not in ATTRIBUTION.md): a service with a steady
 * load needs more CPU time while somebody outside of the node slows memory down, and then looks
 * like the cause. Its time grows by no more than the latency does. So the logarithm of activity
 * over the lowest of half an hour must be config.growth times S, the effect of all candidates, at
 * least, and so must the slope of activity over its lowest on the logarithm of latency be; of a
 * group, that of one member. Who comes near that is listed with the suspects, as one who may only
 * be waiting. The 0 before a container came counts as its lowest for some minutes only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_REGRESSION_GATE_H
#define IE_COLLECTORS_ATTRIBUTION_REGRESSION_GATE_H

#include "collectors/attribution/regression/domain.h"

/* Fills se, score, sd_ns, state and group of all candidates and the groups of the domain, from its
 * coefficients and the w of this tick. */
void gate_judge(struct attribution_domain *domain);

/* One standard deviation of what somebody causes, from that of the effect: log latency, of which a
 * unit is so many nanoseconds. The model's own error is in it. */
double gate_sd_ns(double sd_effect, double per_effect, double caused_ns);

/*
 * What is said of a node. The first that holds, in this order: who is named is said, even where the
 * calm latency (NaN: not known, then nothing is calm) has moved up to the present one in a node
 * that is hurt all the time; a suspicion without anything to explain is not.
 */
enum gate_domain_state {
    GATE_LEARNING,
    GATE_NAMED,
    GATE_GROUP,
    GATE_CALM, /* less than 3 % of the latency is above the calm one */
    GATE_SUSPECTED,
    GATE_UNKNOWN,
    GATE_STATES
};

#endif
