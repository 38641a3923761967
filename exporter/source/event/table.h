/*
 * How one microarchitecture counts roles: text for encode_event(). The tables are in
 * collectors/events/; a role without text cannot be counted on that CPU.
 */
#ifndef IE_SOURCE_EVENT_TABLE_H
#define IE_SOURCE_EVENT_TABLE_H

#include <stdbool.h>

#include "exporter/source/role.h"

enum { EVENT_TABLE_MAX_CHANNELS = 2 };

struct event_table {
    const char *microarchitecture;
    const char *models;      /* for people, likewise for the generated page */
    const char *known_error; /* of its latency, and where from; for the generated page */
    /* What a kernel that knows this CPU's constraints calls its PMU (caps/pmu_name). Others count
     * some events on counters that cannot: they stay 0. None: every counter counts every event. */
    const char *pmu_names[2];
    double cache_cycles; /* c_cache before calibration; 0: must be calibrated */
    /* c_cache's part in the core (its L1 and L2), where the rest is the uncore's and calibrated in
     * seconds; 0: c_cache is one part, in cycles */
    double cache_core_cycles;
    double llc_hit_cycles; /* 0: not known */
    /* What a load takes that hits the L1, where latencies come from the group of fills, or of loads
     * in flight; else 0. */
    double l1d_hit_cycles;
    bool l1d_hits_in_flight; /* the latter: what is in flight includes them */
    /* ref_cycles are nanoseconds of the kernel's clock: no counter's frequency is known. */
    bool ref_is_time;
    /* With hyper-threading; for the tests that groups fit. Cycles, ref_cycles and instructions have
     * counters of their own, but for AMD's CPUs; on Arm's cycles have. */
    int general_counters;
    bool no_fixed_counters;
    /* The kernel's names for what nearly all CPUs count: no verified table. */
    bool generic;
    const char *event[ROLE_COUNT];
    /* Uncore roles; "NAME" of the pmu is filled in per unit. "A + B" is the sum of two events,
     * which takes two counters. 'channels' is into how many groups a unit's counts are divided,
     * where a box has too few counters for one. */
    int channels;
    const char *uncore_event[EVENT_TABLE_MAX_CHANNELS][ROLE_COUNT];
};

#endif
