#include "exporter/governor/act/cgroup/cgroup_tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 16 };

int cgroup_tasks_in_file(int directory, const char *name, int (*found)(void *context, unsigned tid),
                         void *context)
{
    char bytes[4096];
    unsigned tid = 0;
    ssize_t n = 0;
    int err = 0, fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    while (!err && (n = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < n && !err; i++) {
            if (bytes[i] >= '0' && bytes[i] <= '9') {
                tid = tid * 10 + (unsigned)(bytes[i] - '0');
            } else if (tid > 0) {
                err = found(context, tid);
                tid = 0;
            }
        }
    }
    if (n < 0)
        err = -errno;
    close(fd);
    return err;
}

int cgroup_tasks(int cgroup, int (*found)(void *context, unsigned tid), void *context)
{
    int err = cgroup_tasks_in_file(cgroup, "cgroup.threads", found, context);
    return err == -ENOENT ? cgroup_tasks_in_file(cgroup, "tasks", found, context) : err;
}

DIR *cgroup_list(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listed = fd < 0 ? NULL : fdopendir(fd);
    if (!listed && fd >= 0)
        close(fd);
    return listed;
}

static int each_below(int cgroup, int (*found)(void *context, int cgroup), void *context,
                      unsigned depth)
{
    DIR *listed = depth > 0 ? cgroup_list(cgroup) : NULL;
    int result = 0;
    if (!listed)
        return 0;
    for (const struct dirent *entry; (entry = readdir(listed));) {
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        int child = openat(cgroup, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (child < 0)
            continue;
        int err = found(context, child);
        int below = each_below(child, found, context, depth - 1);
        close(child);
        if (err == -ENOENT || err == -ENODEV)
            err = 0; /* it has ended */
        err = err ? err : below;
        result = result ? result : err;
    }
    closedir(listed);
    return result;
}

int cgroup_each_below(int cgroup, int (*found)(void *context, int cgroup), void *context)
{
    return each_below(cgroup, found, context, DEPTH);
}
