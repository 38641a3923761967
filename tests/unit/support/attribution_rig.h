/*
 * A domain, its scratch and containers by number, for tests of the estimator; and a synthetic node
 * that knows who moves its latency. The same seed gives the same run.
 */
#ifndef IE_TESTS_ATTRIBUTION_RIG_H
#define IE_TESTS_ATTRIBUTION_RIG_H

#include "collectors/attribution/regression/estimator.h"

enum { RIG_CONTAINERS = 300 };

struct attribution_rig {
    struct attribution_domain domain;
    struct attribution_scratch scratch;
    struct attribution_member member[RIG_CONTAINERS];
};

/* Of attribution_config_cpu_time() where config is NULL. */
struct attribution_rig *attribution_rig_new(const struct attribution_config *config);

/* One tick of n containers; NaN: this one's activity was not read. */
void attribution_rig_tick(struct attribution_rig *rig, double latency_ns, const double *activity,
                          unsigned n, double host);

/* UNKNOWN where it is no candidate. */
enum attribution_state attribution_rig_state(const struct attribution_rig *rig, unsigned container);

/* 0 where it is no candidate. */
double attribution_rig_beta(const struct attribution_rig *rig, unsigned container);

/* xorshift64*, and a normal deviate of it. */
double rig_uniform(uint64_t *seed);
double rig_normal(uint64_t *seed);

/*
 * A node of up to RIG_CONTAINERS. Containers from `hogs` on are bystanders: a third follow one
 * load, a third go on and off, a third stay about where they are. The level of the latency drifts.
 */
struct synthetic_node {
    unsigned containers, hogs;
    double effect;      /* of each hog that is fully on: log latency */
    double noise;       /* sd of a reading */
    bool together;      /* the second hog is on when the first is */
    unsigned decoys;    /* of the bystanders: compute that runs 85 % of the time when hog 0 does */
    unsigned waiters;   /* after these: services of two CPUs that wait for 80 % of their time */
    double load_varies; /* sd of the logarithm of a waiter's own load, over minutes */
    bool always_on;     /* the hogs are */
    unsigned steps; /* seconds between steps of a neighbour outside the node; 0: there is none */

    uint64_t seed;
    /* What moves. */
    unsigned second;
    double level, load, outside;
    double strength[RIG_CONTAINERS], activity[RIG_CONTAINERS];
    unsigned until[RIG_CONTAINERS]; /* the second at which it changes */
    bool on[RIG_CONTAINERS];
    double own_load[RIG_CONTAINERS];
};

/* Moves the node on by a second; the latency. */
double synthetic_node_next(struct synthetic_node *node);

/* What all hogs add just now: log latency. */
double synthetic_node_truth(const struct synthetic_node *node);

/* A run, counted from the second minute on. */
struct synthetic_tally {
    unsigned ticks;
    unsigned hurting; /* a hog adds at least 5 % */
    unsigned named;   /* of these: such a hog is named */
    unsigned grouped; /* of these: it is named or in a group */
    unsigned top;     /* of these: such a hog has the largest score */
    unsigned wrong;   /* ticks in which a bystander is named, or a group has bystanders only */
    double caused_ns; /* of named ticks: what the named hogs cause, said */
    double true_ns;   /* and in truth */
};

void synthetic_run(struct attribution_rig *rig, struct synthetic_node *node, unsigned seconds,
                   struct synthetic_tally *tally);

#endif
