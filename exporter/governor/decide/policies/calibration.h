/*
 * What is normal for protected containers, learned while best effort is held: when it is held, for
 * whom, and what came of it (control/control_calibration.h).
 *
 * Once for each start of a container, which is its cgroup: one that has had its time is never held
 * for again, also when it is gone for a while. All that wait for it learn in the same hold. A hold
 * is of ticks in which a container reads memory and uses all of its CPUs, as far as that can be
 * told: by its reference cycles, and by its cpuset, its quota and what the configuration says, the
 * least of them. Where one of both is not known, of ticks in which it has a latency.
 *
 * In a dry run nobody is really held: nothing is learned. One thread; nothing is allocated after
 * new.
 */
#ifndef IE_GOVERNOR_CALIBRATION_H
#define IE_GOVERNOR_CALIBRATION_H

#include "exporter/governor/decide/policies/policy.h"

struct calibration;

/* 0 or -ENOMEM. */
int calibration_new(struct calibration **out);
/* Accepts NULL. */
void calibration_free(struct calibration *calibration);
/* Takes over what 'before' has learned, and when best effort was held, but not its counts; 'before'
 * begins anew. */
void calibration_inherit(struct calibration *calibration, struct calibration *before);

/*
 * A tick, which may be several of the exporter's: begin, hear each protected container, decide.
 *
 * 'quiet': all of best effort has its least. 'longest': seconds for which what is held stays so
 * without a tick.
 */
void calibration_begin(struct calibration *calibration, const struct policy_tick *tick, bool quiet,
                       double longest);
/* 'cores': that it uses when it is fully used, as configured; 0: nobody has said so. The latency
 * that was learned; NaN: none. */
double calibration_hear(struct calibration *calibration, const struct policy_tick *tick,
                        const struct view_container *container, double cores);
/* Whether best effort is to be held until the next tick. 'may_begin': no hold begins otherwise. */
bool calibration_decide(struct calibration *calibration, const struct policy_tick *tick,
                        bool may_begin);

/* A tick in which nothing is decided, and so nothing has changed. */
void calibration_rest(struct calibration *calibration);

/* Of the last tick. NULL: nobody is held. */
const struct policy_calibration *calibration_reason(const struct calibration *calibration);
/* Those of the last tick, and how all have ended. */
void calibration_report(const struct calibration *calibration, struct policy_report *out);
/* A line for each that the last tick has changed. */
void calibration_tell(const struct policy_calibration *list, size_t n, const struct log *log);

#endif
