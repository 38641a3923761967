/*
 * A file of procfs line by line, in a window of fixed size: the file may be as long as other
 * programs like.
 */
#ifndef IE_SOURCE_ACCESSES_PROC_LINES_H
#define IE_SOURCE_ACCESSES_PROC_LINES_H

#include "exporter/base/fsroot.h"

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
