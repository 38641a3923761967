/*
 * What the estimator knows of one memory domain: whose activity its latency follows
 * (ATTRIBUTION.md section 2, which has the symbols in parentheses).
 *
 * The logarithm of the domain's latency is regressed on the activity of up to 64 candidates and of
 * the rest, all high-passed by the same one-pole filter. A level that drifts, other tenants of the
 * machine and whoever is always on thereby drop out. All numbers are in natural units: latency in
 * nanoseconds, activity in what the caller chooses (CPUs, or traffic over its peak), coefficients
 * in log latency per unit of activity. Constants are per reading, not per second: they were chosen
 * and tested at one reading a second.
 *
 * Everything is inside the struct; nothing here allocates. One thread at a time.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_REGRESSION_DOMAIN_H
#define IE_COLLECTORS_ATTRIBUTION_REGRESSION_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ATTRIBUTION_SLOTS = 64,
    ATTRIBUTION_REST = ATTRIBUTION_SLOTS, /* the column of all that has no slot */
    ATTRIBUTION_COLUMNS,
    ATTRIBUTION_LAGS = 8,
    ATTRIBUTION_GROUPS = ATTRIBUTION_SLOTS / 2,
    ATTRIBUTION_LEARNING = 60, /* readings in which nothing is named */
};

struct attribution_config {
    unsigned slots;       /* candidates at once, 1 to ATTRIBUTION_SLOTS */
    unsigned learning;    /* readings in which nothing is named */
    unsigned solve_every; /* readings; each of the first nine besides */
    double tau;           /* sd of a candidate's coefficient before anything is known */
    double tau_rest;      /* the same of the rest, whose mean is always 0 */
    double mu0;           /* its mean; 0, or with a PMU the pooled slope */
    double growth;        /* see gate.h; 0 where waiting does not make anybody more active */
};

/* Per container and domain, embedded by the caller. Zeroed: not seen yet. May move in memory
 * between ticks, but must not be copied: a copy would claim the same slot. */
struct attribution_member {
    double mean, variance;   /* m, v: of its activity */
    double smoothed, lowest; /* f; lo: the lowest smoothed activity of about half an hour */
    uint64_t ticket;         /* it has `slot` while this is the slot's */
    double ground; /* as lowest, but leaves the 0 that one comes from within minutes; see gate.h */
    uint32_t slot;
    bool seen, came; /* came: has not been less active since */
};

enum attribution_state {
    ATTRIBUTION_UNKNOWN,   /* nothing can be said */
    ATTRIBUTION_SUSPECTED, /* one coincidence so far */
    ATTRIBUTION_NAMED,
    ATTRIBUTION_IN_GROUP, /* the sum of its group is significant, its own part is not known */
    ATTRIBUTION_DOUBTED,  /* significant, but it may only be waiting; see gate.h */
};

/* A candidate's slot. Its numbers are of the last tick, or of the last solve before it. */
struct attribution_slot {
    uint64_t ticket;               /* 0: free */
    bool present;                  /* its activity was read in this tick */
    bool retired;                  /* of a container that has ended: anybody may have it */
    int8_t sign;                   /* of its last z that was not 0 */
    float named_activity;          /* x when it was named; 0: it is not */
    double activity_variance;      /* v */
    double activity;               /* x */
    double ground;                 /* its member's */
    double excursion, sum, square; /* q, Q1, Q2 */
    double latency_square;         /* as its G is of activity; see gate.h */
    double support;
    double se, score;
    double caused_ns, sd_ns;
    enum attribution_state state;
    unsigned group; /* index in groups, plus 1; 0: none */
};

/* Candidates whose activity moves together, and whose sum is significant. */
struct attribution_group {
    unsigned members;
    double effect; /* sum of beta w: log latency */
    double score;
    double caused_ns, sd_ns;
};

struct attribution_contender {
    struct attribution_member *member; /* valid within one tick */
    double deviation, activity;
};

struct attribution_domain {
    struct attribution_config config;
    uint64_t readings; /* t */
    uint64_t tickets;
    uint64_t solved_at; /* reading of the last solve */

    double level, present;           /* m_y, e: log latency */
    double noise;                    /* s2: variance of a residual */
    double rho[ATTRIBUTION_LAGS];    /* autocovariance of residuals, lags 1 to 8 */
    double inflation;                /* I */
    double residual;                 /* r of the last tick */
    double recent[ATTRIBUTION_LAGS]; /* rc of the last ticks, the newest first */

    struct attribution_slot slots[ATTRIBUTION_SLOTS];
    double z[ATTRIBUTION_COLUMNS];     /* high-passed activity */
    double above[ATTRIBUTION_COLUMNS]; /* w: activity above the lowest */
    double beta[ATTRIBUTION_COLUMNS], raw[ATTRIBUTION_COLUMNS];
    double variance[ATTRIBUTION_COLUMNS]; /* V: of beta, those at 0 being 0 */
    double b[ATTRIBUTION_COLUMNS];
    /* Symmetric: only columns <= row are kept. */
    double g[ATTRIBUTION_COLUMNS][ATTRIBUTION_COLUMNS];
    double p[ATTRIBUTION_COLUMNS][ATTRIBUTION_COLUMNS];

    double host_mean, host_activity;
    bool host_seen, rest_seen;
    double rest_activity, rest_lowest; /* X, lo_rest */

    /* The tick's answer. */
    double latency_ns; /* Y: of about five readings */
    double effect;     /* S */
    double per_effect; /* F: nanoseconds per log latency */
    double rest_caused_ns;
    unsigned n_groups;
    struct attribution_group groups[ATTRIBUTION_GROUPS];

    /* Within a tick. */
    bool in_tick;
    double deviation;         /* yt */
    double gain, spread_gain; /* k_t, and the gain of variances */
    double bar;               /* a contender varies at least this much */
    double rest_deviation, rest_sum;
    unsigned n_contenders;
    struct attribution_contender contenders[ATTRIBUTION_SLOTS];
};

static inline bool attribution_has_slot(const struct attribution_domain *domain,
                                        const struct attribution_member *member)
{
    return member->ticket != 0 && domain->slots[member->slot].ticket == member->ticket;
}

/* Of solving; one serves any number of domains, one after another. */
struct attribution_scratch {
    double full[ATTRIBUTION_COLUMNS][ATTRIBUTION_COLUMNS];
    double inverse[ATTRIBUTION_COLUMNS][ATTRIBUTION_COLUMNS];
    double scale[ATTRIBUTION_COLUMNS], right[ATTRIBUTION_COLUMNS], beta[ATTRIBUTION_COLUMNS];
    unsigned column[ATTRIBUTION_COLUMNS];
};

#endif
