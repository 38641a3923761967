/*
 * Who samples are of: the scopes that were opened with an owner, by whichever source counts them.
 * For record.c and record_owners.c only.
 */
#ifndef IE_SOURCE_RECORDING_RECORDER_OWNERS_H
#define IE_SOURCE_RECORDING_RECORDER_OWNERS_H

#include "exporter/source/recording/format.h"

/* All zero is empty. */
struct record_owners {
    struct record_owner {
        uint64_t owner;
        unsigned refs; /* open groups */
        char key[RECORDING_MAX_KEY + 1];
    } * at; /* ascending */
    size_t n, cap;
};

void record_owners_release(struct record_owners *owners);

/* An owner of 0 is nobody. 0 or -ENOMEM. */
int record_owners_hold(struct record_owners *owners, uint64_t owner, const char *key);
void record_owners_drop(struct record_owners *owners, uint64_t owner);
/* The key of an owner that holds something, or NULL. */
const char *record_owners_key(const struct record_owners *owners, uint64_t owner);

#endif
