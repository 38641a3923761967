/* Tells other collectors what is published of a container's reads (contract/read_latencies.h). */
#ifndef IE_COLLECTORS_CORE_LATENCY_TELL_H
#define IE_COLLECTORS_CORE_LATENCY_TELL_H

#include "collectors/core_latency/limits.h"
#include "collectors/formulas/core_latency.h"
#include "collectors/parts/core_lane.h"

/* Tells the latency of a busy window with so many reads, once its limits are known; nothing if no
 * collector has asked for it. */
void tell_reads(const struct collector_env *env, const struct core_lane *lane,
                const struct limits *limits, const struct core_latency *estimate, uint64_t reads,
                const struct tick *tick);

/* Clears what was told: the container is forgotten. */
void tell_gone(const struct collector_env *env, const struct core_lane *lane);

#endif
