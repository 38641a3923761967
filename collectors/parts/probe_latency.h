/*
 * What a tick's bursts of the memory probe say together.
 *
 * The median: where CPUs are busy a burst is off by a third now and then, and three such bursts
 * seldom have two of them.
 */
#ifndef IE_COLLECTORS_PARTS_PROBE_LATENCY_H
#define IE_COLLECTORS_PARTS_PROBE_LATENCY_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/source/source.h"

/* Median latency of the bursts from one NUMA node to the memory of another; the mean of the middle
 * two of an even number. False: there is none. */
bool probe_latency(const struct probe_reading *bursts, size_t n, int initiator, int target,
                   double *seconds);

/* Whether bursts[i] is the first of its initiator and target. */
bool probe_latency_is_first(const struct probe_reading *bursts, size_t i);

#endif
