/*
 * A policy decides from a tick which values it wants. Each is a file of its own and a line in
 * policy_table.c; the configuration says which knobs of which classes are its own (config.owners).
 *
 * A policy does no input or output, reads no clock and allocates nothing after init. It passes what
 * it wants to the enforcer, between begin and commit. One thread.
 */
#ifndef IE_GOVERNOR_POLICY_H
#define IE_GOVERNOR_POLICY_H

#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/config/config.h"
#include "exporter/governor/see/view.h"
#include "exporter/governor/see/writers.h"

/* A container of the view. */
struct governed {
    const struct view_container *container;
    int class;              /* in the configuration, or CLASS_NONE */
    bool exempt;            /* never restricted, whatever its class (exemptions.h) */
    const char *why_exempt; /* in words; NULL: it is not */
    uint64_t owner;         /* view_owner(), where there may be experiments; else 0 */
    bool confirmed;         /* its owner, by an experiment of the last day (experiment.h) */
    /* What may be turned down, and belongs to some policy; NULL otherwise. */
    struct holding *holdings[KNOB_COUNT];
    enum policy_kind threads; /* whose single threads are; POLICY_NONE: nobody's */
};

/* A fresh tick. */
struct policy_tick {
    struct enforcer *enforcer;
    const struct governed *governed;
    size_t n;
    double now, interval; /* of the exporter's tick, seconds */
    double base_hz;       /* of reference cycles; NaN: not known */
    /* Who stores to persistent memory; NULL: not known now. */
    const struct writers *writers;
};

enum calibration_phase {
    CALIBRATION_WAITING, /* nobody is held for it: it is not fully used, or others were lately */
    CALIBRATION_HOLDING, /* best effort is held at its least */
    CALIBRATION_LEARNED,
    CALIBRATION_TOO_FEW, /* samples: the exporter's baseline stays */
    CALIBRATION_DRY_RUN, /* it would have been learned: the same */
    CALIBRATION_PHASES
};
extern const char *const calibration_phase_names[CALIBRATION_PHASES];

/* What is known of one protected container whose latency is learned while best effort is held. */
struct policy_calibration {
    char container[CLAIM_NAME_MAX]; /* namespace/pod/container */
    enum calibration_phase phase;
    bool changed; /* the phase, by the last decide */
    unsigned samples;
    double held_seconds;
    double latency_seconds; /* that was learned; NaN: none */
    double used_cpus, cpus; /* in the last window, and that it has; NaN: not known */
};

/* Since init. */
struct policy_counts {
    uint64_t futile;       /* how often turning down did not help, and was given up */
    uint64_t bound_missed; /* steps in which a bound was not kept and nothing was left to take */
    /* Windows of threshold, and steps of mba, with somebody protected over the limit, by what chose
     * whom to cut. */
    uint64_t chosen[CHOSEN_BYS];
    uint64_t calibrations[CALIBRATION_PHASES]; /* that ended so */
};

/* Advice to whoever schedules pods, by the last minute. */
struct advice {
    bool hold;       /* this node should get no more work */
    double slowdown; /* the greatest of a protected container over five minutes; NaN: none */
    char cause[CLAIM_NAME_MAX]; /* that container; "" */
    /* To be moved, if any is: of best effort that is not exempt it reads most; "". */
    char candidate[CLAIM_NAME_MAX];
    double reads_share; /* of what all containers of a class read; NaN */
};

/* Of a protected container, as it was measured. */
struct policy_slowdown {
    char namespace_[CLAIM_NAME_MAX], pod[CLAIM_NAME_MAX], container[CLAIM_NAME_MAX];
    char container_id[16];
    double slowdown;
};

/* Who writes to persistent memory. */
struct policy_writers {
    size_t n; /* threads of the whole node */
    double expiry_seconds;
};

/* What policies say of themselves, of the last tick. What it points to is theirs, and valid until
 * their next decide. */
struct policy_report {
    bool active[POLICY_KINDS]; /* it had what it decides by; else it holds nothing */
    /* Why it is not active although it has somebody to act for, in words; NULL or "": it is, or has
     * nobody. */
    const char *obstacle[POLICY_KINDS];
    bool tries; /* somebody has more for a while, to see what that does */
    struct policy_counts counts;
    const struct advice *advice;             /* NULL: no policy gives any */
    const struct policy_slowdown *slowdowns; /* that were measured */
    size_t n_slowdowns;
    const struct policy_calibration *calibrations; /* of containers that are there */
    size_t n_calibrations;
    const struct policy_writers *writers; /* NULL: no policy looks at any */
};

struct policy_ops {
    /* 'config' is borrowed until free. 0 or -ENOMEM. */
    int (*init)(const struct config *config, void **self);
    /* May be NULL: it begins anew. Takes what 'before', the same policy of an earlier
     * configuration, has learned of containers, but for its counts. */
    void (*inherit)(void *self, void *before);
    void (*decide)(void *self, const struct policy_tick *tick);
    /* Sets its part, and adds to the counts. */
    void (*report)(const void *self, struct policy_report *out);
    void (*free)(void *self);
};

/* The policies that a configuration enables. */
struct policies {
    void *of[POLICY_KINDS];  /* NULL: not enabled */
    bool told[POLICY_KINDS]; /* their obstacles */
};
/* 0, or -ENOMEM with nothing made. */
int policies_init(struct policies *policies, const struct config *config);
void policies_release(struct policies *policies);
/* What those of an earlier configuration have learned. These are released afterwards. */
void policies_inherit(const struct policies *policies, const struct policies *before);
void policies_decide(const struct policies *policies, const struct policy_tick *tick);
/* Adds to out->counts; the rest of it is all zero before. */
void policies_report(const struct policies *policies, struct policy_report *out);
/* A line for each obstacle that the last tick has found. */
void policies_tell(struct policies *policies, const struct log *log);

extern const struct policy_ops threshold_policy, ways_policy, mba_policy, epochs_policy,
    nvmm_policy, advice_policy;

#endif
