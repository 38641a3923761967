/*
 * Holds the claims and makes the changes: what a policy wants, the guard, the journal, the file,
 * reading back.
 *
 * A container that may be restricted has a holding from the time when it is seen: its limits are
 * known and nothing is written. The first change opens a claim in the journal, the release closes
 * it. In a dry run all is the same, but for a virtual value in place of the file and the journal:
 * nothing is written at all.
 *
 * One thread. Steady ticks, in which nothing changes, write nothing and allocate nothing.
 */
#ifndef IE_GOVERNOR_ENFORCER_H
#define IE_GOVERNOR_ENFORCER_H

#include "exporter/base/log.h"
#include "exporter/governor/act/guard.h"
#include "exporter/governor/act/restore.h"
#include "exporter/governor/terms/decision.h"

/* A container that a policy may restrict. Texts are copied. */
struct subject {
    const char *container_id; /* the exporter's label */
    const char *name;         /* namespace/pod/container */
    const char *path;         /* of its cgroup */
    int tid;                  /* of the thread whose knob it is; 0: the cgroup's */
    double floor;             /* the least that the configuration allows */
    enum policy_kind policy;  /* whose it is */
};

/* What a policy says beside the value; texts live until the commit. */
struct because {
    const char *cause;      /* the container that waits, or ""; NULL: nothing is said */
    double measured, limit; /* NaN: none */
    enum chosen_by chosen_by;
    /* Others wait for it: where no claim is left, it takes that of one that is none. */
    bool culprit;
    /* How soon its policy itself may cut again: what is not sooner is no flapping. 0: never. */
    double period_seconds;
    const char *why; /* why else; NULL: for nothing else */
};

struct enforcer_counts {
    /* Of policies: who is tried is in 'released' alone. */
    uint64_t decisions[POLICY_KINDS][ACTIONS][OUTCOMES];
    uint64_t errors[KNOB_COUNT][ERROR_OPS][ERROR_REASONS];
    uint64_t foreign[KNOB_COUNT][FOREIGN_KINDS];
    uint64_t released[RELEASE_REASONS];
    uint64_t limited[GUARD_VERDICTS];
    struct restore_counts restores;
};

struct enforcer_config {
    bool dry; /* no write at all */
    struct guard_limits limits;
    const struct log *log;
    /* Each change and each try, on the caller's thread; may be NULL. */
    void (*decided)(void *context, const struct decision *decision);
    void *context;
};

/* One container, or one of its threads, and one knob. */
struct holding {
    struct claim claim; /* id 0: not open in the journal */
    struct guard_memory memory;
    enum policy_kind policy;
    double floor;
    double aim;    /* its policy's own to remember; NaN at first */
    double wanted; /* NaN: nothing this tick */
    struct because because;
    uint64_t since_wall_ns;    /* of the last change; 0: none */
    uint64_t culprit_until_ns; /* so long nobody takes its claim */
    /* No claim was left for the last change, or another container needed the claim: this one has
     * all that it may have, and its policy starts anew. */
    bool crowded_out;
    bool known; /* its limits are: otherwise there is nothing to take, or it cannot be read */
    int why;    /* not: -errno of the actuator's claim; 0: nobody has tried */
    bool seen;  /* in this tick's view */
    bool tried; /* it is held by enforcer_try() */
    /* The last change failed, and what the file has is not known yet; the value before it. */
    bool unsure;
    double before;
};

struct enforcer;

/* journal and actuators are borrowed; for a dry run the journal is one in memory. 0 or -ENOMEM. */
int enforcer_new(const struct enforcer_config *config, struct journal *journal,
                 const struct actuators *actuators, struct enforcer **out);
/* Releases nothing. Accepts NULL. */
void enforcer_free(struct enforcer *enforcer);

/* What was put back, or could not be, before there was an enforcer. */
void enforcer_count_restores(struct enforcer *enforcer, const struct restore_counts *counts);

void enforcer_set_limits(struct enforcer *enforcer, const struct guard_limits *limits);

/*
 * A tick: begin, see each container that may be restricted, want for some of them, commit.
 *
 * begin reads every file that is held, and answers what others wrote there; and in turn, within
 * thirty calls, all limits, such as CPUs that are online. see returns the holding, NULL when there
 * are too many or no memory. It is valid until the commit, which releases what was not seen and
 * moves other holdings.
 */
void enforcer_begin(struct enforcer *enforcer, uint64_t tick, uint64_t now_ns, uint64_t wall_ns);
struct holding *enforcer_see(struct enforcer *enforcer, enum knob knob,
                             const struct subject *subject);
/* Between begin and commit: there is no room for a container or a thread, so that it is not
 * governed in this tick. Counted; the log says when that begins and ends. */
void enforcer_leave_out(struct enforcer *enforcer);
void enforcer_want(struct holding *holding, double value, const struct because *because);
/* CPUs that a cgroup may use, by its cpuset and its quota; NaN: not known. Nothing is claimed. */
double enforcer_cpus(const struct enforcer *enforcer, const char *path);
/* Whether nothing is written at all. */
bool enforcer_is_dry(const struct enforcer *enforcer);
/* Everything back that it may have. */
void enforcer_let_go(struct enforcer *enforcer, struct holding *holding, enum release_reason reason,
                     const struct because *because);
void enforcer_commit(struct enforcer *enforcer);
/* What was seen, after the commit; valid until the next one. NULL: there is none. */
struct holding *enforcer_find(const struct enforcer *enforcer, enum knob knob, const char *path);
/* Between two ticks, at once and for a moment: it gets its least, for an experiment; true: it has.
 * Neither this nor its end counts as a decision of its policy's. */
bool enforcer_try(struct enforcer *enforcer, struct holding *holding, uint64_t now_ns,
                  uint64_t wall_ns);
/* Everything back for all that are held so. 0, or -EAGAIN when some could not be given back, which
 * is tried again later each time: call again. */
int enforcer_end_tries(struct enforcer *enforcer, uint64_t now_ns, uint64_t wall_ns);
/* Before the commit: the next after 'last' that was not seen, the first for NULL; NULL: there is no
 * more. */
struct holding *enforcer_unseen(struct enforcer *enforcer, const struct holding *last);

/* All originals back. 0, or -EAGAIN when some could not be put back: call again. What has failed is
 * tried again later each time, as changes are; at a stop each time. */
int enforcer_release_all(struct enforcer *enforcer, enum release_reason reason, uint64_t now_ns,
                         uint64_t wall_ns);

/* What may still be changed, within the node's limits. */
struct room {
    size_t claims;      /* that may be opened */
    size_t writes;      /* in this tick, beside what is wanted already */
    size_t most_writes; /* in a tick, when none was made for a while */
};
struct room enforcer_room(const struct enforcer *enforcer);
/* Whether a change of it, in this tick, would be let through, for all that its own past says. */
enum guard_verdict enforcer_would(const struct enforcer *enforcer, const struct holding *holding);

/* Whether an earlier governor may have left this quota: where its journal was cut, emptied or
 * removed, only the cgroups still show what it set. True for a quota that equals the least of the
 * container's class and that no claim is open for. Its owner may also have asked for it. */
bool enforcer_may_be_left(const struct holding *holding);
/* Logs which these are, in one line; nothing where there are none. */
void enforcer_tell_left(const struct enforcer *enforcer, const struct log *log);

/* For pages and metrics; valid until the next call that changes them. */
const struct enforcer_counts *enforcer_counts(const struct enforcer *enforcer);
const struct holding *enforcer_holdings(const struct enforcer *enforcer, size_t *n);
/* Open claims; of a dry run, those that would be. */
size_t enforcer_open(const struct enforcer *enforcer);
size_t enforcer_open_of(const struct enforcer *enforcer, enum knob knob);

#endif
