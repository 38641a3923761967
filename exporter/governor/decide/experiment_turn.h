/*
 * One pair of an experiment (experiment.h) at the end of a tick: who is tried, held and given back.
 *
 * Whoever is held is given back before the turn returns; what then cannot be written is tried again
 * in later ticks, before the policies decide, later each time (guard_failed()), and until then no
 * other slot is held.
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
