#include "exporter/containers/cgroups/watched_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/long_path.h"

/* ---- watches ---- */

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

static void lost_watch(struct watched_tree *watched, int err)
{
    watched->watches_missing = true;
    if (watched->logged)
        return;
    watched->logged = true;
    log_warn(watched->log, "containers",
             "cannot watch every cgroup (%s): scanning all of them every second instead%s",
             strerror(-err), err == -ENOSPC ? "; raise fs.inotify.max_user_watches" : "");
}

int watched_tree_init(struct watched_tree *watched, const struct log *log)
{
    *watched = (struct watched_tree){.log = log, .root = "", .watch.fd = -1};
    return node_tree_init(&watched->tree);
}

void watched_tree_start(struct watched_tree *watched, const struct fsroot *fs, const char *mount,
                        size_t watches_limit)
{
    watched->watches_max = watches_limit > 0 ? watches_limit / 2 : SIZE_MAX;
    watched->root = strcmp(mount, "/") == 0 ? "" : mount;
    int err = watch_init(&watched->watch, fs);
    if (err)
        lost_watch(watched, err);
}

void watched_tree_release(struct watched_tree *watched)
{
    const struct cgroup_node *node;
    TAILQ_FOREACH(node, &watched->tree.all, all) {
        if (node->fd >= 0)
            close(node->fd);
    }
    node_tree_release(&watched->tree);
    watch_release(&watched->watch);
}

/* ---- directories ---- */

int watched_tree_path(const struct watched_tree *watched, const struct cgroup_node *node,
                      const char *file, char *out, size_t size)
{
    int n = snprintf(out, size, "%s%s%s%s", watched->root, node->path, *file ? "/" : "", file);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static bool long_status(const char *path, struct stat *out)
{
    int fd = long_path_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is_there = fd >= 0 && fstat(fd, out) == 0;
    if (fd >= 0)
        close(fd);
    return is_there;
}

uint64_t watched_tree_inode(const struct watched_tree *watched, const char *path)
{
    char full[CGROUP_PATH_BYTES];
    struct stat st;
    int n = snprintf(full, sizeof full, "%s%s", watched->root, path);
    if (n < 0 || (size_t)n >= sizeof full)
        return 0;
    bool is_there = n < PATH_MAX ? lstat(full, &st) == 0 : long_status(full, &st);
    return is_there && S_ISDIR(st.st_mode) ? st.st_ino : 0;
}

int watched_tree_open(const struct watched_tree *watched, const struct cgroup_node *node)
{
    char path[CGROUP_PATH_BYTES];
    if (watched_tree_path(watched, node, "", path, sizeof path) != 0)
        return -ENAMETOOLONG;
    int fd = long_path_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fd;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_ino == node->cgroup_id)
        return fd;
    close(fd);
    return -ENOENT;
}

/* ---- watches ---- */

static bool may_watch(const struct watched_tree *watched, const struct cgroup_node *node)
{
    return watched->watches < (node->owner ? watched->watches_max / 2 : watched->watches_max);
}

void watched_tree_forgotten(struct watched_tree *watched, struct cgroup_node *node)
{
    watched->watches -= node->wd >= 0;
    node_set_wd(&watched->tree, node, -1);
}

static void unwatch(struct watched_tree *watched, int wd)
{
    watch_remove(&watched->watch, wd);
    watched->watches -= wd >= 0;
}

static void watch_events_file(struct watched_tree *watched, struct cgroup_node *node)
{
    char path[CGROUP_PATH_BYTES];
    if (node->kind != NODE_CANDIDATE) {
        unwatch(watched, node->events_wd);
        node->events_wd = -1;
    } else if (node->events_wd < 0 && !may_watch(watched, node)) {
        return; /* processes, or the rescan, will tell */
    } else if (watched_tree_path(watched, node, "cgroup.events", path, sizeof path) == 0) {
        int wd = watch_add_file(&watched->watch, path);
        watched->watches += node->events_wd < 0 && wd >= 0;
        node->events_wd = wd < 0 ? -1 : wd; /* without it: likewise */
    }
}

void watched_tree_watch(struct watched_tree *watched, struct cgroup_node *node)
{
    char path[CGROUP_PATH_BYTES];
    int wd = watched_tree_path(watched, node, "", path, sizeof path);
    if (wd == 0 && node->wd < 0 && !may_watch(watched, node)) {
        if (node->owner)
            watched->refused++;
        else
            lost_watch(watched, -ENOSPC);
        return;
    }
    if (wd == 0)
        wd = watch_add(&watched->watch, path, node->kind == NODE_CANDIDATE);
    if (wd < 0) {
        if (wd != -ENOENT && wd != -ENOTDIR)
            lost_watch(watched, wd);
        return;
    }
    if (!node_find_wd(&watched->tree, wd)) {
        watched->watches += node->wd < 0;
        node_set_wd(&watched->tree, node, wd);
    }
    watch_events_file(watched, node);
}

void watched_tree_remove(struct watched_tree *watched, struct cgroup_node *node)
{
    unwatch(watched, node->wd);
    unwatch(watched, node->events_wd);
    node_remove(&watched->tree, node);
}
