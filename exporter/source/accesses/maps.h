/*
 * The kernel's text about a process's address space: /proc/PID/maps and /proc/PID/mountinfo.
 * Pure; paths in the text are other people's.
 */
#ifndef IE_SOURCE_ACCESSES_MAPS_H
#define IE_SOURCE_ACCESSES_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
    uint64_t start, end; /* end is the first address behind */
    uint64_t offset;
    bool readable, writable, executable, shared;
    uint32_t major, minor;
    uint64_t inode;   /* 0: no file */
    const char *path; /* points into the text; not NUL-terminated, as the kernel wrote it */
    size_t path_len;
};

/*
 * Takes the next line off the text. 1 with *out; 0 at the end; -EINVAL for a line that is none,
 * which is taken off as well.
 */
int maps_next(const char **text, size_t *len, struct maps_line *out);

struct mount_line {
    uint32_t major, minor;
    const char *type; /* of the file system ("ext4", "overlay"), in the text; not NUL-terminated */
    size_t type_len;
};

/* As maps_next, of mountinfo. */
int mountinfo_next(const char **text, size_t *len, struct mount_line *out);
bool mount_line_is(const struct mount_line *line, const char *type);

#endif
