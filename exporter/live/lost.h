/*
 * Where a container's time went, as it is told to people: with the figures of the sentence.
 */
#ifndef IE_LIVE_LOST_H
#define IE_LIVE_LOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/loss.h"

enum { LIVE_TAKERS = 3 };

/* NaN: not known; shares are of the time of the last windows. */
struct live_lost {
    bool told;                 /* somebody looks for it */
    bool judged;               /* for long enough, and enough of it is known, to say 'cause' */
    enum loss cause;           /* that costs most; LOSSES: none */
    double per_second[LOSSES]; /* seconds lost per second; 0: none */
    double cpus;               /* that it used in the last window */
    double quota_cpus;         /* its limit of CPU time */
    double throttled;          /* share of the limit's periods in which it was reached */
    double memory_bytes, memory_limit_bytes;
    double refaults_per_second; /* pages that it lost and read again */
    /* Who took CPUs beyond their share while it waited, the most first, and their shares of all
     * that was taken. */
    size_t takers;
    uint64_t taker[LIVE_TAKERS]; /* container_tag() */
    double taker_share[LIVE_TAKERS];
    bool takes;         /* it uses more CPU time than its own share */
    const char *untold; /* what cannot be told here, and why: a sentence, constant; or NULL */
};

#endif
