/*
 * What a container's memory latency usually is: the 20th percentile of the last 24 hours of its
 * busy windows, each five minutes of them by their mean, once there are ten minutes. Of single
 * windows it would be the lower, the more they scatter. Pure, embedded, of bounded size.
 */
#ifndef IE_COLLECTORS_LEARNED_USUAL_H
#define IE_COLLECTORS_LEARNED_USUAL_H

#include <stdbool.h>
#include <stdint.h>

enum { USUAL_SLICE_SECONDS = 300, USUAL_SLICES = 24 * 3600 / USUAL_SLICE_SECONDS };

/* Zeroed: nothing learned. */
struct usual {
    double seconds;                      /* as of the last whole slice; 0: not known */
    uint64_t newest;                     /* number of the newest slice, from 1; 0: none */
    float length_seconds[USUAL_SLICES];  /* of the windows in [slice % USUAL_SLICES] */
    float latency_seconds[USUAL_SLICES]; /* their mean */
};

/* A busy window whose latency is known, in seconds beyond the caches; any other is ignored. Time
 * that runs backwards counts as now. */
void usual_learn(struct usual *usual, uint64_t mono_ns, double length_seconds,
                 double latency_seconds);

/* Busy time learned from, of the last day, in seconds. */
double usual_time(const struct usual *usual);

/*
 * Whether a calm window of this latency tells what it is like alone. Calm neighbours make nobody
 * slower: whose reads take a quarter longer than usual then has moved, or his memory has.
 */
bool usual_allows_calm(const struct usual *usual, double latency_seconds);

#endif
