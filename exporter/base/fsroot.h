/*
 * Where the kernel's file trees are. The only place that spells /proc and /sys.
 *
 * A DaemonSet sees the host's trees under other paths (--path.*), and tests point at fixtures.
 * Immutable after init; any thread may read through it.
 */
#ifndef IE_BASE_FSROOT_H
#define IE_BASE_FSROOT_H

#include <stddef.h>
#include <stdint.h>

enum fsroot_tree {
    FSROOT_PROC,
    FSROOT_SYS,
    FSROOT_CGROUP,  /* only when a path was given; otherwise containers/cgroups/hierarchy.h finds it
                    */
    FSROOT_HOST,    /* the host's root: container runtimes' state and logs */
    FSROOT_RESCTRL, /* fs/resctrl of FSROOT_SYS, unless it is elsewhere */
    FSROOT_TREES
};

struct fsroot {
    char *path[FSROOT_TREES]; /* owned; path[FSROOT_CGROUP] may be NULL */
};

/* NULL means the default: /proc, /sys, discovery, "/". Returns 0 or -ENOMEM. */
int fsroot_init(struct fsroot *fs, const char *procfs, const char *sysfs, const char *cgroupfs,
                const char *rootfs);
void fsroot_release(struct fsroot *fs);
/* One tree is elsewhere; before anybody reads. 0, or -ENOMEM, and then nothing has changed. */
int fsroot_move(struct fsroot *fs, enum fsroot_tree tree, const char *path);

/* The path of 'relative' (with or without a leading slash) below a tree. 0, -ENAMETOOLONG, or
 * -ENOENT when the tree has no path. */
int fsroot_path(const struct fsroot *fs, enum fsroot_tree tree, const char *relative, char *out,
                size_t size);

/* A close-on-exec file descriptor, or -errno. */
int fsroot_open(const struct fsroot *fs, enum fsroot_tree tree, const char *relative, int flags);

/* Reads a small file whole and NUL-terminates it. *len (may be NULL) does not count the NUL.
 * -EFBIG when the file does not fit in size - 1 bytes. */
int fsroot_read(const struct fsroot *fs, enum fsroot_tree tree, const char *relative, char *out,
                size_t size, size_t *len);

/* Reads a file that holds one number, decimal or 0x hexadecimal. -EINVAL when it does not. */
int fsroot_read_u64(const struct fsroot *fs, enum fsroot_tree tree, const char *relative,
                    uint64_t *out);

/* As fsroot_read, from an open descriptor. Uses pread from offset 0, so that a descriptor can be
 * kept open and read once a tick. */
int fsroot_read_fd(int fd, char *out, size_t size, size_t *len);

#endif
