#include "exporter/governor/act/cgroup/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/act/cgroup/cgroup_dir.h"

int control_file_text(int directory, const char *name, char *out, size_t size)
{
    size_t len;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int err = fsroot_read_fd(fd, out, size, &len);
    close(fd);
    if (!err)
        out[strcspn(out, "\n")] = '\0';
    return err;
}

int control_file_number(int directory, const char *name, uint64_t *out)
{
    char text[64], *end;
    int err = control_file_text(directory, name, text, sizeof text);
    if (err)
        return err;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno || *end ? -EINVAL : 0;
}

/* ---- CPUs ---- */

void cgroup_cpus_init(struct cgroup_cpus *cpus, const struct fsroot *fs)
{
    *cpus = (struct cgroup_cpus){.fs = fs};
    cgroup_mount_find(fs, "cpuset", cpus->v1, sizeof cpus->v1);
}

static int read_list(int directory, const char *name, char *out, size_t size)
{
    size_t n;
    int err = control_file_text(directory, name, out, size);
    if (!err && (cpulist_parse(out, strlen(out), NULL, 0, &n) || n == 0))
        err = -EINVAL;
    return err;
}

int cgroup_cpus_read(const struct cgroup_cpus *cpus, int directory, const char *path, char *out,
                     size_t size)
{
    struct claim same;
    snprintf(same.path, sizeof same.path, "%s", path);
    int fd = cpus->v1[0] ? cgroup_dir_claim(cpus->v1, &same) : -1;
    int err = fd < 0 ? read_list(directory, "cpuset.cpus.effective", out, size)
                     : read_list(fd, "cpuset.effective_cpus", out, size);
    if (fd >= 0)
        close(fd);
    if (!err)
        return 0;
    return fsroot_read(cpus->fs, FSROOT_SYS, "devices/system/cpu/online", out, size, NULL);
}
