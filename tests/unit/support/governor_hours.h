/*
 * Hours of a node under the governor, in which each second is a function's value: what a protected
 * container's reads take, by the cores that others use. What lies between is the code that ships:
 * policies, enforcer, guard and journal; quotas are files in memory (fake_knobs.h), and the clock
 * is
 * a number.
 */
#ifndef IE_TESTS_GOVERNOR_HOURS_H
#define IE_TESTS_GOVERNOR_HOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOURS_SECONDS = 6 * 3600, HOURS_TENANTS = 20, HOURS_VICTIMS = 4 };

struct hours_model;

/* A container of best effort. */
struct hours_tenant {
    const char *namespace_, *pod, *container; /* NULL: "jobs", "job-I", "work" */
    double cores;                             /* its quota, which it uses as far as it may */
    double reads;                             /* of memory, by core and second; 0: a million */
    /* Cores that it would use now; NULL: all of its quota. */
    double (*demand)(const struct hours_model *model, double seconds);
    /* Of what attribution says that it causes, nanoseconds a second and core; 0: not named. */
    double named;
    bool unheld; /* it is of no class: nobody may hold it */
};

struct hours_model {
    double normal;    /* ns, the baseline that the exporter says */
    double noise;     /* of a window's latency: one standard deviation, relative */
    double base;      /* cores of the class; 0: 1 */
    double step;      /* likewise; 0: half a core */
    const char *keys; /* of the policy, as ",\"mode\":\"paper\""; NULL: none */
    bool dry;
    size_t n_victims; /* 0: 1 */
    /* What a read of a victim takes, ns, without noise; cores: that tenants use. */
    double (*latency)(const struct hours_model *model, size_t victim, const double *cores,
                      double seconds);
    struct hours_tenant tenants[HOURS_TENANTS];
    size_t n_tenants;
    double a, b, c;   /* the model's own */
    uint64_t seed;    /* 0: one that is always the same */
    double held;      /* > 0: nobody governs, and each tenant has so many cores */
    unsigned seconds; /* 0: HOURS_SECONDS */
};

struct hours_result {
    double cores[HOURS_TENANTS];      /* mean that it used */
    double quota[HOURS_TENANTS];      /* at the end */
    double over[HOURS_VICTIMS];       /* share of windows that were over theta, as they were seen */
    double truly_over[HOURS_VICTIMS]; /* the same without the noise */
    double latency[HOURS_VICTIMS];    /* mean, ns */
    double free[HOURS_TENANTS];       /* share of the time in which nothing was taken from it */
    unsigned cuts, futile, over_limit; /* over_limit: writes that may never be */
};

struct hours_result hours_run(const struct hours_model *model);

#endif
