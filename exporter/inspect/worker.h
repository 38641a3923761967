/* Answers questions about processes, one after the other, until the other end is closed. */
#ifndef IE_INSPECT_WORKER_H
#define IE_INSPECT_WORKER_H

#include "exporter/base/fsroot.h"
#include "exporter/source/accesses/medium.h"

struct worker_config {
    int channel;
    const struct fsroot *fs;
    struct medium_rule *rule; /* NULL: pmem.h's */
};

/* What a worker gives up before it answers: all system calls but these. */
extern const char worker_calls[];

/* 0 at the end, or -errno. Does not close the channel. */
int worker_run(const struct worker_config *config);

#endif
