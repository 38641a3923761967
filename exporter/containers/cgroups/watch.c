#include "exporter/containers/cgroups/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "exporter/containers/cgroups/long_path.h"

enum { BUFFER_BYTES = 16384 };

int watch_init(struct cgroup_watch *watch, const struct fsroot *fs)
{
    watch->fs = fs;
    watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return watch->fd < 0 ? -errno : 0;
}

void watch_release(struct cgroup_watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
}

/* inotify takes a path only: the one of a descriptor, where the whole is too long. */
static int add_long(struct cgroup_watch *watch, const char *path, uint32_t mask)
{
    char relative[32], of_fd[PATH_MAX];
    int fd = long_path_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fd;
    snprintf(relative, sizeof relative, "self/fd/%d", fd);
    int err = fsroot_path(watch->fs, FSROOT_PROC, relative, of_fd, sizeof of_fd);
    int wd = err ? err : inotify_add_watch(watch->fd, of_fd, mask);
    if (!err && wd < 0)
        wd = -errno;
    close(fd);
    return wd;
}

static int add(struct cgroup_watch *watch, const char *path, uint32_t mask)
{
    if (watch->fd < 0)
        return -ENOSYS;
    if (strlen(path) >= PATH_MAX)
        return add_long(watch, path, mask);
    int wd = inotify_add_watch(watch->fd, path, mask | IN_DONT_FOLLOW);
    return wd < 0 ? -errno : wd;
}

int watch_add(struct cgroup_watch *watch, const char *path, bool files)
{
    return add(watch, path,
               IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR |
                   (files ? IN_MODIFY : 0));
}

int watch_add_file(struct cgroup_watch *watch, const char *path)
{
    return add(watch, path, IN_MODIFY);
}

void watch_remove(struct cgroup_watch *watch, int wd)
{
    if (watch->fd >= 0 && wd >= 0)
        inotify_rm_watch(watch->fd, wd);
}

/* False for an event that does not matter. */
static bool translate(const struct inotify_event *from, struct watch_event *to)
{
    *to = (struct watch_event){.wd = from->wd, .name = from->len > 0 ? from->name : ""};
    if (from->mask & IN_Q_OVERFLOW)
        to->what = WATCH_OVERFLOWED;
    else if (from->mask & IN_IGNORED)
        to->what = WATCH_FORGOTTEN;
    else if (from->mask & IN_ISDIR && from->mask & (IN_CREATE | IN_MOVED_TO))
        to->what = WATCH_APPEARED;
    else if (from->mask & IN_ISDIR && from->mask & (IN_DELETE | IN_MOVED_FROM))
        to->what = WATCH_VANISHED;
    else if (from->mask & IN_MODIFY)
        to->what = WATCH_MODIFIED;
    else
        return false;
    return true;
}

int watch_read(struct cgroup_watch *watch,
               void (*handle)(void *arg, const struct watch_event *event), void *arg)
{
    if (watch->fd < 0)
        return 0;
    char buffer[BUFFER_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;
    do
        n = read(watch->fd, buffer, sizeof buffer);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    int events = 0;
    for (ssize_t at = 0; at < n; events++) {
        const struct inotify_event *from =
            (const struct inotify_event *)(const void *)(buffer + at);
        at += (ssize_t)(sizeof *from + from->len);
        struct watch_event event;
        if (translate(from, &event))
            handle(arg, &event);
    }
    return events;
}
