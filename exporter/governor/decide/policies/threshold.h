/*
 * What the policy threshold and its two modes share: policy_threshold.c reads the latencies of
 * protected containers, threshold_paper.c and threshold_safe.c set the quotas of best effort. One
 * thread.
 */
#ifndef IE_GOVERNOR_THRESHOLD_H
#define IE_GOVERNOR_THRESHOLD_H

#include "exporter/governor/decide/policies/benefit.h"
#include "exporter/governor/decide/policies/calibration.h"
#include "exporter/governor/decide/policies/culprits.h"

/* A container's memory latency over several ticks: time over reads, hence their mean by reads.
 * Where reads are not counted it is the newest. */
struct latencies {
    double counted;              /* reads by the last tick; NaN: not known */
    double reads, reads_latency; /* of ticks with both */
    double last;                 /* seconds; NaN: none */
    unsigned n;                  /* ticks with a latency */
};

/* What is remembered of a container while it is in view. */
struct threshold_app {
    char path[CLAIM_PATH_MAX];
    bool seen;
    uint64_t cgroup_id;         /* of protected ones, as what follows: a path may be reused */
    double theta;               /* 0: none is known */
    unsigned silent;            /* windows without a latency */
    struct latencies latencies; /* since the last window */
    bool started;               /* of best effort, as what follows */
    enum control_mode mode;     /* that has decided last */
    struct control_threshold paper;
    struct control_safe safe;
    double cycles;            /* reference cycles so far; NaN: not known */
    double used;              /* cores, in this window; NaN: not known */
    bool idle;                /* it used little of what it was left */
    double before;            /* what it had before its trial ... */
    bool on_trial;            /* ... which has begun for it */
    enum chosen_by chosen_by; /* when it was cut last */
};

/* A protected container that has a latency and a theta. */
struct threshold_victim {
    uint64_t key; /* of its path */
    char name[CLAIM_NAME_MAX];
    double measured, limit, ratio;
    enum chosen_by by; /* in mode safe: what chose whom to cut for it */
};

enum {
    VICTIMS_MAX = 8,  /* that are the slowest by their theta: others wait for their turn */
    VICTIM_NONE = 255 /* in 'causes' */
};

struct threshold_policy {
    const struct config *config;
    struct threshold_app *apps; /* CLAIMS_MAX */
    size_t n;
    /* Of this window; wishes point into the victims until they are committed. The slowest by its
     * theta comes first, and so many are over it. */
    enum control_window window;
    bool any; /* a protected container has a theta */
    struct threshold_victim victims[VICTIMS_MAX];
    size_t n_victims, n_over;
    uint8_t *causes; /* VIEW_CONTAINERS_MAX: the victim for whom governed[i] is to be cut */
    struct culprits *culprits;
    struct benefit *benefit;
    struct calibration *calibration;
    bool holding;   /* best effort, to calibrate */
    double decided; /* when the last window ended */
    uint64_t chosen[CHOSEN_BYS];
};

/* NULL: there are too many. */
struct threshold_app *threshold_find(struct threshold_policy *policy, const char *path);
/* NULL: it is none of this policy's. */
struct holding *threshold_holding(const struct governed *governed);

/* Set the quota of governed[i], whose limits are known, by the last window. In mode safe,
 * threshold_safe_begin() comes first, once a window. */
void threshold_paper_step(struct threshold_policy *policy, const struct policy_tick *tick,
                          struct threshold_app *app, size_t i);
void threshold_safe_begin(struct threshold_policy *policy, const struct policy_tick *tick);
void threshold_safe_step(struct threshold_policy *policy, const struct policy_tick *tick,
                         struct threshold_app *app, size_t i);

#endif
