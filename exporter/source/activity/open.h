/*
 * Which file has a container's or the machine's CPU time, and what to say of it.
 */
#ifndef IE_SOURCE_ACTIVITY_OPEN_H
#define IE_SOURCE_ACTIVITY_OPEN_H

#include "exporter/base/fsroot.h"
#include "exporter/source/activity/activity.h"
#include "exporter/source/activity/parse.h"

/*
 * An open file of the kernel with CPU times, read as rows of CPUs.
 */

/* Buffers for one reading, and what they need to know of the machine; one for all files. */
struct activity_buffer {
    char *text;
    size_t size; /* of the longest text */
    uint64_t *numbers;
    int *possible; /* the CPU of each number of cpuacct.usage_percpu */
    struct cpu_time *times;
    size_t n; /* of 'possible', and room in the other two */
    unsigned ticks;
};

/* 0 or -ENOMEM. */
int activity_buffer_init(struct activity_buffer *buffer, const struct fsroot *fs);
void activity_buffer_release(struct activity_buffer *buffer);

/*
 * Reads into buffer->times: one entry per CPU, or one with CPU -1 for a sum. 0 with *n; -ESRCH when
 * the cgroup is gone; other -errno. Allocates nothing.
 */
int activity_file_read(int fd, enum activity_way way, struct activity_buffer *buffer, size_t *n);

/* "cpuacct.usage_percpu, per CPU" and so on. */
const char *activity_way_words(enum activity_way way);

/*
 * Opens the file of a way and reads it once, into the buffer. A descriptor of the caller's, with
 * *n; or -errno, -ENOENT when the way is not there for this scope, -ESRCH when its cgroup is gone.
 */
int activity_file_open(const struct activity_config *config, const struct scope *scope,
                       enum activity_way way, struct activity_buffer *buffer, size_t *n);

#endif
