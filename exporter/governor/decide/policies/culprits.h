/*
 * Which of the containers that a policy may restrict make the protected ones wait.
 *
 * By owner, which is the same container of all replicas of a Deployment and of all runs of a
 * CronJob (exporter/containers/workload.h): the harm of all of them is added up, and what is past
 * counts less, by a factor e in ten minutes. The culprits are the smallest set of owners that
 * together do 'share' of what the policy's own do, without those who did less than a hundredth of
 * it in this window, or, while they are held, for ten seconds. So nobody escapes for being one of
 * many; who is held, and does little harm meanwhile, is still known; and who does nothing now is
 * not cut for what somebody else does.
 *
 * The first of these that has an answer says what harm is:
 * - wait: for how long a container made others' memory reads wait, by all of its traffic. It is
 *   known of everybody or of nobody: while the policy's own do less than a tenth of it all, there
 *   are no culprits.
 * - latency: how much slower memory is for a container that is named, and that makes it so with a
 *   probability of 'sure' at least, where one is said, or whose owner was confirmed by an
 *   experiment. Who is always equally active is never named, so that the names of others acquit
 *   nobody: while none of the policy's own is named there is no answer.
 * - reads: of memory.
 *
 * The first two are what the exporter says of causes (ATTRIBUTION.md), as counters: these grow by
 * the readings in which it had an answer, and a gauge would stay for a minute after the last one.
 * Their last answer holds for ten seconds, in which a cut shows.
 *
 * One thread; nothing is allocated after new.
 */
#ifndef IE_GOVERNOR_CULPRITS_H
#define IE_GOVERNOR_CULPRITS_H

#include "exporter/governor/decide/policies/policy.h"

struct culprits;

/* 'sure' where nobody has configured another one. */
#define CULPRITS_SURE 0.95

/* share: what the culprits do together; 0: all are culprits. 0 or -ENOMEM. */
int culprits_new(double share, double sure, struct culprits **out);
/* Takes over the windows of 'before', which begins anew. */
void culprits_inherit(struct culprits *culprits, struct culprits *before);
/* Accepts NULL. */
void culprits_free(struct culprits *culprits);

/* A window ends with this tick; the first one only begins. The policy's own containers are those
 * whose knob is its own. Chooses among all owners. */
void culprits_window(struct culprits *culprits, const struct policy_tick *tick, enum knob knob,
                     enum policy_kind policy);
/* Chooses anew, without the owners for whom 'leave_out' says so; NULL: among all. Where nobody whom
 * the first answer names is left, the next one chooses. */
void culprits_choose(struct culprits *culprits, bool (*leave_out)(void *context, uint64_t owner),
                     void *context);

/* What chose. */
enum chosen_by culprits_chosen_by(const struct culprits *culprits);
/* Whether governed[i] of the last window's tick, one of the policy's own, is to be cut. */
bool culprits_include(const struct culprits *culprits, size_t i);
/* Of governed[i] of the last window's tick: the same for all containers of its owner. Never 0. */
uint64_t culprits_owner(const struct culprits *culprits, size_t i);

#endif
