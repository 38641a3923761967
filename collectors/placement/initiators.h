/*
 * A window of the core group by the NUMA node of the CPU that read: what a read of memory takes
 * depends on both ends. Pure.
 */
#ifndef IE_COLLECTORS_PLACEMENT_INITIATORS_H
#define IE_COLLECTORS_PLACEMENT_INITIATORS_H

#include <stdbool.h>

#include "collectors/contract/facts.h"
#include "collectors/formulas/placement.h"
#include "collectors/placement/latencies.h"
#include "exporter/source/source_set.h"

struct placement_window {
    bool counted;   /* all that the estimate needs is among the counts */
    bool clockless; /* some CPU read without cycles: no time to give its counts */
    double cpu_seconds;
    /* In seconds of each CPU's own frequency. */
    struct placement_counts of[PLACEMENT_INITIATORS];
};

/* Of a window that was not reset. CPUs that starved count nothing. */
void placement_window_take(const struct group_window *window, const struct facts *facts,
                           struct placement_window *out);

#endif
