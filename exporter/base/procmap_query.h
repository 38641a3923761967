/*
 * One mapping of a process by its address, without the text of all: an ioctl of /proc/PID/maps
 * since Linux 6.11. From linux/fs.h, which is older on the machines that this is built on.
 */
#ifndef IE_BASE_PROCMAP_QUERY_H
#define IE_BASE_PROCMAP_QUERY_H

#include <stdint.h>
#include <sys/ioctl.h>

enum procmap_query_flags {
    PROCMAP_VMA_READABLE = 1,
    PROCMAP_VMA_WRITABLE = 2,
    PROCMAP_VMA_EXECUTABLE = 4,
    PROCMAP_VMA_SHARED = 8
};

struct procmap_query_arguments {
    uint64_t size;        /* of this */
    uint64_t query_flags; /* 0: the mapping that has the address, or ENOENT */
    uint64_t address;
    uint64_t start, end, flags, page_size, offset, inode; /* from the kernel on */
    uint32_t major, minor;
    uint32_t name_size, build_id_size; /* 0: not asked for */
    uint64_t name, build_id;
};

#define PROCMAP_QUERY_REQUEST _IOWR('f', 17, struct procmap_query_arguments)

#endif
