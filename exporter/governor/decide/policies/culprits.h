/*
 * Which of the containers that a policy may restrict make the protected ones wait.
 *
 * The first of these that has an answer chooses:
 * - wait: for how long a container made others' memory reads wait, by all of its traffic. It is
 *   known of everybody or of nobody, so that a culprit does its share of what all containers do.
 * - latency: how much slower memory is for a container that is named. Who is always equally active
 *   is never named, so that the names of others acquit nobody: a culprit does its share of what
 *   the policy's own containers do, and while none of them is named there is no answer.
 * - reads: of memory, again the share of what the policy's own do.
 *
 * The first two are what the exporter says of causes (ATTRIBUTION.md), as counters: these grow by
 * the readings in which it had an answer, and a gauge would stay for a minute after the last one.
 * Their last answer holds for ten seconds, in which a cut shows; reads are of the last window.
 *
 * One thread; nothing is allocated after new.
 */
#ifndef IE_GOVERNOR_CULPRITS_H
#define IE_GOVERNOR_CULPRITS_H

#include "exporter/governor/decide/policies/policy.h"

struct culprits;

/* share: what a culprit does at least; 0: all are culprits. 0 or -ENOMEM. */
int culprits_new(double share, struct culprits **out);
/* The windows so far; 'before' begins anew. */
void culprits_inherit(struct culprits *culprits, struct culprits *before);
/* Accepts NULL. */
void culprits_free(struct culprits *culprits);

/* A window ends with this tick; the first one only begins. The policy's own containers are those
 * whose knob is its own. */
void culprits_window(struct culprits *culprits, const struct policy_tick *tick, enum knob knob,
                     enum policy_kind policy);

/* What chooses after the last window. */
enum chosen_by culprits_chosen_by(const struct culprits *culprits);
/* Whether governed[i] of the last window's tick, one of the policy's own, is to be cut. */
bool culprits_include(const struct culprits *culprits, size_t i);

#endif
