#include "exporter/source/accesses/proc_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int proc_lines_open(struct proc_lines *lines, const struct fsroot *fs, const char *relative,
                    size_t max)
{
    int fd = fsroot_open(fs, FSROOT_PROC, relative, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    lines->fd = fd;
    lines->left = max;
    lines->start = lines->have = 0;
    return 0;
}

void proc_lines_close(struct proc_lines *lines)
{
    close(lines->fd);
}

/* Bytes read, 0 at the end. */
static ssize_t read_more(struct proc_lines *lines)
{
    size_t room = sizeof lines->at - lines->have;
    ssize_t n;
    if (room == 0)
        return -EFBIG;
    do {
        n = read(lines->fd, lines->at + lines->have, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if ((size_t)n > lines->left)
        return -EFBIG;
    lines->left -= (size_t)n;
    return n;
}

int proc_lines_next(struct proc_lines *lines, const char **text, size_t *len)
{
    const char *end;
    memmove(lines->at, lines->at + lines->start, lines->have - lines->start);
    lines->have -= lines->start;
    lines->start = 0;
    do {
        size_t before = lines->have;
        ssize_t n = read_more(lines);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return lines->have == 0 ? 0 : -EINVAL;
        lines->have += (size_t)n;
        end = memrchr(lines->at + before, '\n', (size_t)n);
    } while (!end);
    lines->start = (size_t)(end + 1 - lines->at);
    *text = lines->at;
    *len = lines->start;
    return 1;
}
