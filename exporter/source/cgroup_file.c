#include "exporter/source/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int cgroup_file_open(const char *mount, const char *cgroup, const char *file)
{
    char path[4096];
    if (!mount || !*mount || !cgroup)
        return -ENOENT;
    int n = snprintf(path, sizeof path, "%s%s/%s", mount, cgroup, file);
    if (n < 0 || (size_t)n >= sizeof path)
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int cgroup_file_read(int fd, char *text, size_t size, size_t *len)
{
    ssize_t got;
    do
        got = pread(fd, text, size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == ENODEV ? -ESRCH : -errno; /* the kernel's word for a removed cgroup */
    *len = (size_t)got;
    return 0;
}
