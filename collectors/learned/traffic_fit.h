/*
 * What a container's memory latency would be without its co-runners' traffic, from how it follows
 * that traffic: for nodes that are never calm (FORMULAS.md section 1, basis "extrapolated").
 *
 *     latency = a + b * corunner_rate + c * (own_rate - typical own_rate)
 *
 * a is the answer: no co-runners, its own load as usual. c is not below 0: who waits longer reads
 * less, and that says nothing of what its own load costs. The fit is by Huber's weights over the
 * mean of each minute of the last two hours. It is used only where it can be trusted: the
 * co-runners' traffic varied by a factor of three, and was between its ends, too: one neighbour
 * that steps once is two crowds, and whatever else it did, or happened then, is in their
 * difference; the line holds near its low end as well (latency bends upwards near the memory's
 * limit), and the standard error of a is at most 5 % of a, neighbouring minutes being alike taken
 * into account.
 *
 * Where the co-runners' rate is that of the memory controllers' lines, the container's own
 * prefetches and writes are in it (parts/node_traffic.h): a is then too low, by what these add to
 * its latency.
 *
 * Of the share of cache accesses that miss, the same: what co-runners read takes the place of lines
 * in the cache. own_rate is the rate of accesses then.
 *
 * Pure, embedded, of bounded size.
 */
#ifndef IE_COLLECTORS_LEARNED_TRAFFIC_FIT_H
#define IE_COLLECTORS_LEARNED_TRAFFIC_FIT_H

#include <stdbool.h>
#include <stdint.h>

/* What co-runners' traffic is measured by (parts/node_traffic.h). What was learned by one measure
 * says nothing about the other: its owner begins anew. */
enum traffic_measure {
    TRAFFIC_READS,            /* demand reads of the monitored containers, on the node */
    TRAFFIC_READS_OF_SOCKETS, /* on the container's sockets */
    TRAFFIC_LINES,            /* what the memory controllers moved, on the node */
    TRAFFIC_LINES_OF_SOCKETS,
    TRAFFIC_MEASURES
};

enum { TRAFFIC_FIT_MINUTES = 120, TRAFFIC_FIT_MIN_MINUTES = 20 };

struct traffic_minute {
    uint32_t minute; /* number of the minute, from 1; 0: empty */
    float value, corunner_rate, own_rate;
};

/* Zeroed: empty. */
struct traffic_fit {
    uint64_t minute;                               /* the one being summed */
    unsigned windows;                              /* of it */
    uint32_t measure;                              /* enum traffic_measure */
    double value, corunner_rate, own_rate;         /* sums over these windows */
    struct traffic_minute at[TRAFFIC_FIT_MINUTES]; /* at[minute % TRAFFIC_FIT_MINUTES] */
};

/* What the co-runners' rates from here on are measured by. Another measure begins an empty fit:
 * true, and what was found by it is of no use any more. */
bool traffic_fit_measured_by(struct traffic_fit *fit, enum traffic_measure measure);

/* Adds a busy window with a known latency in seconds, or with a known share; rates per second.
 * True when a minute was completed, so that a new fit may say something new. */
bool traffic_fit_add(struct traffic_fit *fit, uint64_t mono_ns, double value, double corunner_rate,
                     double own_rate);

/* The latency without co-runners, in seconds; NaN where it cannot be trusted. Takes some ten
 * microseconds: for once a minute. */
double traffic_fit_alone_seconds(const struct traffic_fit *fit, uint64_t mono_ns);

/* The latency in the calmest tenth of these minutes, three at least, by the co-runners' traffic:
 * what was seen, where the line is what was not. NaN: too few minutes. */
double traffic_fit_calmest_seconds(const struct traffic_fit *fit, uint64_t mono_ns);

/*
 * The same of a share, 0 to 1, as of cache accesses that miss. It may well be 0 without co-runners,
 * so its error is measured by the mean share: by what is divided into one's own and theirs.
 */
double traffic_fit_alone_share(const struct traffic_fit *fit, uint64_t mono_ns);

#endif
