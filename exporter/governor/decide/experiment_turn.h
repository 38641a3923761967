/*
 * One pair of an experiment (experiment.h) at the end of a tick: who is tried, held and given back.
 *
 * Whoever is held is given back before the turn returns; what then cannot be written is tried again
 * with each tick, before the policies decide, and until then no other slot is held.
 */
#ifndef IE_GOVERNOR_EXPERIMENT_TURN_H
#define IE_GOVERNOR_EXPERIMENT_TURN_H

#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/decide/experiment.h"
#include "exporter/governor/decide/policies/policy.h"

struct experiment_turn {
    struct experiment *experiment;
    struct enforcer *enforcer;
    const struct governed *governed;
    size_t n;
    double sure; /* from this probability on nobody has to be tried */
    const struct log *log;
    uint64_t wall_ns;
    /* Begins a tick of the enforcer anew, and sees all containers again. */
    void (*see)(void *context, uint64_t now_ns);
    void *context;
};

/* A pair, at most one in a second, if there is somebody to try: best effort, suspected with a
 * probability from a half to 'sure', of whose CPUs its least would take a third or more, and nobody
 * holds anything. 0.4 s. */
void experiment_turn(const struct experiment_turn *turn, const struct experiment_meter *meter);
/* The experiment under way, if any, ends without a verdict. */
void experiment_abandon(const struct experiment_turn *turn, uint64_t now_ns);
/* Tries again what could not be given back. */
void experiment_give_back(const struct experiment_turn *turn, uint64_t now_ns);

#endif
