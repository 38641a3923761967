/*
 * The governor over given knobs and documents: without HTTP, signals and a clock.
 */
#ifndef IE_SIMNODE_CONTROL_SIM_GOVERNOR_H
#define IE_SIMNODE_CONTROL_SIM_GOVERNOR_H

#include "exporter/governor/act/restore.h"

struct sim_governor;

/* 'policies': of its configuration, JSON, all but exporter, mode and state_directory, which are its
 * own. The actuators are borrowed. 0, or -errno said on stderr. */
int sim_governor_new(const char *policies, const struct actuators *actuators, uint64_t now_ns,
                     struct sim_governor **out);
/* Lets everything go first. Accepts NULL. */
void sim_governor_free(struct sim_governor *governor);

/* With the files in it. */
void sim_governor_remove_folder(const char *path);

/* A document of the exporter's, just made. 0, or -errno said on stderr. */
int sim_governor_take(struct sim_governor *governor, const char *text, size_t len, uint64_t now_ns,
                      uint64_t wall_ns);

/* Its document of who stores to persistent memory, for the next take. 0, or -errno said on stderr.
 */
int sim_governor_take_writers(struct sim_governor *governor, const char *text, size_t len);

/* Changes that were made so far. */
uint64_t sim_governor_changes(const struct sim_governor *governor);
/* The latency that it learned of a container by holding best effort; NaN: none yet. */
double sim_governor_learned(const struct sim_governor *governor, const char *container);
/* How slow its epochs say that a container is, by its name; NaN: nothing yet. */
double sim_governor_slowdown(const struct sim_governor *governor, const char *container);
/* Steps so far in which a bound was not kept and nothing was left to take. */
uint64_t sim_governor_missed(const struct sim_governor *governor);

#endif
