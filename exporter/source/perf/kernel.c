#include "exporter/source/perf/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/source/perf/perf.h"

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

static int linux_map(void *context, int fd, size_t size, void **out)
{
    (void)context;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    *out = at;
    return 0;
}

static int linux_unmap(void *context, void *at, size_t size)
{
    (void)context;
    return munmap(at, size) < 0 ? -errno : 0;
}

static int linux_wait(void *context, struct pollfd *fds, size_t n, int timeout_ms)
{
    (void)context;
    int ready = poll(fds, n, timeout_ms);
    return ready < 0 ? -errno : ready;
}

const struct perf_kernel perf_kernel_linux = {
    .event_open = linux_event_open,
    .enable = linux_enable,
    .read = linux_read,
    .close = linux_close,
    .map = linux_map,
    .unmap = linux_unmap,
    .wait = linux_wait,
};
