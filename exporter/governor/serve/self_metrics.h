/*
 * The governor's metrics: definitions, and what brings them up to date. One thread.
 */
#ifndef IE_GOVERNOR_SELF_METRICS_H
#define IE_GOVERNOR_SELF_METRICS_H

#include "exporter/governor/decide/governor.h"
#include "exporter/store/store.h"

enum governor_metric {
    GOVERNOR_BUILD,
    GOVERNOR_MODE,
    GOVERNOR_EXPORTER_UP,
    GOVERNOR_DATA_AGE,
    GOVERNOR_TICKS,
    GOVERNOR_TICK_DURATION,
    GOVERNOR_RELOAD_SUCCESSFUL,
    GOVERNOR_POLICY_ACTIVE,
    GOVERNOR_DECISIONS,
    GOVERNOR_CLAIMS,
    GOVERNOR_YIELDED,
    GOVERNOR_ERRORS,
    GOVERNOR_FOREIGN,
    GOVERNOR_DEAD_MAN,
    GOVERNOR_RELEASED,
    GOVERNOR_CULPRITS_CHOSEN,
    GOVERNOR_FUTILE,
    GOVERNOR_CALIBRATING,
    GOVERNOR_CALIBRATIONS,
    GOVERNOR_BOUND_MISSED,
    GOVERNOR_LIMIT_HITS,
    GOVERNOR_ADVICE_HOLD,
    GOVERNOR_ADVICE_SLOWDOWN,
    GOVERNOR_NVMM_WRITERS,
    GOVERNOR_NVMM_EXPIRY,
    GOVERNOR_JOURNAL_ERRORS,
    GOVERNOR_JOURNAL_OPEN,
    GOVERNOR_RESTORES,
    GOVERNOR_QUOTA,
    GOVERNOR_QUOTA_ORIGINAL,
    GOVERNOR_CONTAINER_WAYS,
    GOVERNOR_CONTAINER_MBA,
    GOVERNOR_CONTAINER_THREADS,
    GOVERNOR_SLOWDOWN,
    GOVERNOR_CPU_SECONDS,
    GOVERNOR_OPEN_FDS,
    GOVERNOR_MAX_FDS,
    GOVERNOR_VIRTUAL_MEMORY,
    GOVERNOR_RESIDENT_MEMORY,
    GOVERNOR_START_TIME,
    GOVERNOR_METRICS
};
extern const struct metric_desc governor_descs[GOVERNOR_METRICS];

struct governor_metrics;

/* Every value of every label is there with 0. 0 or -errno. The store must outlive it. */
int governor_metrics_new(struct store *store, struct governor_metrics **out);
void governor_metrics_free(struct governor_metrics *metrics);

struct governor_facts {
    struct governor_state state;
    bool exporter_up, reload_successful;
    double tick_seconds; /* spent in ticks since the start */
    uint64_t now_ns;
};
/* Before publishing. A claim that comes or goes allocates; if that fails it is not shown. */
void governor_metrics_update(struct governor_metrics *metrics, const struct governor_facts *facts);

/* Those of single containers: series come with a container that is restricted, or whose slowdown
 * was measured, and go with it. The store owns them. */
struct container_series;

/* 'families', by enum governor_metric, are borrowed. -ENOMEM. */
int container_series_new(struct family *const *families, struct container_series **out);
/* Accepts NULL. */
void container_series_free(struct container_series *all);
void container_series_update(struct container_series *all, const struct governor_state *state);

#endif
