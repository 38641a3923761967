/*
 * How long the tasks of a cgroup waited for CPUs, from /proc/TID/schedstat: for kernels without
 * pressure stall information.
 */
#ifndef IE_SOURCE_WAITS_DELAYS_H
#define IE_SOURCE_WAITS_DELAYS_H

#include "exporter/base/fsroot.h"
#include "exporter/source/waits/waits.h"

/* A file for each task is much to read: of a cgroup with more, the delay is not known. */
enum { DELAYS_TASKS = 8 };

struct waits_delays {
    size_t n;
    struct {
        uint64_t task, ns;
    } at[DELAYS_TASKS];
    uint64_t total_ns; /* since the first reading; of tasks that ended, up to the reading before */
};

/* 0; -ENODATA: too many tasks, none, or none that can be seen from here. */
int waits_delays_read(struct waits_delays *delays, const struct waits_config *config,
                      const char *path, char *text, size_t size);

#endif
