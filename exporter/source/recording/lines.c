#include "exporter/source/recording/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CAP = 64 << 10 };

int lines_init(struct lines *lines, const char *path, size_t max)
{
    memset(lines, 0, sizeof *lines);
    lines->max = max;
    lines->cap = FIRST_CAP;
    lines->buffer = malloc(lines->cap);
    lines->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int err = lines->fd < 0 ? -errno : lines->buffer ? 0 : -ENOMEM;
    if (!err && fcntl(lines->fd, F_SETFL, 0) != 0)
        err = -errno;
    if (err)
        lines_release(lines);
    return err;
}

void lines_release(struct lines *lines)
{
    if (lines->fd >= 0)
        close(lines->fd);
    free(lines->buffer);
    lines->fd = -1;
    lines->buffer = NULL;
}

/* Makes room behind 'end': moves what is unread to the front, or doubles the buffer. */
static int make_room(struct lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    if (lines->end < lines->cap)
        return 0;
    char *grown = realloc(lines->buffer, lines->cap * 2);
    if (!grown)
        return -ENOMEM;
    lines->buffer = grown;
    lines->cap *= 2;
    return 0;
}

static int fill(struct lines *lines)
{
    int err = lines->end == lines->cap ? make_room(lines) : 0;
    ssize_t got;
    if (err)
        return err;
    do
        got = read(lines->fd, lines->buffer + lines->end, lines->cap - lines->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    lines->end += (size_t)got;
    lines->at_end = got == 0;
    return 0;
}

int lines_next(struct lines *lines, const char **text, size_t *len)
{
    size_t searched = 0; /* unread bytes known to hold no newline */
    for (;;) {
        const char *unread = lines->buffer + lines->start;
        size_t have = lines->end - lines->start;
        const char *newline = memchr(unread + searched, '\n', have - searched);
        size_t line = newline ? (size_t)(newline - unread) : have;
        if (line > lines->max) {
            lines->number++;
            return -EMSGSIZE;
        }
        if (newline || (lines->at_end && have > 0)) {
            lines->number++;
            lines->start += line + (newline ? 1 : 0);
            lines->torn = !newline;
            *text = unread;
            *len = line;
            return 1;
        }
        if (lines->at_end)
            return 0;
        searched = have;
        int err = fill(lines);
        if (err)
            return err;
    }
}
