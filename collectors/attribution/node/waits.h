/*
 * Who makes whom wait for a node's memory: shares of what the victims wait in a tick
 * (ATTRIBUTION.md section 6, formulas/attribution.h).
 *
 * A victim beside whom all others together add less than 3 % to the latency waits for itself: that
 * is less than can be told from noise.
 *
 * Pairs are of rank one, and all of them are never made: the ten largest are among the eleven
 * heaviest aggressors and the eleven victims who are charged most. Pure, embedded.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_WAITS_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_WAITS_H

#include <stddef.h>

#include "collectors/formulas/attribution.h"

enum { WAITS_PAIRS = 10, WAITS_TOP = WAITS_PAIRS + 1 };

/* Why it is not known. */
enum waits_state {
    WAITS_BY_CPU_TIME, /* traffic is not counted */
    WAITS_NO_SLOPE,    /* the latency does not follow all traffic together, or not yet */
    WAITS_UNSEEN,      /* containers' traffic is not counted, and the total is not known either */
    WAITS_MISSING,     /* too much of the traffic was not read in this tick */
    WAITS_NO_LATENCY,  /* core_latency did not collect in this tick */
    WAITS_KNOWN,
};

/* In words, for people; NULL: it is known. */
const char *waits_why_not(enum waits_state state);

/* The largest, the first of equals; in no order. */
struct waits_top {
    unsigned n;
    struct {
        size_t slot;
        double value;
    } at[WAITS_TOP];
};

/* Of a node. Zeroed: nothing yet. */
struct waits {
    enum waits_state state;
    /* Where it is known. */
    unsigned victims;  /* whose excess is known, 0 included */
    unsigned learning; /* whose baseline is not known, so that they are none */
    struct attribution_sums sums;
    double seconds; /* that the victims' reads waited for others: the excess of all of them */
    struct waits_top aggressors, burdened;

    /* What the host makes others wait, with the containers that are not counted; 0 where its
     * traffic is not known. */
    double host_seconds;

    struct attribution_traffic host; /* waits for nobody */
    struct attribution_traffic *all; /* by the container's slot */
    size_t n;
};

/* For slots below n: 0 or -ENOMEM. */
int waits_reserve(struct waits *waits, size_t n);
void waits_release(struct waits *waits);

/* What the tick's weights, reads and excess in 'all' and 'host' make of it. */
void waits_share(struct waits *waits);

#endif
