/*
 * What a container sees when it is left alone: the mean latency of its busy calm windows.
 *
 * Whether a window is calm is what calm.h says; busy, so that the baseline is of the container at
 * work, not of a housekeeping thread in it. The mean is over the last hour of such one-second
 * windows. One per container, pure, embedded.
 */
#ifndef IE_COLLECTORS_LEARNED_BASELINE_H
#define IE_COLLECTORS_LEARNED_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing learned. */
struct baseline {
    double seconds;
    unsigned windows;
};

/* One window of a container. */
struct baseline_window {
    bool calm;
    double length_seconds;
    uint64_t reads;     /* the container's own */
    double cpu_seconds; /* for which it ran, at the base frequency */
    bool known;         /* it has a latency */
    double latency_seconds;
};

void baseline_learn(struct baseline *baseline, const struct baseline_window *window);

/* False until enough windows were learned from. */
bool baseline_find(const struct baseline *baseline, double *seconds);

#endif
