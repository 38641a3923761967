#include "exporter/source/activity/open.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "exporter/source/cgroup_file.h"

const char *activity_way_words(enum activity_way way)
{
    static const char *const words[ACTIVITY_WAYS] = {
        [ACTIVITY_PERCPU] = "cpuacct.usage_percpu, per CPU",
        [ACTIVITY_CLOCK] = "perf's clock of each cgroup, per CPU",
        [ACTIVITY_STAT] = "cpu.stat, the sum of all CPUs",
        [ACTIVITY_USAGE] = "cpuacct.usage, the sum of all CPUs",
        [ACTIVITY_PROC] = "/proc/stat, per CPU",
    };
    return words[way];
}

/* Elsewhere the root of this mount is some cgroup, as in a namespace. */
static int open_of_machine(const struct activity_config *config, enum activity_way way)
{
    if (way == ACTIVITY_PROC)
        return fsroot_open(config->fs, FSROOT_PROC, "stat", O_RDONLY);
    if (way != ACTIVITY_PERCPU)
        return -ENOENT;
    int root = cgroup_file_open(config->cpuacct, "", "release_agent");
    if (root < 0)
        return -ENOENT;
    close(root);
    return cgroup_file_open(config->cpuacct, "", "cpuacct.usage_percpu");
}

/* The scope's directory is in perf's hierarchy, which may be v2; else the same path is there. */
static int open_stat(const struct activity_config *config, const struct scope *scope,
                     struct activity_buffer *buffer, size_t *n)
{
    int fd = openat(scope->cgroup_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (activity_file_read(fd, ACTIVITY_STAT, buffer, n) == 0)
            return fd;
        close(fd); /* v1's controller cpu has a file of this name, too */
    }
    return cgroup_file_open(config->unified, scope->cgroup_path, "cpu.stat");
}

static int open_of_container(const struct activity_config *config, const struct scope *scope,
                             enum activity_way way, struct activity_buffer *buffer, size_t *n)
{
    if (way == ACTIVITY_STAT)
        return open_stat(config, scope, buffer, n);
    if (way != ACTIVITY_PERCPU && way != ACTIVITY_USAGE)
        return -ENOENT;
    return cgroup_file_open(config->cpuacct, scope->cgroup_path,
                            way == ACTIVITY_PERCPU ? "cpuacct.usage_percpu" : "cpuacct.usage");
}

int activity_file_open(const struct activity_config *config, const struct scope *scope,
                       enum activity_way way, struct activity_buffer *buffer, size_t *n)
{
    int fd = scope->kind == SCOPE_MACHINE ? open_of_machine(config, way)
                                          : open_of_container(config, scope, way, buffer, n);
    if (fd < 0)
        return fd;
    int err = activity_file_read(fd, way, buffer, n);
    if (!err)
        return fd;
    close(fd);
    return err;
}
