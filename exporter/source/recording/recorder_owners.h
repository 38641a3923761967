/*
 * The keys of owners: of the scopes that are open with one, in whichever source. Samples carry an
 * owner, lines a key. For recorder.c only.
 */
#ifndef IE_SOURCE_RECORDING_RECORDER_OWNERS_H
#define IE_SOURCE_RECORDING_RECORDER_OWNERS_H

#include "exporter/source/recording/format.h"

/* All zero is empty. */
struct recorder_owners {
    struct recorder_owner {
        uint64_t owner;
        unsigned refs; /* open groups */
        char key[RECORDING_MAX_KEY + 1];
    } * at; /* ascending */
    size_t n, cap;
};

void recorder_owners_release(struct recorder_owners *owners);

/* 0 or -ENOMEM; an owner of 0 is ignored. */
int recorder_owners_hold(struct recorder_owners *owners, uint64_t owner, const char *key);
void recorder_owners_drop(struct recorder_owners *owners, uint64_t owner);
/* The key of an owner that is held, or NULL. */
const char *recorder_owners_key(const struct recorder_owners *owners, uint64_t owner);

#endif
