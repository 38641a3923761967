#include "exporter/governor/act/journal/fswrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A signal may come before anything was written, never in the middle of a control file. */
static int write_once(int fd, const char *bytes, size_t len)
{
    ssize_t n;
    do
        n = write(fd, bytes, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -ENOSPC;
}

static int real_write_at(void *context, int directory, const char *name, const char *text,
                         size_t len)
{
    (void)context;
    int fd = openat(directory, name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int err = write_once(fd, text, len);
    close(fd);
    return err;
}

static int real_open_at(void *context, int directory, const char *name, int empty)
{
    (void)context;
    int flags =
        O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (empty ? O_TRUNC : 0);
    int fd = openat(directory, name, flags, 0600);
    return fd < 0 ? -errno : fd;
}

static int real_append(void *context, int fd, const char *bytes, size_t len)
{
    (void)context;
    return write_once(fd, bytes, len);
}

static int real_make_dir(void *context, int directory, const char *name)
{
    (void)context;
    return mkdirat(directory, name, 0700) ? -errno : 0;
}

static int real_remove_dir(void *context, int directory, const char *name)
{
    (void)context;
    return unlinkat(directory, name, AT_REMOVEDIR) ? -errno : 0;
}

static int real_rename_at(void *context, int directory, const char *from, const char *to)
{
    (void)context;
    return renameat(directory, from, directory, to) ? -errno : 0;
}

static int real_get_affinity(void *context, int tid, cpu_set_t *out)
{
    (void)context;
    return sched_getaffinity(tid, sizeof *out, out) ? -errno : 0;
}

static int real_set_affinity(void *context, int tid, const cpu_set_t *cpus)
{
    (void)context;
    return sched_setaffinity(tid, sizeof *cpus, cpus) ? -errno : 0;
}

const struct fswrite fswrite_real = {
    .write_at = real_write_at,
    .open_at = real_open_at,
    .append = real_append,
    .make_dir = real_make_dir,
    .remove_dir = real_remove_dir,
    .rename_at = real_rename_at,
    .get_affinity = real_get_affinity,
    .set_affinity = real_set_affinity,
};
