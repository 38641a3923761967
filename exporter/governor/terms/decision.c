#include "exporter/governor/terms/decision.h"

const char *const policy_kind_names[POLICY_KINDS] = {[POLICY_THRESHOLD] = "threshold",
                                                     [POLICY_WAYS] = "ways",
                                                     [POLICY_MBA] = "mba",
                                                     [POLICY_ADVICE] = "advice",
                                                     [POLICY_EPOCHS] = "epochs",
                                                     [POLICY_NVMM_CORES] = "nvmm_cores"};
const char *const action_names[ACTIONS] = {"cut", "raise", "release"};
const char *const outcome_names[OUTCOMES] = {"applied", "dry_run", "limited", "foreign", "failed"};
const char *const release_reason_names[RELEASE_REASONS] = {[RELEASE_STOP] = "stop",
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
const char *const chosen_by_names[CHOSEN_BYS] = {[CHOSEN_BY_NOTHING] = "none",
                                                 [CHOSEN_BY_ALL] = "all",
                                                 [CHOSEN_BY_READS] = "reads",
                                                 [CHOSEN_BY_LATENCY] = "latency",
                                                 [CHOSEN_BY_WAIT] = "wait"};
const char *const foreign_names[FOREIGN_KINDS] = {"reset", "changed"};
const char *const error_reason_names[ERROR_REASONS] = {"ebusy", "enospc",   "einval", "enodev",
                                                       "eperm", "conflict", "other"};
const char *const error_op_names[ERROR_OPS] = {"claim", "check", "apply", "release"};
