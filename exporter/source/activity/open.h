/*
 * Which file has a container's or the machine's CPU time, and what to say of it.
 */
#ifndef IE_SOURCE_ACTIVITY_OPEN_H
#define IE_SOURCE_ACTIVITY_OPEN_H

#include "exporter/source/activity/file.h"

/* "cpuacct.usage_percpu, per CPU" and so on. */
const char *activity_way_words(enum activity_way way);

/*
 * Opens the file of a way and reads it once, into the buffer. A descriptor of the caller's, with
 * *n; or -errno, -ENOENT when the way is not there for this scope, -ESRCH when its cgroup is gone.
 */
int activity_file_open(const struct activity_config *config, const struct scope *scope,
                       enum activity_way way, struct activity_buffer *buffer, size_t *n);

#endif
