/*
 * Truth of attribution: how much of a container's latency each of the others causes, as the Shapley
 * value of runs of every subset of the containers.
 */
#ifndef IE_SIMNODE_RECORDING_CAUSED_H
#define IE_SIMNODE_RECORDING_CAUSED_H

#include <stdint.h>

#include "tests/simnode/scenario/scenario.h"

struct caused;

/* Makes the runs: each of 10 million cycles, without pauses, starts and ends. The scenario is
 * borrowed. 0 or -errno; -E2BIG: more than SCENARIO_MAX_CAUSED containers. */
int caused_new(const struct scenario *scenario, struct caused **out);
void caused_free(struct caused *caused);

/* Nanoseconds of the victim's mean latency, by container, with those of 'there' running (bit i:
 * container i; the victim among them): sums to its latency with them less its latency alone. False:
 * it has hardly any reads, alone or with them. */
bool caused_ns(const struct caused *caused, size_t victim, uint32_t there, double *out);

#endif
