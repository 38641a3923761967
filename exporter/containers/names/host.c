#include "exporter/containers/names/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

int host_open(const struct fsroot *fs, const char *relative, int flags)
{
    char root[4096];
    int err = fsroot_path(fs, FSROOT_HOST, "", root, sizeof root);
    if (err)
        return err;
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return -errno;
    const struct open_how how = {
        .flags = (unsigned)(flags | O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT,
    };
    long fd = syscall(SYS_openat2, root_fd, relative, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* before Linux 5.6; old seccomp profiles */
        fd = openat(root_fd, relative, (int)how.flags);
    int result = fd < 0 ? -errno : (int)fd;
    close(root_fd);
    return result;
}
