/*
 * The governor and its parts on the files of a rig. What cannot be had fails the test, with the
 * reason.
 */
#ifndef IE_TESTS_GOVERNOR_START_H
#define IE_TESTS_GOVERNOR_START_H

#include "exporter/governor/act/journal/journal.h"
#include "exporter/governor/decide/governor.h"
#include "tests/unit/support/governor_rig.h"

/* To be freed by config_free(). */
struct config *governor_start_config(const char *text);
/* Protects all of the namespace shop, and has all others as best effort for the policy threshold,
 * with this mode, a factor of 1.1, and "rest" behind. */
struct config *governor_start_threshold(const struct governor_rig *rig, const char *mode,
                                        const char *rest);

/* To be freed by governor_free(); config is borrowed, and 'last', of which it makes a copy of each
 * decision. */
struct governor *governor_start(const struct governor_rig *rig, const struct config *config,
                                bool enforce, uint64_t now_ns, struct decision *last);

/* Frees what a scene was made of; governor and config may be NULL. Nothing is given back. */
void governor_start_undo(struct governor *governor, struct config *config,
                         struct governor_rig *rig);

/* The state directory's, written by 'write', which is borrowed; NULL: one in memory, for a dry
 * run. */
void governor_start_journal(const struct governor_rig *rig, const struct fswrite *write,
                            struct journal *out);

/* How many random sequences: as the environment's GOVERNOR_SEQUENCES says, otherwise this. */
unsigned governor_start_sequences(unsigned otherwise);

#endif
