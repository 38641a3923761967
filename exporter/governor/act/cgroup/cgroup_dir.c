#include "exporter/governor/act/cgroup/cgroup_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
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

/* And what the root is, if it is there. */
static int open_below(const char *root, const char *path, struct stat *root_st, struct stat *st)
{
    const char *below = path + strspn(path, "/");
    int root_fd = open_directory(AT_FDCWD, root, 0, root_st);
    if (root_fd < 0)
        return root_fd;
    int fd = claim_path_is_safe(path)
                 ? open_directory(root_fd, *below ? below : ".", O_NOFOLLOW, st)
                 : -EINVAL;
    close(root_fd);
    return fd;
}

int cgroup_dir_claim(const char *root, struct claim *claim)
{
    struct stat root_st, st;
    int fd = open_below(root, claim->path, &root_st, &st);
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
    struct stat root_st = {0}, st;
    int fd = open_below(root, claim->path, &root_st, &st), err = fd;
    if (root_st.st_nlink == 0 || !is_same_root(claim, &root_st))
        err = -EXDEV;
    else if (fd == -ENOENT || fd == -ENOTDIR ||
             (fd >= 0 && (st.st_dev != claim->dev || st.st_ino != claim->ino)))
        err = -ENODEV;
    if (err < 0 && fd >= 0)
        close(fd);
    return err;
}
