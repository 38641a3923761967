/*
 * When ticks are due: drift-free, with missed ones counted. Pure; time comes in.
 *
 * Tick n is due at start + n * interval, whenever tick n - 1 really ran. A tick that comes so late
 * that the next ones are due as well swallows them: they count as missed.
 */
#ifndef IE_SERVICE_TICKER_H
#define IE_SERVICE_TICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/base/tick.h"

struct ticker {
    uint64_t interval_ns;
    uint64_t due_ns; /* CLOCK_MONOTONIC of the next tick */
    uint64_t number; /* of the last tick taken */
    uint64_t missed;
};

/* The first tick is due one interval after now_ns. */
void ticker_init(struct ticker *ticker, uint64_t interval_ns, uint64_t now_ns);

/* False when no tick is due yet. Otherwise *out is the tick, and the next one is due later than
 * now. */
bool ticker_take(struct ticker *ticker, uint64_t now_ns, uint64_t wall_ns, struct tick *out);

#endif
