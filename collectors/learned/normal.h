/*
 * What a container's memory latency is on an ordinary day: the measure that thresholds stand on
 * (FORMULAS.md section 1, "a normal for every container").
 *
 * Latencies here are beyond the caches, occupancy / reads / f, so that a change of the core's
 * frequency is no interference. The best basis that is known wins:
 *
 *     calm          the mean of its busy windows in calm ticks, of the last hour of such windows;
 *                   without those that usual_allows_calm() refuses
 *     extrapolated  its latency at no co-runner traffic, from how it follows that traffic; but not
 *                   less than it saw in the calmest tenth of its minutes, for a line may end
 *                   anywhere below what was seen
 *     usual         the 20th percentile of the last 24 hours of its busy windows, each five minutes
 *                   of them by their mean (of single windows it would be the lower, the more they
 *                   scatter), once there are ten minutes of them: not "alone", but a rise against
 *                   it is an incident
 *     machine       what the probe sees in its best twentieth: a lower bound
 *
 * The line may hold in one minute and not in the next. So ten minutes after each other have to
 * agree before extrapolated is taken, or given up; and none counts in which the container waits,
 * for an hour at most: an incident is judged by what was normal when it began.
 *
 * One per container; pure, embedded, of bounded size.
 */
#ifndef IE_COLLECTORS_LEARNED_NORMAL_H
#define IE_COLLECTORS_LEARNED_NORMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/learned/traffic_fit.h"

/* Best first. FILE: from the user's thresholds, better than anything learned. */
enum basis { BASIS_FILE, BASIS_CALM, BASIS_EXTRAPOLATED, BASIS_USUAL, BASIS_MACHINE, BASES };

/* As in the label: "file", "calm", "extrapolated", "usual", "machine". */
const char *basis_name(enum basis basis);

/*
 * The one predicate for baselines, thresholds, time over the threshold and the node's histogram: a
 * window in which the container was at work, so that its latency is not a housekeeping thread's. At
 * least 1000 reads, and a tenth of one CPU.
 */
bool window_is_busy(uint64_t reads, double cpu_seconds, double length_seconds);

enum { USUAL_SLICE_SECONDS = 300, USUAL_SLICES = 24 * 3600 / USUAL_SLICE_SECONDS };

/* Zeroed: nothing learned. */
struct usual {
    double seconds;  /* as of the last whole slice; 0: not known */
    uint64_t newest; /* number of the newest slice, from 1; 0: none */
    double earlier;  /* the length of all others */
    struct usual_slice {
        float length_seconds;  /* of its windows */
        float latency_seconds; /* their mean */
    } at[USUAL_SLICES];        /* at[slice % USUAL_SLICES] */
};

/* A busy window whose latency is known, in seconds beyond the caches; any other is ignored. Time
 * that runs backwards counts as now. */
void usual_learn(struct usual *usual, uint64_t mono_ns, double length_seconds,
                 double latency_seconds);

/* After 'newest' and the slices were set by hand. */
void usual_add_up(struct usual *usual);

/*
 * Whether a calm window of this latency tells what it is like alone. Calm neighbours make nobody
 * slower: whose reads take a quarter longer than usual then has moved, or his memory has.
 */
bool usual_allows_calm(const struct usual *usual, double latency_seconds);

/* Zeroed: nothing learned. */
struct normal {
    unsigned calm_windows;       /* saturating at an hour of them */
    double calm_seconds;         /* their mean */
    double extrapolated_seconds; /* 0: not taken, or not known */
    /* Minutes that spoke for the other of taken and not taken; in which it waited; and windows of
     * this one, of which it waited in so many. */
    uint32_t other_minutes, waited_minutes, windows, waited;
    struct traffic_fit fit;
    struct usual usual;
};

/* A busy window whose latency is known; others are not for here. */
struct normal_window {
    uint64_t mono_ns;
    double length_seconds;
    bool calm;
    bool waits;             /* the latency is above the threshold */
    double latency_seconds; /* beyond the caches */
    bool corunners_known;   /* so are the next; without them, the window is not for the fit */
    enum traffic_measure measure;
    double corunner_rate; /* per second, of everybody else */
    double own_rate;      /* reads per second */
};

void normal_learn(struct normal *normal, const struct normal_window *window);

/*
 * The latency beyond the caches that is normal, and its basis. 'machine_seconds' is the
 * lower bound of basis machine, NaN where it is not known or not this container's; what is
 * extrapolated is not below it by more than its error, in seconds, unless the container itself
 * usually is. NaN: an error that is not known bounds nothing. False until one basis is known.
 */
bool normal_find(const struct normal *normal, double machine_seconds, double machine_error,
                 enum basis *basis, double *seconds);

/* Busy time learned from, of the last day, in seconds. */
double normal_busy_time(const struct normal *normal);

#endif
