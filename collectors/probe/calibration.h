/*
 * What the probe's bursts tell about the machine: the cost of a look through the caches (c_cache,
 * FORMULAS.md section 1, "Calibration"), and the time of a hit in the last-level cache.
 *
 * Both want measurements during which neighbours did nothing, and can tell them by their being
 * short: neighbours only ever make them longer. Pure, embedded.
 */
#ifndef IE_COLLECTORS_PROBE_CALIBRATION_H
#define IE_COLLECTORS_PROBE_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/state/fields.h"

/* Bursts of a NUMA node onto its own memory that calibrate; of these, the ones with the lowest
 * latency count as idle. */
enum { CALIBRATION_BURSTS = 30, CALIBRATION_IDLE = 10 };
/* Times of hits before one of them counts. */
enum { CALIBRATION_HITS = 8 };

/* Zeroed: no burst so far. */
struct cache_calibration {
    struct {
        double latency_seconds, cache;
    } burst[CALIBRATION_BURSTS];
    size_t n;
};

/* One more burst: the latency it measured and the c_cache that explains it, in cycles or,
 * where only its part outside the core is calibrated, in seconds: always the same of the two. True
 * for the last one needed, with the median of the idle bursts; false before and after it. */
bool cache_calibration_add(struct cache_calibration *calibration, double latency_seconds,
                           double cache, double *out);

/* Zeroed: no hit so far. */
struct hit_calibration {
    double lowest[2]; /* seconds, ascending */
    size_t n;
};

/* One more time of a hit. True once there are enough, with the second lowest so far. */
bool hit_calibration_add(struct hit_calibration *calibration, double seconds, double *out);

/* Across a restart, as collectors/learned/serialise.h says. */
void hit_calibration_serialise(struct hit_calibration *calibration, struct state_fields *fields);

#endif
