/*
 * Nodes as they are met, an hour and more at a time, with what is true of them: services that
 * follow one load, some that wait for memory, JVMs, jobs by cron, log shippers, deployments, and
 * mostly somebody who makes memory slow. One kind per question. The same kind and seed give the
 * same hours.
 */
#ifndef IE_TESTS_NODE_HOUR_H
#define IE_TESTS_NODE_HOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOUR_WORKERS = 640, HOUR_LIVE = 300 };

enum worker_class {
    W_SERVICE, /* follows the node's load */
    W_STEADY,
    W_SWITCHES, /* on and off */
    W_JVM,
    W_WAITS,   /* needs more time where memory is slow */
    W_SHIPPER, /* follows all others */
    W_IDLE,
    W_PLAN,   /* active while its plan says so */
    W_FOLLOWS /* as another worker: its leader */
};

/* Active from one second to another, at a level; `ramp` seconds until it is reached. */
struct plan {
    double from, to, level, ramp;
};

/* A container. Live from `comes` until `goes`. */
struct worker {
    enum worker_class class;
    char namespace_[24], pod[64], name[24], image[32];
    double comes, goes;
    double level, jitter; /* CPUs; of them */
    double effect;        /* log latency per CPU */
    struct plan plan[64];
    unsigned plans;
    unsigned leader;
    double share, lag;    /* W_FOLLOWS: in this part of the leader's seconds; seconds behind it */
    double on_s, off_s;   /* W_SWITCHES: means */
    double stops_hurting; /* when it does no harm any more; 0: never */
    bool constant;        /* its CPU time does not show what it does */
    /* What moves. */
    double until, own, recent[4];
    bool on;
    double x, caused; /* CPUs, and log latency, in this second */
};

struct node_hour {
    const char *kind;
    unsigned second;
    uint64_t seed;
    struct worker worker[HOUR_WORKERS];
    unsigned n;

    double noise, ar, outlier; /* of a reading: sd, autocorrelation, share of outliers */
    double level_walk, load_swing, load_step;
    double steps_per_hour, step_least, step_most; /* of the latency, from outside */
    double saturates;                             /* 0: effects add up in the logarithm */
    double host_effect;
    unsigned host_follows; /* worker, plus 1; 0: none */
    double percent;        /* of the kind: by how much memory gets slower; who frames: how often */
    double onset;          /* when somebody begins to hurt; 0: no such time */
    unsigned seconds;      /* how long the kind is to be played */
    /* What the latency is without anybody, in the logarithm, linear from point to point. */
    struct point {
        double second, level;
    } background[8];
    unsigned points;
    struct plan scripted;          /* a step from outside */
    double silent_from, silent_to; /* the probe has no reading */

    double load, level, outside, ar_state, host, latency_ns; /* NaN: no reading */
    bool outside_now; /* the latency is not what the containers make it */
};

/* NULL: there are no more. */
const char *node_hour_kind(size_t i);

/* False: no such kind. */
bool node_hour_init(struct node_hour *node, const char *kind, uint64_t seed);
/* Drawn, from the hours' only source of chance. */
double node_hour_uniform(struct node_hour *node, double from, double to);
/* The next second. */
void node_hour_next(struct node_hour *node);

static inline bool worker_is_live(const struct node_hour *node, const struct worker *worker)
{
    return node->second > worker->comes && node->second <= worker->goes;
}

#endif
