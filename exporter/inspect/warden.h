/* The process that keeps the privileges to look into others, and has workers use them; for
 * inspector.c. */
#ifndef IE_INSPECT_WARDEN_H
#define IE_INSPECT_WARDEN_H

#include <stdint.h>
#include <sys/types.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/accesses/medium.h"

/* A datagram of a worker's has a channel and the number of the process at its other end; one of
 * the reader's the number of the process whose answer it does not wait for any longer. */
struct warden_message {
    int32_t worker;
};

/* 'control' is to the reader: workers' channels; from it: which one is to be left alone. 'rule' may
 * be NULL: pmem.h's. Until the reader is gone; in a worker that it forked, until that has ended.
 * Returns the process's status; descriptors are left to its end. */
int warden_run(int control, const struct fsroot *fs, struct medium_rule *rule,
               const struct log *log);

#endif
