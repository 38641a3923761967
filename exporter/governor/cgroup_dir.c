#include "exporter/governor/cgroup_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { ROOT_MAX = 4096 };

int cgroup_dir_open(const char *root, const char *path, struct stat *st)
{
    char whole[ROOT_MAX + CLAIM_PATH_MAX];
    if (!claim_path_is_safe(path))
        return -EINVAL;
    int n = snprintf(whole, sizeof whole, "%s%s", root, path);
    if (n < 0 || (size_t)n >= sizeof whole)
        return -ENAMETOOLONG;
    int fd = open(whole, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, st) == 0)
        return fd;
    int err = -errno;
    if (fd >= 0)
        close(fd);
    return err;
}

int cgroup_dir_open_claimed(const char *root, const struct claim *claim)
{
    struct stat st;
    int fd = cgroup_dir_open(root, claim->path, &st);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return -ENODEV;
    if (fd < 0 || (st.st_dev == claim->dev && st.st_ino == claim->ino))
        return fd;
    close(fd);
    return -ENODEV;
}
