/*
 * From the readings of the groups waits and bounds to what the formulas take.
 */
#ifndef IE_COLLECTORS_LOST_TIME_READING_H
#define IE_COLLECTORS_LOST_TIME_READING_H

#include "collectors/formulas/lost_time.h"
#include "exporter/source/source_set.h"

/* What it may have; NaN: not known, or no limit. */
struct lost_bounds {
    double entitled_cpus, quota_cpus, memory_bytes, memory_limit_bytes;
    uint64_t cpu_set; /* all ones: any, as far as is known */
};

void lost_bounds_init(struct lost_bounds *bounds);
/* A reading of the group bounds. */
void lost_bounds_take(struct lost_bounds *bounds, const struct reading *reading);

/* A window of the group waits, of so many seconds. What others do, slow reads, and delays as they
 * are counted are not known from it. */
void lost_window_take(struct lost_window *out, const struct window_sum *sum, double seconds,
                      const struct lost_bounds *bounds);

#endif
