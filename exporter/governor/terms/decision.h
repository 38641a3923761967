/*
 * What was decided, in words: for the log, the page and the labels.
 */
#ifndef IE_GOVERNOR_DECISION_H
#define IE_GOVERNOR_DECISION_H

#include <stdint.h>

#include "exporter/governor/terms/claim.h"
#include "exporter/governor/terms/policy_kind.h"

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
const char *action_name(enum action action);
const char *outcome_name(enum outcome outcome);

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
const char *release_reason_name(enum release_reason reason);

/* What chose the containers that are cut (culprits.h). */
enum chosen_by {
    CHOSEN_BY_NOTHING, /* nobody was; or all, to begin with */
    CHOSEN_BY_ALL,     /* the configuration: no share is asked for */
    CHOSEN_BY_READS,
    CHOSEN_BY_LATENCY,
    CHOSEN_BY_WAIT,
    CHOSEN_BYS
};
/* "none" for nothing. */
const char *chosen_by_name(enum chosen_by by);

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
const char *foreign_name(enum foreign kind);
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
const char *error_reason_name(enum error_reason reason);
const char *error_op_name(enum error_op op);

#endif
