/*
 * Memory controllers and L3s: which there are, and their events.
 */
#ifndef IE_SOURCE_PERF_UNIT_H
#define IE_SOURCE_PERF_UNIT_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/source/event/encode.h"
#include "exporter/source/machine.h"
#include "exporter/source/perf/cpus.h"
#include "exporter/source/perf/group.h"

/*
 * The memory controllers that sysfs shows: one unit per uncore_imc_<n> or amd_umc_<n> and CPU of
 * its cpumask (one per die, which mostly is one per socket), in that order; then the L3s.
 * Stores up to 'cap' of them, and their full number in *n. 0 or -errno; none is not an error.
 *
 * A scope of such a unit names a channel: one of the groups that its counts are
 * divided into. Opening one that the CPU does not have gives
 * -ENODEV, so callers open channels 0, 1, ... until then.
 */
int perf_units(const struct fsroot *fs, struct source_unit *out, size_t cap, size_t *n);

/* Whether the units of the group's kind can be counted here. */
int perf_unit_check(struct perf_context *context, const struct perf_cpus *cpus, enum group group,
                    struct verdict *why);

/* The events of one channel of a unit by slot (group.h), and the CPU to open them on. */
struct perf_unit_events {
    struct encoded_event event[GROUP_MAX_ROLES];
    uint32_t mask;
    size_t summands;
    size_t summand_of[PERF_SUMMANDS]; /* roles */
    int cpu;
};

/* 0; -ENODEV when there is no such channel; other -errno. Release also on failure. */
int perf_unit_events_init(struct perf_unit_events *events, const struct perf_context *context,
                          const struct perf_cpus *cpus, const struct source_unit *unit,
                          enum group group, int channel, struct verdict *why);
void perf_unit_events_release(struct perf_unit_events *events);
/* The same events as those who open them want them; borrowed. */
void perf_unit_events_of(const struct perf_unit_events *events,
                         const struct encoded_event *by_slot[GROUP_MAX_ROLES]);

#endif
