/*
 * Which windows are calm: the co-runners read so little that the container had the memory to
 * itself (FORMULAS.md section 3).
 *
 * A window is calm when the co-runners' read rate is in the lowest decile of the sliding hour AND
 * below 10 % of the node's highest rate seen. One struct calm per container; pure, embedded, of
 * bounded size: rates are kept in logarithmic buckets (ratio 2^(1/2)), by ten-minute slices.
 */
#ifndef IE_COLLECTORS_CALM_H
#define IE_COLLECTORS_CALM_H

#include <stdbool.h>
#include <stdint.h>

enum { CALM_BUCKETS = 64, CALM_SLICES = 7, CALM_MIN_WINDOWS = 10 };

struct calm {
    uint16_t count[CALM_SLICES][CALM_BUCKETS];
    uint64_t slice; /* number of the newest ten-minute slice; 0: empty */
};

/*
 * Adds a window to the history and says whether it was calm. Rates in reads per second;
 * node_peak_rate is the node's highest ever. Never calm before CALM_MIN_WINDOWS windows.
 */
bool calm_window(struct calm *calm, uint64_t mono_ns, double corunner_rate, double node_peak_rate);

#endif
