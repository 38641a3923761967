#include "exporter/source/recording/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return -ENOTSUP;
    return st->st_uid == geteuid() && st->st_nlink == 1 ? 0 : -EPERM;
}

/* Without blocking, for the name may be a pipe's; emptied only when it is known to be ours. */
int output_open(struct output *output, const char *path)
{
    struct stat st;
    *output = (struct output){.fd = -1};
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == ENXIO ? -ENOTSUP : -errno;
    int err = fstat(fd, &st) == 0 ? check(&st) : -errno;
    if (!err && (fchmod(fd, 0600) != 0 || ftruncate(fd, 0) != 0))
        err = -errno;
    if (err)
        close(fd);
    else
        output->fd = fd;
    return err;
}

const char *output_why(int err)
{
    switch (err) {
    case -ELOOP:
        return "it is a symbolic link";
    case -ENOTSUP:
        return "it is not a regular file";
    case -EPERM:
        return "it belongs to another user, or has other names too";
    default:
        return strerror(-err);
    }
}

int output_write(struct output *output, const char *bytes, size_t n)
{
    if (output->max_bytes && (n > output->max_bytes || output->written > output->max_bytes - n))
        return -EFBIG;
    while (n > 0) {
        ssize_t done = write(output->fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        bytes += done;
        n -= (size_t)done;
        output->written += (uint64_t)done;
    }
    return 0;
}

void output_mark(struct output *output)
{
    output->whole = output->written;
}

int output_cut(struct output *output)
{
    output->written = output->whole;
    return ftruncate(output->fd, (off_t)output->whole) == 0 ? 0 : -errno;
}

int output_close(struct output *output)
{
    int fd = output->fd;
    output->fd = -1;
    return fd >= 0 && close(fd) != 0 ? -errno : 0;
}
