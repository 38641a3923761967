/*
 * What each container did itself in a tick, without the containers inside it, and what the host did
 * without all containers.
 *
 * The kernel counts a container's descendants along with it. Two candidates of which one includes
 * the other move together and could never be told apart; what each of them does itself is neither
 * counted twice nor lost. A container whose own part is not known, since the time of one inside of
 * it was not read, is absent in that tick. For the host's part it is taken to do what it did when
 * it was read last: of hundreds there is mostly one that is not. Only where that is much of what
 * the machine did is the host absent, too. Containers that cannot be counted at all, or never were,
 * are a part of what they lie in, or of the host. Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_RATES_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_RATES_H

#include "collectors/attribution/lanes/lane.h"

/* The rates of all seats of all nodes, when all lanes are read. */
void rates_share(const struct attribution_context *self, const struct lanes *lanes);

/* What each read in this tick, as core_latency counted it: nothing, where all are counted and it
 * was not busy. */
void rates_reads(const struct attribution_context *self, const struct tick *tick);

/* What the machine did less what the containers did, by node: never below 0. False: not known. */
bool rates_host(const struct attribution_context *self, const struct lanes *lanes,
                const struct activity *machine, double out[ATTRIBUTION_NODES]);

/* How much of the node's CPUs beside the probe's the machine used; NaN: they are not known. */
double rates_busy_share(const struct attribution_context *self, const struct activity *machine,
                        size_t node);

#endif
