#include "exporter/base/fsroot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsroot_move(struct fsroot *fs, enum fsroot_tree tree, const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    for (size_t n = strlen(copy); n > 0 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    free(fs->path[tree]);
    fs->path[tree] = copy;
    return 0;
}

int fsroot_init(struct fsroot *fs, const char *procfs, const char *sysfs, const char *cgroupfs,
                const char *rootfs)
{
    char resctrl[4096];
    const char *given[FSROOT_TREES] = {
        [FSROOT_PROC] = procfs ? procfs : "/proc",
        [FSROOT_SYS] = sysfs ? sysfs : "/sys",
        [FSROOT_CGROUP] = cgroupfs,
        [FSROOT_HOST] = rootfs ? rootfs : "/",
        [FSROOT_RESCTRL] = resctrl,
    };
    *fs = (struct fsroot){{NULL}};
    snprintf(resctrl, sizeof resctrl, "%s/fs/resctrl", given[FSROOT_SYS]);
    for (int i = 0; i < FSROOT_TREES; i++) {
        if (given[i] && fsroot_move(fs, i, given[i]) != 0) {
            fsroot_release(fs);
            return -ENOMEM;
        }
    }
    return 0;
}

void fsroot_release(struct fsroot *fs)
{
    for (int i = 0; i < FSROOT_TREES; i++)
        free(fs->path[i]);
    *fs = (struct fsroot){{NULL}};
}

int fsroot_path(const struct fsroot *fs, enum fsroot_tree tree, const char *relative, char *out,
                size_t size)
{
    if (!fs->path[tree])
        return -ENOENT;
    while (*relative == '/')
        relative++;
    int n = snprintf(out, size, "%s/%s", fs->path[tree], relative);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int fsroot_open(const struct fsroot *fs, enum fsroot_tree tree, const char *relative, int flags)
{
    char path[4096];
    int err = fsroot_path(fs, tree, relative, path, sizeof path);
    if (err)
        return err;
    int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int fsroot_read_fd(int fd, char *out, size_t size, size_t *len)
{
    size_t have = 0;
    while (have < size) {
        ssize_t n = pread(fd, out + have, size - have, (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    if (have == size)
        return -EFBIG;
    out[have] = '\0';
    if (len)
        *len = have;
    return 0;
}

int fsroot_read(const struct fsroot *fs, enum fsroot_tree tree, const char *relative, char *out,
                size_t size, size_t *len)
{
    int fd = fsroot_open(fs, tree, relative, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    int err = fsroot_read_fd(fd, out, size, len);
    close(fd);
    return err;
}

int fsroot_read_u64(const struct fsroot *fs, enum fsroot_tree tree, const char *relative,
                    uint64_t *out)
{
    char text[64];
    int err = fsroot_read(fs, tree, relative, text, sizeof text, NULL);
    if (err)
        return err;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || (*end && *end != '\n'))
        return -EINVAL;
    *out = value;
    return 0;
}
