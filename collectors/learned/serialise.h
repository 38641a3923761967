/*
 * How what was learned outlives a restart (exporter/state): for each struct, the walk that writes
 * its fields, or reads them into a zeroed one.
 *
 * What was read and did not fail the walk is something that the struct could have learned: indexes,
 * times and sums are within bounds, so that whatever is computed from it is finite or absent. Where
 * the walk failed, the struct is to be thrown away.
 */
#ifndef IE_COLLECTORS_LEARNED_SERIALISE_H
#define IE_COLLECTORS_LEARNED_SERIALISE_H

#include "collectors/learned/calm.h"
#include "collectors/learned/day_percentile.h"
#include "collectors/learned/hour.h"
#include "collectors/learned/normal.h"
#include "collectors/learned/unloaded.h"
#include "exporter/state/fields.h"

/* A latency above this is none that memory has. */
#define LATENCY_MAX_SECONDS 1e-3

void calm_serialise(struct calm *calm, struct state_fields *fields);
void hour_percentile_serialise(struct hour_percentile *hour, struct state_fields *fields);
void day_percentile_serialise(struct day_percentile *day, struct state_fields *fields);
void rate_peak_serialise(struct rate_peak *peak, struct state_fields *fields);
/* 'max_value': what a window's value can be at most. */
void traffic_fit_serialise(struct traffic_fit *fit, double max_value, struct state_fields *fields);
void normal_serialise(struct normal *normal, struct state_fields *fields);
void unloaded_serialise(struct unloaded *unloaded, struct state_fields *fields);

#endif
