/* The exporter's own metrics: the definitions, for self.c and the reference. */
#ifndef IE_SELF_METRICS_H
#define IE_SELF_METRICS_H

#include "exporter/store/metric.h"

enum self_metric {
    SELF_BUILD,
    SELF_SOURCE,
    SELF_COLLECTOR_AVAILABLE,
    SELF_COLLECTOR_SUCCESS,
    SELF_COLLECTOR_DURATION,
    SELF_COLLECTOR_LAST_SUCCESS,
    SELF_COLLECTOR,
    SELF_TICKS,
    SELF_MISSED_TICKS,
    SELF_LAST_TICK,
    SELF_WINDOWS_DISCARDED,
    SELF_CONTAINERS,
    SELF_CONTAINERS_LIMIT,
    SELF_OPEN_COUNTERS,
    SELF_OPEN_FAILURES,
    SELF_PMU_ENABLED,
    SELF_PMU_RUNNING,
    SELF_RELOAD_SUCCESSFUL,
    SELF_RELOAD_TIME,
    SELF_LOG_DROPPED,
    SELF_ALWAYS, /* what follows can be switched off */
    SELF_HTTP_REQUESTS = SELF_ALWAYS,
    SELF_CPU_SECONDS,
    SELF_OPEN_FDS,
    SELF_MAX_FDS,
    SELF_VIRTUAL_MEMORY,
    SELF_RESIDENT_MEMORY,
    SELF_START_TIME,
    SELF_METRICS
};

extern const struct metric_desc self_descs[SELF_METRICS];

#endif
