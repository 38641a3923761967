/*
 * Another basis of what is normal for a container moves its threshold, so it is told: in a counter,
 * in the log, and with its time in the API. Loop thread.
 */
#ifndef IE_COLLECTORS_CORE_LATENCY_CHANGES_H
#define IE_COLLECTORS_CORE_LATENCY_CHANGES_H

#include "collectors/contract/collector.h"
#include "collectors/core_latency/limits.h"

struct basis_changes {
    struct series *to[BASES]; /* those that are learned; NULL: the others */
};

/* Zeroed before; released even after an error. */
int basis_changes_init(struct basis_changes *changes, struct store *store, const char *owner);
void basis_changes_release(struct basis_changes *changes);

/* After limits_update: counts and logs it, if there is another one than at the last call. */
void basis_changes_tell(struct basis_changes *changes, struct limits *limits, const char *path,
                        const struct tick *tick, const struct log *log);

#endif
