/*
 * The tree of nodes and the directories behind them: where they are in the file system, and the
 * watches on them.
 *
 * Directories have a watch each; a candidate's control files are watched, too. All watches of root
 * share one limit with its other daemons, so these take no more than half of it, and those of what
 * has an owner (tree.h) no more than a quarter. Loop thread only.
 */
#ifndef IE_CONTAINERS_CGROUPS_WATCHED_TREE_H
#define IE_CONTAINERS_CGROUPS_WATCHED_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/containers/cgroups/tree.h"

/*
 * inotify on directories: which were made, moved or removed below, and, if asked for, which control
 * files changed.
 */

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

struct watched_tree {
    const struct log *log; /* borrowed */
    const char *root; /* the hierarchy's path as paths are made from it: "" for "/"; borrowed */
    struct node_tree tree;
    struct cgroup_watch watch;
    size_t watches, watches_max; /* that there are; that there may be */
    uint64_t refused;            /* watches that owners' nodes did not get; each try counts */
    bool watches_missing; /* some directory has no watch. Set here, cleared by who watched again */
    bool logged;          /* that watches are missing: once is enough */
};

/* An empty tree. 0 or -ENOMEM. */
int watched_tree_init(struct watched_tree *watched, const struct log *log);
/* Starts watching the hierarchy that is mounted at 'mount'; 'fs' is borrowed. Without inotify,
 * watches are missing. watches_limit: the kernel's for this user; 0: not known. */
void watched_tree_start(struct watched_tree *watched, const struct fsroot *fs, const char *mount,
                        size_t watches_limit);
/* Closes candidates' descriptors, too. */
void watched_tree_release(struct watched_tree *watched);

/* The path in the file system of a file in the node's directory, or of the directory itself (""). 0
 * or -ENAMETOOLONG. */
int watched_tree_path(const struct watched_tree *watched, const struct cgroup_node *node,
                      const char *file, char *out, size_t size);
/* The inode of the directory at this path of the hierarchy, 0 when there is none. */
uint64_t watched_tree_inode(const struct watched_tree *watched, const char *path);
/* A descriptor of the node's directory, or -errno; -ENOENT when it is gone, even if another
 * directory has its path by now. */
int watched_tree_open(const struct watched_tree *watched, const struct cgroup_node *node);

/* Watches the node's directory, if its owner's share allows it, its control files too while it is a
 * candidate, and no longer when it is not. Watching again does no harm. */
void watched_tree_watch(struct watched_tree *watched, struct cgroup_node *node);
/* The kernel dropped the watch of the node's directory. */
void watched_tree_forgotten(struct watched_tree *watched, struct cgroup_node *node);
/* Removes a node without children, and its watches. */
void watched_tree_remove(struct watched_tree *watched, struct cgroup_node *node);

#endif
