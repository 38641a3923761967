/*
 * Where the kernel has cgroup hierarchies mounted, as this process sees it: its own mountinfo.
 *
 * A hierarchy may be mounted more than once, in places that this process cannot reach, below
 * something else that was mounted over it, or only a part of it, as in a chroot with /sys bound
 * into it. What is found is what can be reached.
 */
#ifndef IE_CONTAINERS_CGROUPS_MOUNTS_H
#define IE_CONTAINERS_CGROUPS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_mount {
    int version;           /* 1 or 2 */
    uint32_t major, minor; /* of its file system */
    bool writable;
    char path[4096];
    char options[256]; /* of the file system: in v1, its controllers are among them */
};

/* A line of mountinfo, with or without its newline. 1; 0: of another file system; -EINVAL: no such
 * line; -ENAMETOOLONG: its path or its options do not fit. */
int cgroup_mount_parse(const char *text, size_t len, struct cgroup_mount *out);

/*
 * Where v1's hierarchy of a controller is, or, for "", that of v2. Of several that can be reached
 * the whole hierarchy comes before a part of it, then one that can be written, then the shortest
 * path, for what is below others is gone sooner. 0, or -ENOENT.
 */
int cgroup_mounts_find(const char *controller, struct cgroup_mount *out);

/* For messages: what was found, as many as fit into 'size' (16 at least), each with why it cannot
 * be reached; "none" without any. */
void cgroup_mounts_tell(char *out, size_t size);

#endif
