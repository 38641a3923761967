/*
 * Confirmation by experiment: how much faster memory is while a suspect is held at its least.
 *
 * A suspect is an owner: the same container of all replicas, which are held together. In pairs of
 * slots of 200 ms, one in which it has its least quota and one in which it has all, memory is
 * measured by five bursts; which slot comes first is drawn, and of each two pairs one begins with
 * each. d = ln(free) - ln(held) of a pair; with se the standard error of the mean of d and
 * t = mean/se:
 *
 * - refuted, from ten pairs on, when mean + 3 se < 0.03: what it does is surely less than 3 %;
 * - confirmed, from five on, otherwise, when t >= 4.5;
 * - undecided, when 8 s are used up, or five minutes.
 *
 * ln of the Bayes factor is t^2/2 with the sign of t, between -3 and 6.6; where it is refuted, that
 * of an effect of exactly 3 %: -((0.03 - mean)/se)^2/2, at least -3.
 *
 * An experiment holds 8 s at most, and the next one begins an hour after the last that held anybody
 * has ended, the first an hour after the start: so in any hour no more than 8 s are held, restarts
 * included.
 *
 * A pair comes at the end of a tick. Whoever is held is given back before the turn returns; what
 * then cannot be written is tried again in later ticks, before the policies decide, later each time
 * (guard_failed()), and until then no other slot is held.
 *
 * One thread; no clock but the meter's.
 */
#ifndef IE_GOVERNOR_EXPERIMENT_H
#define IE_GOVERNOR_EXPERIMENT_H

#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/decide/policies/policy.h"

enum {
    EXPERIMENT_SLOT_MS = 200,
    EXPERIMENT_BURSTS = 5,
    EXPERIMENT_LEAST = 5, /* pairs */
    EXPERIMENT_LEAST_REFUTED = 10,
    EXPERIMENT_MOST_MS = 8000, /* held */
    EXPERIMENT_RESULTS = 25,   /* owners whose last one is kept: one an hour, for a day */
};

/* What measures memory. */
struct experiment_meter {
    /* Waits until a slot from now is over: the median of its bursts, seconds. NaN: too few count.
     */
    double (*slot)(void *context);
    uint64_t (*now_ns)(void *context); /* CLOCK_MONOTONIC */
    void *context;
};

enum experiment_verdict {
    EXPERIMENT_RUNNING,
    EXPERIMENT_CONFIRMED,
    EXPERIMENT_REFUTED,
    EXPERIMENT_UNDECIDED,
    EXPERIMENT_ABANDONED, /* its suspect is another now, others are held, or nobody may be */
    EXPERIMENT_VERDICTS
};
extern const char *const experiment_verdict_names[EXPERIMENT_VERDICTS];

struct experiment_result {
    char container[CLAIM_NAME_MAX]; /* namespace/pod/container, of the first one of its owner */
    uint64_t owner;                 /* view_owner(); 0: nobody's */
    size_t containers;              /* of it that were held, at the beginning */
    enum experiment_verdict verdict;
    unsigned pairs;
    double effect, error; /* mean of d and its standard error; NaN: fewer than two pairs */
    double prior; /* probability that it is the cause, as the exporter said; NaN: it did not */
    double probability; /* and with this */
    double held_seconds;
    uint64_t ended_wall_ns, ended_ns; /* 0: it is under way */
};

struct experiment {
    struct experiment_result now; /* owner 0: none is under way */
    double mean, squares;         /* of d, and the sum of squares about it */
    double cpus;                  /* that it used at the beginning */
    uint64_t random, began_ns, pair_ns;
    uint64_t ended_ns; /* the last one that held anybody, or the start */
    unsigned tries;    /* pairs begun */
    bool held_first;
    uint64_t held_since_ns; /* 0: nobody is held */
    struct experiment_result results[EXPERIMENT_RESULTS];
};

void experiment_init(struct experiment *experiment, uint64_t now_ns);

/* Whether one may begin: none is under way, and the last that held anybody ended an hour ago. */
bool experiment_may_begin(const struct experiment *experiment, uint64_t now_ns);
void experiment_begin(struct experiment *experiment, const char *container, uint64_t owner,
                      double prior, size_t containers, double cpus, uint64_t now_ns);
/* Whether there is time for another slot that is held. */
bool experiment_may_hold(const struct experiment *experiment, uint64_t now_ns);
/* Draws whether the next pair's held slot comes first. */
bool experiment_next_pair(struct experiment *experiment, uint64_t now_ns);
/* One pair's latencies; the verdict so far. */
enum experiment_verdict experiment_add(struct experiment *experiment, double held, double free_);
/* Keeps the result, and returns it. */
const struct experiment_result *experiment_end(struct experiment *experiment,
                                               enum experiment_verdict verdict, uint64_t now_ns,
                                               uint64_t wall_ns);

/* An owner's last result of a day; NULL: there is none. */
const struct experiment_result *experiment_last_of(const struct experiment *experiment,
                                                   uint64_t owner, uint64_t now_ns);

/* ---- a turn ---- */

struct experiment_turn {
    struct experiment *experiment;
    struct enforcer *enforcer;
    const struct governed *governed;
    size_t n;
    double sure;  /* from this probability on nobody has to be tried */
    bool waiting; /* a policy sees what comes of what it gave back */
    const struct log *log;
    uint64_t now_ns, wall_ns; /* both clocks at the same time, at the turn's begin */
};

/*
 * A pair, at most one in a second, if there is somebody to try: best effort that is suspected with
 * a probability from a half to 'sure', or in a group, whose containers use three times what is left
 * to them while all are held, and nobody holds anything. Who was not tried for the longest time
 * comes first, of several the most probable. 0.4 s.
 */
void experiment_turn(const struct experiment_turn *turn, const struct experiment_meter *meter);
/* The experiment under way, if any, ends without a verdict. */
void experiment_abandon(const struct experiment_turn *turn);
/* Tries again what could not be given back. */
void experiment_give_back(const struct experiment_turn *turn, uint64_t now_ns);

#endif
