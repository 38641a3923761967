#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "exporter/http/internal.h"

static const char prefix[] = "unix:";

const char *http_unix_path(const char *text)
{
    const char *path = text + sizeof prefix - 1;
    size_t len = strlen(text);
    if (strncmp(text, prefix, sizeof prefix - 1) != 0 || path[0] != '/' ||
        len - (sizeof prefix - 1) >= sizeof((struct sockaddr_un *)NULL)->sun_path ||
        text[len - 1] == '/')
        return NULL;
    return path;
}

/* ---- where it is made ---- */

/* Whoever may write there can put a socket of his own in the place of ours. */
static const char *directory_is_safe(const char *path)
{
    char directory[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
    const char *slash = strrchr(path, '/');
    struct stat st;
    snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(directory, &st))
        return strerror(errno);
    if (!S_ISDIR(st.st_mode))
        return "is not in a directory";
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return "its directory is neither root's nor this user's";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to its directory";
    return NULL;
}

/* Who listens there is not told from who does but has no room. */
static bool somebody_listens(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    int err = connect(fd, (const struct sockaddr *)address, sizeof *address) ? errno : 0;
    close(fd);
    return err != ECONNREFUSED;
}

/* A socket that an earlier run has left behind makes place; nothing else does. */
static const char *make_place(const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(address->sun_path, &st))
        return errno == ENOENT ? NULL : strerror(errno);
    if (!S_ISSOCK(st.st_mode))
        return "something else is there";
    if (st.st_uid != geteuid())
        return "another user's socket is there";
    if (somebody_listens(address))
        return "another program serves it";
    return unlink(address->sun_path) ? strerror(errno) : NULL;
}

/* ---- making it ---- */

/* The mode is that of the descriptor before it has a name: at no moment may others connect. */
static int make_socket(const struct sockaddr_un *address, int *out)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, S_IRUSR | S_IWUSR) ||
        bind(fd, (const struct sockaddr *)address, sizeof *address) || listen(fd, SOMAXCONN)) {
        int err = -errno;
        close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

int listen_unix(const char *path, int *out, char *error, size_t error_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const char *problem = directory_is_safe(path);
    int err = problem ? -EPERM : 0;
    if (!err && (problem = make_place(&address)))
        err = -EADDRINUSE;
    if (!err && (err = make_socket(&address, out)))
        problem = strerror(-err);
    if (err)
        snprintf(error, error_size, "cannot listen on unix:%s: %s", path, problem);
    return err;
}
