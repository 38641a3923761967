#include "exporter/state/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/whole.h"

static int explain(char *why, size_t why_size, const char *step, int err)
{
    snprintf(why, why_size, "%s: %s", step, strerror(-err));
    return err;
}

static int refuse(char *why, size_t why_size, const char *words)
{
    snprintf(why, why_size, "%s", words);
    return -EINVAL;
}

/* ---- reading ---- */

static int check(const struct stat *st, size_t max, char *why, size_t why_size)
{
    if (!S_ISREG(st->st_mode))
        return refuse(why, why_size, "it is not a regular file");
    if (st->st_uid != geteuid())
        return refuse(why, why_size, "it belongs to another user");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return refuse(why, why_size, "others can write to it");
    if ((uint64_t)st->st_size > max)
        return refuse(why, why_size, "it is too large");
    return 0;
}

int state_file_read(const char *path, size_t max, uint8_t **bytes, size_t *len, char *why,
                    size_t why_size)
{
    struct stat st;
    uint8_t *buffer = NULL;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP)
        return refuse(why, why_size, "it is a symbolic link");
    if (fd < 0)
        return explain(why, why_size, "it cannot be opened", -errno);
    int err = fstat(fd, &st) == 0 ? check(&st, max, why, why_size)
                                  : explain(why, why_size, "it cannot be read", -errno);
    if (!err) {
        size = (size_t)st.st_size;
        buffer = malloc(size + 1);
        err = buffer ? read_whole(fd, buffer, size, &size) : -ENOMEM;
        if (err)
            explain(why, why_size, "it cannot be read", err);
    }
    close(fd);
    if (err) {
        free(buffer);
        return err;
    }
    *bytes = buffer;
    *len = size;
    return 0;
}

/* ---- replacing ---- */

/* A new file of this name; what a killed exporter left there goes. */
static int create(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(path, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlink(path) == 0)
        fd = open(path, flags, 0600);
    return fd < 0 ? -errno : fd;
}

static int write_new(const char *path, const uint8_t *bytes, size_t len, char *why, size_t why_size)
{
    int fd = create(path);
    if (fd < 0)
        return explain(why, why_size, "cannot create a file beside it", fd);
    int err = write_whole(fd, bytes, len);
    if (!err && fsync(fd) != 0)
        err = -errno;
    if (close(fd) != 0 && !err)
        err = -errno;
    return err ? explain(why, why_size, "cannot write", err) : 0;
}

/* So that the new name outlives a crash of the machine. Not every file system can. */
static int sync_directory(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
    memcpy(directory, slash ? path : ".", len);
    directory[len] = '\0';
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = fsync(fd) == 0 || errno == EINVAL ? 0 : -errno;
    close(fd);
    return err;
}

int state_file_replace(const char *path, const uint8_t *bytes, size_t len, char *why,
                       size_t why_size)
{
    char beside[PATH_MAX];
    int n = snprintf(beside, sizeof beside, "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof beside)
        return explain(why, why_size, "cannot create a file beside it", -ENAMETOOLONG);
    int err = write_new(beside, bytes, len, why, why_size);
    if (!err && rename(beside, path) != 0)
        err = explain(why, why_size, "cannot replace it", -errno);
    if (err) {
        unlink(beside);
        return err;
    }
    err = sync_directory(path);
    return err ? explain(why, why_size, "cannot sync its directory", err) : 0;
}
