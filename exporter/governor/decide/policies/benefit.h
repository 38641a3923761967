/*
 * Whether holding an owner's containers (culprits.h) makes a protected container wait less: by the
 * governor's own cuts, for each pair of victim and culprit.
 *
 * What is known of a pair is a line through its windows (control_response.h), x what the owner may
 * have: of half an hour, and of the last half minute. Where a victim still waits although its
 * culprit is held, and it is not known that this helps, the culprit is tried: it gets everything
 * back for a few windows, or as much as does not hurt another victim. If the victim then waits as
 * long as before, but for 5 %, holding the culprit changes nothing: the pair is barred for ten
 * minutes, and twice as long each time up to an hour, in which the victim is no reason to hold it.
 * If the victim waits longer, the culprit is held again, and it is known for an hour that this
 * helps, or for ten minutes where it is not beyond doubt; unless the victim waits as long while the
 * culprit is held, for then it was chance.
 *
 * Keys are the caller's, and never 0. Pairs are 256 at most: of more the one that was heard of
 * longest ago is forgotten. One thread; nothing is allocated after new.
 */
#ifndef IE_GOVERNOR_BENEFIT_H
#define IE_GOVERNOR_BENEFIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct benefit;

enum benefit_trial {
    BENEFIT_NO_TRIAL,
    BENEFIT_ALL_BACK,
    BENEFIT_PART_BACK /* for another victim is better off while he is held: what was calm for it */
};

/* 0 or -ENOMEM. */
int benefit_new(struct benefit **out);
/* Accepts NULL. */
void benefit_free(struct benefit *benefit);
/* Takes over what 'before' has learned, which begins anew. */
void benefit_inherit(struct benefit *benefit, struct benefit *before);

/* A window: begin, hear each protected container that has a latency, see each container that may be
 * held and what it had in the window, end. Seconds. */
void benefit_begin(struct benefit *benefit, double now);
void benefit_hear(struct benefit *benefit, uint64_t victim, double latency);
void benefit_see(struct benefit *benefit, uint64_t owner, double value, double least, double most);
void benefit_end(struct benefit *benefit);

/* The victim waits, and the owner is among those who are held for it: from now on it is learned
 * what of it helps. */
void benefit_accuse(struct benefit *benefit, uint64_t victim, uint64_t owner);
/* The same after the owner was cut, and maybe for long at its least. True: a trial of it has begun,
 * with its other pairs that were accused in this window. */
bool benefit_try(struct benefit *benefit, uint64_t victim, uint64_t owner, bool at_least_for_long);

/* The victim is no reason to hold the owner. */
bool benefit_is_barred(const struct benefit *benefit, uint64_t victim, uint64_t owner);
/* Somebody is barred, or on trial. */
bool benefit_bars_anybody(const struct benefit *benefit);
/* What the owner has got back, for a trial. */
enum benefit_trial benefit_on_trial(const struct benefit *benefit, uint64_t owner);
bool benefit_tries(const struct benefit *benefit, uint64_t victim, uint64_t owner);
/* Breaks off a trial, since another victim waits. */
void benefit_break_off(struct benefit *benefit, uint64_t owner);
/* Whether a trial that ended in this window has shown that holding the owner changes nothing. */
bool benefit_is_acquitted(const struct benefit *benefit, uint64_t owner);

/* How often a pair was barred, since new. */
uint64_t benefit_bars(const struct benefit *benefit);

#endif
