/* Tells people what holds of a container now (live.h), and other collectors what is published of
 * its reads (contract/read_latencies.h). */
#ifndef IE_COLLECTORS_CORE_LATENCY_TELL_H
#define IE_COLLECTORS_CORE_LATENCY_TELL_H

#include "collectors/core_latency/lane.h"

void tell_people(const struct core_latency_collector *self, const struct lane *lane);

/* Where somebody wants it: of a busy window, when its limits are known. */
void tell_collectors(const struct core_latency_collector *self, const struct lane *lane,
                     const struct tick *tick);

#endif
