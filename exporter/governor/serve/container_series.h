/*
 * The governor's metrics of single containers: their series come with a container that is turned
 * down, or whose slowdown was measured, and go with it.
 */
#ifndef IE_GOVERNOR_CONTAINER_SERIES_H
#define IE_GOVERNOR_CONTAINER_SERIES_H

#include "exporter/governor/serve/self_metrics.h"

struct container_series;

/* 'families', by enum governor_metric, are borrowed. -ENOMEM. */
int container_series_new(struct family *const *families, struct container_series **out);
/* The series themselves are the store's. NULL is fine. */
void container_series_free(struct container_series *all);

/* As self_metrics.h: where the store publishes. */
void container_series_update(struct container_series *all, const struct governor_state *state);

#endif
