/*
 * Which kind of file system a device without a disk is, by the mounts of the process that has a
 * file of it mapped. Such numbers are the kernel's: they mean the same in every mount namespace.
 *
 * A process's table of mounts may have any size: what was read of it is kept for a while.
 */
#ifndef IE_SOURCE_PMEM_MOUNT_TYPES_H
#define IE_SOURCE_PMEM_MOUNT_TYPES_H

#include <stdint.h>
#include <sys/types.h>

#include "exporter/base/fsroot.h"

enum mount_type {
    MOUNT_TYPE_MAY_BE_PMEM, /* device nodes, or files of another file system */
    MOUNT_TYPE_OTHER,
    MOUNT_TYPE_ABSENT,     /* the process has no such mount (any more) */
    MOUNT_TYPE_UNREADABLE, /* no table, or more than 1 MiB of it before the device */
};

enum { MOUNT_TYPES_MAX = 64 };
#define MOUNT_TYPES_AGE_NS 10000000000u

struct mount_types;

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
int mount_types_new(const struct fsroot *fs, struct mount_types **out);
void mount_types_free(struct mount_types *types);

/* Of at most MOUNT_TYPES_MAX devices the last answer, for MOUNT_TYPES_AGE_NS; what a process does
 * not have is kept for that process alone. */
enum mount_type mount_types_find(struct mount_types *types, pid_t pid, uint32_t major,
                                 uint32_t minor, uint64_t now_ns);

#endif
