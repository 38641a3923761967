/*
 * A window's prediction for each target (formulas/placement.h), and what people are shown of it.
 * Loop thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_ESTIMATE_H
#define IE_COLLECTORS_PLACEMENT_ESTIMATE_H

#include "collectors/contract/collector.h"
#include "collectors/placement/blind.h"
#include "collectors/placement/initiators.h"
#include "collectors/placement/series.h"
#include "collectors/placement/where.h"

struct placement_estimate {
    double serial_reads, cpu_seconds;
    double occupancy_seconds, active_seconds;
    double predicted_seconds[PLACEMENT_TARGETS]; /* of known targets */
};

/* What it rests on, beside the window. */
struct placement_basis {
    const struct placement_latencies *latencies;
    const struct machine *machine;
    const struct placement_mix *mix; /* of the container */
};

/*
 * DISCARD_COUNT: nothing is wrong with the window, and *known says whether there is an estimate:
 * without calibrated caches there is none. Initiators without latencies are told to 'blind'.
 */
enum discard_reason placement_estimate_make(const struct placement_basis *basis,
                                            const struct placement_window *window,
                                            struct placement_blind *blind,
                                            struct placement_estimate *out, bool *known);

void placement_estimate_add(const struct placement_estimate *estimate,
                            const struct placement_latencies *latencies,
                            struct placement_totals *totals);

/* Puts parallelism, and each target's ratio with its bounds if half of the memory moved, into the
 * container's live values. Of a window without CPU time nothing. */
void placement_estimate_tell(const struct placement_estimate *estimate,
                             const struct placement_latencies *latencies, struct live *live,
                             const struct container *container);

#endif
