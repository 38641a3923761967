/*
 * What a policy decided, and the words for it: in the log, the page, the labels and the
 * configuration.
 */
#ifndef IE_GOVERNOR_DECISION_H
#define IE_GOVERNOR_DECISION_H

#include <stdint.h>

#include "exporter/governor/terms/claim.h"

/* policy.h says what each can do. */
enum policy_kind {
    POLICY_THRESHOLD,  /* CPU quota by memory latency */
    POLICY_WAYS,       /* ways of the last-level cache by slowdown */
    POLICY_MBA,        /* memory bandwidth by slowdown */
    POLICY_EPOCHS,     /* ways and bandwidth for moments, to measure slowdowns */
    POLICY_NVMM_CORES, /* threads that write to persistent memory on CPUs of their own */
    POLICY_ADVICE,     /* to whoever schedules pods: it restricts nobody */
    POLICY_KINDS,
    POLICY_NONE = POLICY_KINDS
};
extern const char *const policy_kind_names[POLICY_KINDS];

enum action {
    ACTION_CUT,
    ACTION_RAISE,
    ACTION_RELEASE, /* all that it may have again; with OUTCOME_FOREIGN, not by us */
    ACTIONS
};
enum outcome {
    OUTCOME_APPLIED,
    OUTCOME_DRY_RUN,
    OUTCOME_LIMITED, /* the guard said no */
    OUTCOME_FOREIGN, /* somebody else's value was there */
    OUTCOME_FAILED,
    OUTCOMES
};
extern const char *const action_names[ACTIONS], *const outcome_names[OUTCOMES];

/* Why everything, or one container, was let go. */
enum release_reason {
    RELEASE_STOP,
    RELEASE_DEAD_MAN,
    RELEASE_FUTILE,
    RELEASE_PAUSED,
    RELEASE_VANISHED,
    RELEASE_CALM,       /* it has all that it may have again */
    RELEASE_YIELDED,    /* to somebody else who writes */
    RELEASE_JOURNAL,    /* which could not be written */
    RELEASE_UNMANAGED,  /* no policy has it any more */
    RELEASE_REPLACED,   /* its claim was needed for a culprit */
    RELEASE_EXPERIMENT, /* whose slot is over */
    RELEASE_REASONS
};
extern const char *const release_reason_names[RELEASE_REASONS];

/* What chose the containers that are cut (culprits.h). */
enum chosen_by {
    CHOSEN_BY_NOTHING, /* nobody was; or all, to begin with */
    CHOSEN_BY_ALL,     /* the configuration: no share is asked for */
    CHOSEN_BY_READS,
    CHOSEN_BY_LATENCY,
    CHOSEN_BY_WAIT,
    CHOSEN_BYS
};
extern const char *const chosen_by_names[CHOSEN_BYS];

struct decision {
    uint64_t seq, tick, wall_ns;
    enum action action;
    enum outcome outcome;
    enum knob knob;
    enum policy_kind policy;
    enum chosen_by chosen_by; /* of a cut */
    char container[CLAIM_NAME_MAX], cause[CLAIM_NAME_MAX];
    char from[CLAIM_TEXT_MAX], to[CLAIM_TEXT_MAX];
    char why[64]; /* a limit's name, an error, a release's reason; "" */
    double measured, limit;
    int tid; /* of the thread; 0: the whole container */
};

enum foreign { FOREIGN_RESET, FOREIGN_CHANGED, FOREIGN_KINDS };
extern const char *const foreign_names[FOREIGN_KINDS];
enum error_reason {
    ERROR_EBUSY,
    ERROR_ENOSPC,
    ERROR_EINVAL,
    ERROR_ENODEV,
    ERROR_EPERM,
    ERROR_CONFLICT, /* it may run on none of the CPUs that are for it */
    ERROR_OTHER,
    ERROR_REASONS
};
enum error_op { ERROR_CLAIM, ERROR_CHECK, ERROR_APPLY, ERROR_RELEASE, ERROR_OPS };
extern const char *const error_reason_names[ERROR_REASONS], *const error_op_names[ERROR_OPS];

#endif
