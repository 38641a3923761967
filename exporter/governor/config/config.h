/*
 * The governor's configuration: JSON, checked as a whole, and nothing in it that is not known.
 *
 * A configuration says what may be done to whom; so a misspelled key is an error, never ignored.
 * Immutable once it is read.
 */
#ifndef IE_GOVERNOR_CONFIG_H
#define IE_GOVERNOR_CONFIG_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/governor/act/guard.h"
#include "exporter/governor/decide/control/control_nvmm.h"
#include "exporter/governor/decide/control/control_safe.h"
#include "exporter/governor/see/client.h"
#include "exporter/governor/see/view.h"
#include "exporter/governor/terms/decision.h"

enum {
    CONFIG_CLASSES_MAX = 32,
    CONFIG_MATCHES_MAX = 64, /* of one class */
    CONFIG_PATTERN_MAX = 256,
    CONFIG_NAME_MAX = 64,
    CONFIG_DIRECTORY_MAX = 256,
    CONFIG_PERIOD_LEAST_MS = 10
};

enum class_role { CLASS_PROTECTED, CLASS_BEST_EFFORT };

/* Globs as of fnmatch(3). */
struct match {
    char namespace_[CONFIG_PATTERN_MAX], pod[CONFIG_PATTERN_MAX], container[CONFIG_PATTERN_MAX];
    char qos_class[16]; /* as in the view; "": any */
};

struct class
{
    char name[CONFIG_NAME_MAX];
    enum class_role role;
    struct match matches[CONFIG_MATCHES_MAX];
    size_t n_matches;
    double slowdown_bound; /* of protected: how slow it may be; 0: nobody has said so */
    double cores;          /* of protected: how many it uses when it is fully used; 0: likewise */
    /* Of best effort. */
    double base_cores, step_cores;
    unsigned floor_ways, floor_percent; /* of the last-level cache, of memory bandwidth */
};

enum calibrate {
    CALIBRATE_BASELINE, /* theta is of the exporter's baseline */
    CALIBRATE_THROTTLE  /* of latencies while best effort is held: calibration.h */
};

enum control_mode {
    CONTROL_SAFE, /* what was calm: decide/control/control_safe.h */
    CONTROL_PAPER /* algorithm 1: control/control_threshold.h */
};

struct threshold_config {
    enum control_mode mode;
    enum calibrate calibrate;
    double window_seconds;           /* decides no more often */
    double factor;                   /* theta is so many times the baseline */
    double culprit_share, sure;      /* culprits.h */
    struct control_safe_config safe; /* base and step are the class's */
    bool experiment;                 /* decide/experiment.h; only with its flag */
    double futile_seconds;           /* at base, after which it is tried whether that helps */
};

struct ways_config {
    double step_seconds;
    enum view_model model;
};

enum mba_mode {
    MBA_BOUND, /* protected containers keep their classes' bounds */
    MBA_FAIR   /* who is slower gets more of what memory gives */
};

struct mba_config {
    enum mba_mode mode;
    double step_seconds, culprit_share; /* culprits.h */
    enum view_model model;
};

struct epochs_config {
    double share; /* of the time in which best effort is held */
};

struct nvmm_config {
    cpu_set_t cpus; /* that writers are kept on */
    unsigned dimms; /* of persistent memory, on this node */
    double expiry_seconds;
    struct control_nvmm_engage_config engage;
};

struct advice_config {
    double hold_slowdown, ok_slowdown; /* ok < hold */
    enum view_model model;
};

struct config {
    bool enforce; /* "mode":"enforce" */
    struct client_address exporter;
    uint64_t stale_ns, dead_ns;
    char state_directory[CONFIG_DIRECTORY_MAX];
    struct class classes[CONFIG_CLASSES_MAX];
    size_t n_classes;
    bool enabled[POLICY_KINDS];
    struct threshold_config threshold;
    struct ways_config ways;
    struct mba_config mba;
    struct epochs_config epochs;
    struct nvmm_config nvmm;
    struct advice_config advice;
    /* Whose a knob of a class is: one policy's, or POLICY_NONE. */
    enum policy_kind owners[CONFIG_CLASSES_MAX][KNOB_COUNT];
    struct guard_limits limits;
    unsigned quota_period_ms; /* of quotas that are set; 0: as found */
};

/* *out, to be freed, or -EINVAL with one line in error, -ENOMEM. */
int config_parse(const char *text, size_t len, struct config **out, char *error, size_t error_size);
/* Unless the flag says another one. */
#define CONFIG_STATE_DIRECTORY "/run/interference_governor"
/* Unless the configuration does. */
#define CONFIG_EXPORTER_SOCKET "/run/interference_exporter/exporter.sock"

/* What the flags say of the configuration. */
struct config_given {
    const char *state_directory; /* the file may name no other one */
    bool enforce;                /* then the exporter is to be known: no TCP */
};

/* The same from a file; 'given' NULL: nothing. */
int config_load(const char *path, const struct config_given *given, struct config **out,
                char *error, size_t error_size);
void config_free(struct config *config);

enum { CLASS_NONE = -1 };
/* The first protected class one of whose matches fits, or else the first class of any role;
 * CLASS_NONE. *literal: the match names it without a wildcard, in the container's name alone where
 * namespace and pod are "", or names the class guaranteed, of which it is. Empty names match only
 * what matches "". */
int config_class_of(const struct config *config, const char *namespace_, const char *pod,
                    const char *container, const char *qos_class, bool *literal);

/* False for CLASS_NONE, too. */
bool config_is_protected(const struct config *config, int class);
/* The lowest value that a class's knob may be set to. */
double config_floor(const struct config *config, int class, enum knob knob);

#endif
