/*
 * Which windows are calm: the co-runners moved so little that the container had the memory to
 * itself (FORMULAS.md section 3). What is measured of them says parts/node_traffic.h.
 *
 * Calm windows fall into an idle machine's phases, in which the uncore clocks down: what is learned
 * from them may be too long, and a threshold made of it too lax. This is not corrected.
 *
 * A window is calm when the co-runners' rate is in the lowest decile of the sliding hour AND
 * below 10 % of the node's high rate. One struct calm per container; pure, embedded, of
 * bounded size: rates are kept in logarithmic buckets (ratio 2^(1/2)).
 */
#ifndef IE_COLLECTORS_LEARNED_CALM_H
#define IE_COLLECTORS_LEARNED_CALM_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/learned/hour.h"
#include "collectors/learned/traffic_fit.h"

/* Buckets: 0 is everything below 16 a second, which is nothing; i begins at 2^(4 + (i - 1)/2); the
 * last is open (2^35 lines a second are 2 TB/s). */
enum { CALM_BUCKETS = 64, CALM_MIN_WINDOWS = 10 };

/* Zeroed: no history. */
struct calm {
    struct slices slices;
    uint32_t measure;                     /* enum traffic_measure */
    uint16_t count[SLICES][CALM_BUCKETS]; /* windows */
};

/* What the rates from here on are measured by; another measure begins an empty history. */
void calm_measured_by(struct calm *calm, enum traffic_measure measure);

/*
 * Adds a window to the history and says whether it was calm. Rates per second;
 * node_peak_rate is the high rate of the node, or of the container's sockets
 * (parts/node_traffic.h).
 *
 * Lowest decile: fewer than a tenth of the hour's windows, this one included, lie in lower buckets;
 * so windows that differ by less than a bucket are calm together. Below 10 % of the peak: strictly,
 * but a rate of 0 always is, also on a node that never read. Never calm before CALM_MIN_WINDOWS
 * windows are in the hour (the tenth may be). Time that runs backwards counts as now; a rate that
 * is negative or not finite is not calm and not remembered.
 */
bool calm_window(struct calm *calm, uint64_t mono_ns, double corunner_rate, double node_peak_rate);

#endif
