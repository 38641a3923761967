/*
 * The kernel's calls that counters and samplers need, so that tests can be a kernel with a PMU.
 */
#ifndef IE_SOURCE_PERF_KERNEL_H
#define IE_SOURCE_PERF_KERNEL_H

#include <linux/perf_event.h>
#include <poll.h>
#include <stddef.h>
#include <sys/types.h>

/* Each returns -errno on failure. */
struct perf_kernel {
    int (*event_open)(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                      int group_fd, unsigned long flags);
    int (*enable)(void *context, int fd); /* a group's leader, and with it the group */
    ssize_t (*read)(void *context, int fd, void *buffer, size_t size);
    int (*close)(void *context, int fd);
    /* For samplers: an event's ring buffer, and waiting for some of them (the number ready, or 0
     * after the time). */
    int (*map)(void *context, int fd, size_t size, void **out);
    int (*unmap)(void *context, void *at, size_t size);
    int (*wait)(void *context, struct pollfd *fds, size_t n, int timeout_ms);
    void *context;
};

/* The real ones; perf_event_open is called nowhere else. */
extern const struct perf_kernel perf_kernel_linux;

#endif
