/*
 * A machine whose memory a test makes slow: containers with CPU time by CPU, a probe on CPU 0, and
 * a latency that follows whom the test wants, with noise that is the same in every run.
 */
#ifndef IE_TESTS_INTERFERENCE_RIG_H
#define IE_TESTS_INTERFERENCE_RIG_H

#include <jansson.h>

#include "exporter/state/state.h"
#include "tests/unit/support/collector_rig.h"

#define CAUSED "interference_container_caused_latency_current_seconds"
#define UNCERTAINTY "interference_container_caused_latency_uncertainty_seconds"
#define CAUSED_TOTAL "interference_container_caused_latency_seconds"
#define EXCESS "interference_memory_excess_latency_current_seconds"
#define EXCESS_TOTAL "interference_memory_excess_latency_seconds"
#define READINGS "interference_memory_attribution_readings"
#define CANDIDATES "interference_memory_attribution_candidates"

enum { INTERFERENCE_RIG_CPUS = 4 };

/* Runs, with a probe thread on CPU 0 of node 0, and counts CPU time by the group activity only. */
int interference_setup(void **state);
/* The same with a flag, and on a machine that lacks some groups, bit by bit. */
int interference_setup_with(void **state, const char *flag, uint32_t lacks);
/* On a machine on which others may have made monitoring groups. */
int interference_setup_with_groups(void **state);

/* The CPU time of this one is known from the group activity only. */
void interference_clocks(struct rig *rig, const char *name);
/* Such a container. */
struct container *interference_container(struct rig *rig, const char *name);
/* It, or "host", runs on a CPU for a part of the next second (or longer than that). */
void interference_run(struct rig *rig, const char *name, int cpu, double seconds);
/* A burst of node 0, or another one, to its own memory. */
void interference_burst(struct rig *rig, int node, double latency_ns);
/* 1 with a standard deviation of about `sd`. */
double interference_noise(double sd);
/* A burst of node 0 to its own memory, and the tick of it, in which nothing fails. */
void interference_tick(struct rig *rig, double latency_ns);
/* On for `on` ticks, off for `off`, from this tick of its period on: 0 or 1. */
double interference_square(uint64_t tick, unsigned on, unsigned off, unsigned shift);

/* What the collector keeps across a restart, for state_free(); one byte of it is changed by
 * `damage`: the exponent of its last number but one. */
struct state *interference_saved(struct rig *rig, uint8_t damage);
/* Another exporter on the same machine that begins with it, in the same tick; flag NULL: none. To
 * be started. */
void interference_again(struct rig *after, const struct rig *before, struct state *saved,
                        const char *flag);

/* The page's first domain, or another; a new reference of the page in *root. */
json_t *interference_page(struct rig *rig, size_t domain, json_t **root);
double interference_number(const json_t *object, const char *key);
/* Whether the page says this word of the first domain, under this key. */
bool interference_says(struct rig *rig, const char *key, const char *word);
/* How many the first domain's list of this name has. */
size_t interference_count(struct rig *rig, const char *list);

#endif
