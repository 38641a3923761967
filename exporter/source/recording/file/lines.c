#include "exporter/source/recording/file/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/whole.h"
#include "exporter/source/recording/file/packed.h"

enum { FIRST_CAP = 64 << 10 };

/* A pipe is never packed. */
static int look_at_begin(struct lines *lines)
{
    uint8_t magic[2] = {0};
    if (pread(lines->fd, magic, sizeof magic, 0) != sizeof magic || magic[0] != 0x1f ||
        magic[1] != 0x8b)
        return 0;
    lines->unpack = libdeflate_alloc_decompressor();
    return lines->unpack ? 0 : -ENOMEM;
}

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
    if (!err)
        err = look_at_begin(lines);
    if (err)
        lines_release(lines);
    return err;
}

void lines_release(struct lines *lines)
{
    if (lines->fd >= 0)
        close(lines->fd);
    free(lines->buffer);
    free(lines->piece);
    libdeflate_free_decompressor(lines->unpack);
    lines->unpack = NULL;
    lines->piece = NULL;
    lines->fd = -1;
    lines->buffer = NULL;
}

/* Makes room for n bytes behind 'end': moves what is unread to the front, or doubles the buffer. */
static int make_room(struct lines *lines, size_t n)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    size_t cap = lines->cap;
    while (cap - lines->end < n)
        cap *= 2;
    char *grown = cap > lines->cap ? realloc(lines->buffer, cap) : lines->buffer;
    if (!grown)
        return -ENOMEM;
    lines->buffer = grown;
    lines->cap = cap;
    return 0;
}

static int make_piece_room(struct lines *lines, size_t len)
{
    if (len <= lines->piece_cap)
        return 0;
    uint8_t *grown = realloc(lines->piece, len);
    if (!grown)
        return -ENOMEM;
    lines->piece = grown;
    lines->piece_cap = len;
    return 0;
}

/* One piece: 1 with its text behind 'end'; 0 at the end, which may be in the middle of one. */
static int fill_unpacked(struct lines *lines)
{
    size_t got = 0;
    int err = make_piece_room(lines, PACKED_HEADER_BYTES);
    if (!err)
        err = read_whole(lines->fd, lines->piece, PACKED_HEADER_BYTES, &got);
    if (err || got < PACKED_HEADER_BYTES)
        return err;
    int64_t len = packed_len(lines->piece);
    if (len < 0)
        return (int)len;
    err = make_piece_room(lines, (size_t)len);
    if (!err)
        err = read_whole(lines->fd, lines->piece + PACKED_HEADER_BYTES,
                         (size_t)len - PACKED_HEADER_BYTES, &got);
    if (err || got < (size_t)len - PACKED_HEADER_BYTES)
        return err;
    int64_t text = packed_text_len(lines->piece, (size_t)len);
    err = text < 0 ? (int)text : make_room(lines, (size_t)text);
    if (!err)
        err = packed_read(lines->unpack, lines->piece, (size_t)len, lines->buffer + lines->end,
                          (size_t)text);
    if (err)
        return err;
    lines->end += (size_t)text;
    return 1;
}

static int fill(struct lines *lines)
{
    ssize_t got;
    if (lines->unpack) {
        int more = fill_unpacked(lines);
        lines->at_end = more == 0;
        return more < 0 ? more : 0;
    }
    int err = lines->end == lines->cap ? make_room(lines, 1) : 0;
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
