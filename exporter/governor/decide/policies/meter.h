/*
 * How slow containers were over steps of some seconds, from the exporter's counters: what policies
 * that work by feedback look at.
 *
 * One thread; nothing is allocated after new.
 */
#ifndef IE_GOVERNOR_METER_H
#define IE_GOVERNOR_METER_H

#include "exporter/governor/decide/control/control_feedback.h"
#include "exporter/governor/decide/policies/policy.h"

/* Of one container in the last step. */
struct meter_reading {
    bool known;               /* 'loss' is */
    double observed;          /* cycles that have an estimate; NaN: not known */
    struct control_loss loss; /* what it lost to others */
    double reads;             /* memory reads; NaN: not known */
    bool waits;               /* a slowdown is known, or was in the last few steps */
};

/* The protected container that is slowest compared with its class's bound. */
struct meter_worst {
    bool any;     /* some protected container has a bound, and has had a slowdown */
    double ratio; /* its slowdown over its bound; NaN: none is known of this step */
    double slowdown, bound;
    struct control_loss loss;
    char cause[CLAIM_NAME_MAX]; /* namespace/pod/container */
};

struct meter;

/* 0 or -ENOMEM. */
int meter_new(double step_seconds, enum view_model model, struct meter **out);
/* Accepts NULL. */
void meter_free(struct meter *meter);

/* A tick. True: a step has ended with it, and all below is of that step. */
bool meter_tick(struct meter *meter, const struct policy_tick *tick);

/* NULL: it was not there for the whole step, or there are too many. */
const struct meter_reading *meter_find(const struct meter *meter, const char *path);

/* A container that had a slowdown and has none for a few steps does not wait for memory, and counts
 * as 1. */
void meter_protected(const struct meter *meter, const struct config *config,
                     const struct policy_tick *tick, struct meter_worst *out);

#endif
