#include "exporter/source/bpf/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* A cgroup's ID is its directory's inode; the root's is 1 in every hierarchy of v2, of which there
 * is one. */
enum { ROOT_ID = 1 };

/* Up from the cgroup to the root. What is mounted may be a part of the tree, and then ends before
 * it. */
static int level_of(int cgroup_fd, dev_t device, uint64_t id)
{
    char path[3 * (BPF_LEVELS_MAX + 1)] = "..";
    for (int level = 0; level < BPF_LEVELS_MAX; level++) {
        struct stat st;
        if (id == ROOT_ID)
            return level;
        if (fstatat(cgroup_fd, path, &st, 0) != 0 || st.st_dev != device || st.st_ino == id)
            return BPF_LEVEL_UNKNOWN;
        id = st.st_ino;
        strcat(path, "/..");
    }
    return id == ROOT_ID ? BPF_LEVELS_MAX : -ENOTSUP;
}

int bpf_place_of(int cgroup_fd, struct bpf_place *out)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs(cgroup_fd, &fs) != 0 || fstat(cgroup_fd, &st) != 0)
        return -errno;
    if (fs.f_type != CGROUP2_SUPER_MAGIC)
        return -EINVAL;
    int level = level_of(cgroup_fd, st.st_dev, st.st_ino);
    if (level >= BPF_LEVELS_MAX || level == -ENOTSUP)
        return -ENOTSUP;
    *out = (struct bpf_place){.id = st.st_ino, .level = level};
    return 0;
}
