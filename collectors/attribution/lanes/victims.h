/*
 * Who waited for a node's memory in a tick, where traffic and latencies are counted.
 *
 * A victim's excess is what core_latency publishes: a read's latency in the window above the
 * container's own baseline. All others are charged with it by their traffic there, each times its
 * slope: its own one where it is a candidate that was solved for, else that of all traffic. What
 * the victim's own traffic does is in its baseline, or is nobody else's fault. The host is charged
 * as a container is, with the slope of all traffic, and with it the containers that are not
 * counted: where its traffic is known.
 *
 * Not a victim is a container
 * - whose window is not busy, or whose baseline is not known, or a lower bound only;
 * - whose own traffic is not known;
 * - that has another one inside of it that is counted: most of its reads are that one's.
 *
 * Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_VICTIMS_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_VICTIMS_H

#include "collectors/attribution/lanes/lane.h"

/* A tick of all nodes, when rates are shared and before readings are taken. Adds to the counters of
 * those who have one; wants to reconcile where somebody should get one. Allocates nothing. */
void victims_take(struct attribution_context *self, const struct lanes *lanes,
                  const struct tick *tick);

/* Makes the counter of each container whose effect is known and that has names; for reconcile. */
void victims_make_series(struct attribution_context *self, const struct lanes *lanes);

#endif
