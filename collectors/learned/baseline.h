/*
 * What a container sees when it is left alone: the mean latency of its busy calm windows.
 *
 * Calm as calm.h says; busy so that the baseline is of the container at work, not of a housekeeping
 * thread in it. The mean is over the last hour of such one-second windows. One per container, pure,
 * embedded.
 */
#ifndef IE_COLLECTORS_LEARNED_BASELINE_H
#define IE_COLLECTORS_LEARNED_BASELINE_H

#include "collectors/learned/calm.h"

struct baseline {
    struct calm calm;
    double seconds;
    unsigned windows;
};

/* One window of a container. */
struct baseline_window {
    uint64_t mono_ns;
    double length_seconds;
    double corunner_rate;  /* reads per second of everybody else */
    double node_peak_rate; /* the node's highest ever */
    uint64_t reads;        /* the container's own */
    double cpu_seconds;    /* it ran for so long, at the base frequency */
    bool known;            /* it has a latency */
    double latency_seconds;
};

void baseline_learn(struct baseline *baseline, const struct baseline_window *window);

/* False until enough windows were learned from. */
bool baseline_find(const struct baseline *baseline, double *seconds);

#endif
