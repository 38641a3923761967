/*
 * The kernel's text about a process's address space: /proc/PID/maps and /proc/PID/mountinfo.
 * Paths in the text are other people's. All but proc_lines is pure.
 */
#ifndef IE_SOURCE_ACCESSES_MAPS_H
#define IE_SOURCE_ACCESSES_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"

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

/*
 * A file of procfs line by line, in a window of fixed size: the file may be as long as other
 * programs like.
 */

/* Room for a line with two whole paths, in which each byte may be written as four. */
enum { PROC_LINES_WINDOW = 1 << 16 };

struct proc_lines {
    int fd;
    size_t left;        /* bytes that may still be read */
    size_t start, have; /* what is in the window and was not handed out */
    char at[PROC_LINES_WINDOW];
};

/* Of a file below /proc, at most 'max' bytes. 0 or -errno. */
int proc_lines_open(struct proc_lines *lines, const struct fsroot *fs, const char *relative,
                    size_t max);
void proc_lines_close(struct proc_lines *lines);

/*
 * As many whole lines as are at hand. 1 with *text and *len, valid until the next call; 0 at the
 * end; -EFBIG for a longer line or a longer file, -EINVAL for a last line without an end, otherwise
 * as read(2) says it.
 */
int proc_lines_next(struct proc_lines *lines, const char **text, size_t *len);

#endif
