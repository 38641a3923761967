#include "exporter/base/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

static const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

int sealed_file_new(const void *bytes, size_t len, int *out)
{
    int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int err = write_whole(fd, bytes, len);
    if (!err && fcntl(fd, F_ADD_SEALS, seals) != 0)
        err = -errno;
    if (err) {
        close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

bool sealed_file_is(int fd, size_t len)
{
    struct stat st;
    int has = fcntl(fd, F_GET_SEALS);
    return has >= 0 && (has & seals) == seals && fstat(fd, &st) == 0 &&
           (uintmax_t)st.st_size == len;
}
