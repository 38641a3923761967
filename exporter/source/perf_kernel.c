#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/source/perf.h"

static int linux_event_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                            int group_fd, unsigned long flags)
{
    (void)context;
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
    return fd < 0 ? -errno : (int)fd;
}

static int linux_enable(void *context, int fd)
{
    (void)context;
    return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

static ssize_t linux_read(void *context, int fd, void *buffer, size_t size)
{
    (void)context;
    ssize_t n = read(fd, buffer, size);
    return n < 0 ? -errno : n;
}

static int linux_close(void *context, int fd)
{
    (void)context;
    return close(fd) < 0 ? -errno : 0;
}

const struct perf_kernel perf_kernel_linux = {
    .event_open = linux_event_open,
    .enable = linux_enable,
    .read = linux_read,
    .close = linux_close,
};

size_t perf_raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        limit.rlim_cur = before;
    return limit.rlim_cur > SIZE_MAX ? SIZE_MAX : (size_t)limit.rlim_cur;
}
