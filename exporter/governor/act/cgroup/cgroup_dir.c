#include "exporter/governor/act/cgroup/cgroup_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int open_directory(int at, const char *path, int flags, struct stat *st)
{
    int fd = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd >= 0 && fstat(fd, st) == 0)
        return fd;
    int err = -errno;
    if (fd >= 0)
        close(fd);
    return err;
}

static int open_below(int root, const char *path, struct stat *st)
{
    if (!claim_path_is_safe(path))
        return -EINVAL;
    const char *below = path + strspn(path, "/");
    return open_directory(root, *below ? below : ".", O_NOFOLLOW, st);
}

int cgroup_dir_open(const char *root, const char *path, struct stat *st)
{
    struct stat root_st;
    int root_fd = open_directory(AT_FDCWD, root, 0, &root_st);
    if (root_fd < 0)
        return root_fd;
    int fd = open_below(root_fd, path, st);
    close(root_fd);
    return fd;
}

int cgroup_dir_claim(const char *root, struct claim *claim)
{
    struct stat root_st, st;
    int root_fd = open_directory(AT_FDCWD, root, 0, &root_st);
    if (root_fd < 0)
        return root_fd;
    int fd = open_below(root_fd, claim->path, &st);
    close(root_fd);
    if (fd < 0)
        return fd;
    claim->dev = st.st_dev;
    claim->ino = st.st_ino;
    claim->root_dev = root_st.st_dev;
    claim->root_ino = root_st.st_ino;
    return fd;
}

/* Journals of earlier versions do not say which root it was. */
static bool is_same_root(const struct claim *claim, const struct stat *st)
{
    return claim->root_ino == 0 || (st->st_dev == claim->root_dev && st->st_ino == claim->root_ino);
}

int cgroup_dir_open_claimed(const char *root, const struct claim *claim)
{
    struct stat root_st, st;
    int root_fd = open_directory(AT_FDCWD, root, 0, &root_st);
    if (root_fd < 0)
        return -EXDEV;
    int fd = is_same_root(claim, &root_st) ? open_below(root_fd, claim->path, &st) : -EXDEV;
    close(root_fd);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return -ENODEV;
    if (fd < 0 || (st.st_dev == claim->dev && st.st_ino == claim->ino))
        return fd;
    close(fd);
    return -ENODEV;
}
