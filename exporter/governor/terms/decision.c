#include "exporter/governor/terms/decision.h"

static const char *const action_names[ACTIONS] = {"cut", "raise", "release"};
static const char *const outcome_names[OUTCOMES] = {"applied", "dry_run", "limited", "foreign",
                                                    "failed"};
static const char *const release_names[RELEASE_REASONS] = {[RELEASE_STOP] = "stop",
                                                           [RELEASE_DEAD_MAN] = "dead_man",
                                                           [RELEASE_FUTILE] = "futile",
                                                           [RELEASE_PAUSED] = "paused",
                                                           [RELEASE_VANISHED] = "vanished",
                                                           [RELEASE_CALM] = "calm",
                                                           [RELEASE_YIELDED] = "yielded",
                                                           [RELEASE_JOURNAL] = "journal",
                                                           [RELEASE_UNMANAGED] = "unmanaged",
                                                           [RELEASE_REPLACED] = "replaced",
                                                           [RELEASE_EXPERIMENT] = "experiment"};
static const char *const chosen_by_names[CHOSEN_BYS] = {[CHOSEN_BY_NOTHING] = "none",
                                                        [CHOSEN_BY_ALL] = "all",
                                                        [CHOSEN_BY_READS] = "reads",
                                                        [CHOSEN_BY_LATENCY] = "latency",
                                                        [CHOSEN_BY_WAIT] = "wait"};
static const char *const foreign_names[FOREIGN_KINDS] = {"reset", "changed"};
static const char *const error_names[ERROR_REASONS] = {"ebusy", "enospc",   "einval", "enodev",
                                                       "eperm", "conflict", "other"};
static const char *const op_names[ERROR_OPS] = {"claim", "check", "apply", "release"};

const char *action_name(enum action action)
{
    return action_names[action];
}

const char *outcome_name(enum outcome outcome)
{
    return outcome_names[outcome];
}

const char *release_reason_name(enum release_reason reason)
{
    return release_names[reason];
}

const char *chosen_by_name(enum chosen_by by)
{
    return chosen_by_names[by];
}

const char *foreign_name(enum foreign kind)
{
    return foreign_names[kind];
}

const char *error_reason_name(enum error_reason reason)
{
    return error_names[reason];
}

const char *error_op_name(enum error_op op)
{
    return op_names[op];
}
