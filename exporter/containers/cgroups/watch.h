/*
 * inotify on directories: which were made, moved or removed below, and, if asked for, which control
 * files changed.
 */
#ifndef IE_CONTAINERS_CGROUPS_WATCH_H
#define IE_CONTAINERS_CGROUPS_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"

struct cgroup_watch {
    int fd;                  /* -1: inotify cannot be had */
    const struct fsroot *fs; /* borrowed: for paths that are too long for inotify */
};

struct watch_event {
    enum watch_what {
        WATCH_APPEARED,   /* a directory of this name */
        WATCH_VANISHED,   /* a directory of this name */
        WATCH_MODIFIED,   /* a control file of this name */
        WATCH_FORGOTTEN,  /* the kernel dropped the watch: its directory is gone */
        WATCH_OVERFLOWED, /* events were lost; wd is -1 */
    } what;
    int wd;
    const char *name;
};

/* fd stays -1 on failure, and adding fails with -ENOSYS. */
int watch_init(struct cgroup_watch *watch, const struct fsroot *fs);
void watch_release(struct cgroup_watch *watch);

/*
 * A watch descriptor, or -errno; -ENOSPC: the user's limit is reached
 * (fs.inotify.max_user_watches). A directory that has a watch already keeps its descriptor and
 * gets the new choice of files.
 */
int watch_add(struct cgroup_watch *watch, const char *path, bool files);
/*
 * The kernel reports changes that it makes itself (cgroup.events) only for files whose inode it has
 * at hand, and a watch on the file holds its inode. The watch of the directory reports the change,
 * too.
 */
int watch_add_file(struct cgroup_watch *watch, const char *path);
void watch_remove(struct cgroup_watch *watch, int wd);

/*
 * Reads the events that are there, at most one buffer of some hundred, and hands each to 'handle'.
 * Returns the number of events, 0 when there was none, or -errno.
 */
int watch_read(struct cgroup_watch *watch,
               void (*handle)(void *arg, const struct watch_event *event), void *arg);

#endif
