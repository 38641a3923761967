/* What the kernel says of one process: the text of /proc/PID/stat, and one mapping. Pure. */
#ifndef IE_BASE_PROCESS_STAT_H
#define IE_BASE_PROCESS_STAT_H

#include <stdint.h>
#include <sys/ioctl.h>

/* Holds the text of any process. */
enum { PROCESS_STAT_BYTES = 1024 };

/* When the process began, in clock ticks since boot. 0 or -EINVAL. */
int process_start_ticks(const char *text, uint64_t *out);

/* Its state, as a letter of proc(5): 'R' runs or waits for a CPU. 0 or -EINVAL. */
int process_state(const char *text, char *out);

/*
 * One mapping of a process by its address, without the text of all: an ioctl of /proc/PID/maps
 * since Linux 6.11. From linux/fs.h, which is older on the machines that this is built on.
 */
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
