/*
 * The governor: from what the exporter says to what is done about it.
 *
 *     view -> liveness -> who may be restricted -> policy -> enforcer
 *
 * One thread; the clocks and the view come from the caller.
 */
#ifndef IE_GOVERNOR_GOVERNOR_H
#define IE_GOVERNOR_GOVERNOR_H

#include "exporter/base/fsroot.h"
#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/config/config.h"
#include "exporter/governor/decide/experiment.h"
#include "exporter/governor/decide/forecast.h"
#include "exporter/governor/decide/policies/policy.h"
#include "exporter/governor/see/liveness.h"

struct governor_setup {
    const struct config *config; /* borrowed, until governor_reload() has another one */
    bool enforce;                /* both keys are there; otherwise it is a dry run */
    bool allow_replay;           /* and containers without a cgroup_id */
    bool look_only;              /* a dry run that puts back nothing either: for --check */
    bool recorded;               /* what is taken is a recording, of another machine: a dry run */
    const struct fsroot *fs;
    const struct fswrite *write;
    /* Who keeps the journal, with what he has put back; NULL: it is opened, and all is put back. */
    const struct journal_writer *writer;
    const struct restore_counts *restored;
    const struct actuators *actuators; /* open, and the caller's to close; NULL: the machine's */
    const struct log *log;
    void (*decided)(void *context, const struct decision *decision);
    void *context;
};

struct governor;

/*
 * Puts back what an earlier governor left open; that needs the state directory's lock. With
 * 'enforce' keeps the lock and the journal. -errno with the message in error: then nothing was
 * changed.
 */
int governor_new(const struct governor_setup *setup, uint64_t now_ns, struct governor **out,
                 char *error, size_t error_size);
/* Releases nothing. Accepts NULL. */
void governor_free(struct governor *governor);

/* A tick, with what the exporter says now; NULL: it gave no answer that could be read. */
void governor_take(struct governor *governor, const struct view *view, uint64_t now_ns,
                   uint64_t wall_ns);

/* After a take of the same view: a pair of an experiment, if the configuration has "experiment" and
 * it acts on a machine that is counted now, never on a recording (experiment.h). Paused, or
 * without a view, one that is under way ends. */
void governor_experiment(struct governor *governor, const struct view *view,
                         const struct experiment_meter *meter, uint64_t wall_ns);

/* Who stores to persistent memory, for the next governor_take() alone; borrowed until then. */
void governor_take_writers(struct governor *governor, const struct writers *writers);

/* Finds who could be restricted, as a tick would, whatever the view's source and age are. One for
 * each container of the view, valid as long as that. */
const struct governed *governor_list(struct governor *governor, const struct view *view);

/* Lets everything go and stays so until it is false again. */
void governor_pause(struct governor *governor, bool paused, uint64_t wall_ns);
/* All originals back. 0, or -EAGAIN when some could not be put back. */
int governor_stop(struct governor *governor, uint64_t wall_ns);

/* Another configuration, of the same mode and state directory; else -EINVAL with the reason in
 * error, and nothing changes. */
int governor_reload(struct governor *governor, const struct config *config, char *error,
                    size_t error_size);

struct governor_state {
    bool enforce, paused;
    const struct liveness *liveness;
    uint64_t ticks, dead_man[DEAD_REASONS];
    struct policy_report policies; /* counts also those of earlier configurations */
    uint64_t journal_errors;
    size_t open;
    size_t journal_open; /* claims whose originals are still to be put back */
    const struct enforcer *enforcer;
    const struct experiment *experiment;
    const struct forecast *forecast; /* set by the caller; NULL: there is none */
};
void governor_look(const struct governor *governor, struct governor_state *out);

/* Puts back what the state directory's journal has open, and says how it went. -ENOENT: there is no
 * journal. For --restore, and for the start of governors that write nothing. */
int governor_restore(const char *state_directory, const struct governor_setup *setup,
                     struct restore_counts *counts, char *error, size_t error_size);

/* The same, but keeps the lock, and leaves the journal open for the caller; makes it if there is
 * none. -EAGAIN: something could not be put back; then, and after other errors, it is closed. */
int governor_open_journal(const char *state_directory, const struct governor_setup *setup,
                          struct journal *journal, struct restore_counts *counts, char *error,
                          size_t error_size);

#endif
