/*
 * The collectors that the governor's policies go by, as one, which the rig runs: core_latency and
 * slowdown. Each has its flags' defaults.
 */
#ifndef IE_SIMNODE_CONTROL_MEASURED_H
#define IE_SIMNODE_CONTROL_MEASURED_H

#include "collectors/contract/collector.h"

extern const struct collector_ops measured_collectors;

#endif
