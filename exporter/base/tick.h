/* One turn of the loop: an immutable value, passed down the whole flow. */
#ifndef IE_BASE_TICK_H
#define IE_BASE_TICK_H

#include <stdint.h>

struct tick {
    uint64_t number;      /* 1 for the first; 0 means "before the first tick" */
    uint64_t mono_ns;     /* CLOCK_MONOTONIC, or the recording's clock under replay */
    uint64_t wall_ns;     /* CLOCK_REALTIME since the epoch */
    uint64_t interval_ns; /* the nominal distance between ticks */
};

#endif
