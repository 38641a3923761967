/*
 * What there is for a policy to hold that holds all or nobody: how much of it is at its least, and
 * what stands against the rest. One thread; allocates nothing.
 */
#ifndef IE_GOVERNOR_SURVEY_H
#define IE_GOVERNOR_SURVEY_H

#include "exporter/governor/decide/policies/policy.h"

enum { SURVEY_OBSTACLE_MAX = 512 };

/* Of the settings that are the policy's. */
struct survey {
    size_t n_held, n_free; /* at their least, and not */
    unsigned knobs;        /* of both: one bit for each */
    /* One that cannot be turned down now, or of which nobody knows what it is; NULL: none. */
    const struct holding *stuck;
    const char *why; /* that is so */
};

/*
 * What has nothing to take, or nobody in it, is not counted; nor is what this machine has not: it
 * is stuck only if it was among 'knobs', which were held before.
 */
void survey_take(struct survey *survey, const struct policy_tick *tick, enum policy_kind policy,
                 unsigned knobs);
/* Why not all can be held in one tick; "": they can, as far as that is known. */
void survey_obstacle(const struct survey *survey, const struct room *room,
                     char out[SURVEY_OBSTACLE_MAX]);

#endif
