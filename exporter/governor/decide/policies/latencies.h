/*
 * A container's memory latency over several ticks.
 *
 * A latency is time over reads (collectors/formulas), hence the one of several ticks is their mean
 * by reads. Where reads are not counted it is the newest. One thread.
 */
#ifndef IE_GOVERNOR_LATENCIES_H
#define IE_GOVERNOR_LATENCIES_H

#include <math.h>

#include "exporter/governor/see/view.h"

struct latencies {
    double counted;              /* reads by the last tick; NaN: not known */
    double reads, reads_latency; /* of ticks with both */
    double last;                 /* seconds; NaN: none */
    unsigned n;                  /* ticks with a latency */
};

#define LATENCIES_INIT                                                                             \
    {                                                                                              \
        .counted = NAN, .last = NAN                                                                \
    }

/* A tick. */
void latencies_add(struct latencies *latencies, const struct view_container *container);
/* Of the ticks since the last end, seconds; NaN: none. Of one tick it is that one's. */
double latencies_end(struct latencies *latencies);

#endif
