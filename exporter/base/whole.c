#include "exporter/base/whole.h"

#include <errno.h>
#include <unistd.h>

int read_whole(int fd, void *bytes, size_t size, size_t *len)
{
    char *at = bytes;
    size_t have = 0;
    while (have < size) {
        ssize_t n = read(fd, at + have, size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    *len = have;
    return 0;
}

int write_whole(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
