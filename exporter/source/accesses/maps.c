#include "exporter/source/accesses/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"

static bool small_number(struct kernel_text *in, unsigned base, uint32_t *out)
{
    uint64_t value;
    if (!kernel_text_number_in(in, base, &value) || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool flag(struct kernel_text *in, char yes, char no, bool *out)
{
    *out = kernel_text_char(in, yes);
    return *out || kernel_text_char(in, no);
}

/* The next line of the rest; false: there is none. */
static bool next_line(const char **text, size_t *len, struct kernel_text *line)
{
    struct kernel_text in = kernel_text_of(*text, *len);
    bool more = kernel_text_rest_line(&in, line);
    *text = in.at;
    *len = (size_t)(in.end - in.at);
    return more;
}

int maps_next(const char **text, size_t *len, struct maps_line *out)
{
    struct maps_line line;
    struct kernel_text c;
    if (!next_line(text, len, &c))
        return 0;
    if (!kernel_text_number_in(&c, 16, &line.start) || !kernel_text_char(&c, '-') ||
        !kernel_text_number_in(&c, 16, &line.end) || line.end <= line.start ||
        !kernel_text_char(&c, ' ') || !flag(&c, 'r', '-', &line.readable) ||
        !flag(&c, 'w', '-', &line.writable) || !flag(&c, 'x', '-', &line.executable) ||
        !flag(&c, 's', 'p', &line.shared) || !kernel_text_char(&c, ' ') ||
        !kernel_text_number_in(&c, 16, &line.offset) || !kernel_text_char(&c, ' ') ||
        !small_number(&c, 16, &line.major) || !kernel_text_char(&c, ':') ||
        !small_number(&c, 16, &line.minor) || !kernel_text_char(&c, ' ') ||
        !kernel_text_number(&c, &line.inode))
        return -EINVAL;
    if (c.at < c.end && !kernel_text_begins(&c, ' '))
        return -EINVAL;
    while (kernel_text_char(&c, ' '))
        ;
    line.path = c.at;
    line.path_len = (size_t)(c.end - c.at);
    *out = line;
    return 1;
}

/* Moves behind the next blank. */
static bool skip_field(struct kernel_text *in)
{
    struct kernel_text field;
    return kernel_text_until(in, ' ', &field);
}

/* "ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS" */
static bool mount_fields(struct kernel_text c, struct mount_line *out)
{
    if (!skip_field(&c) || !skip_field(&c) || !small_number(&c, 10, &out->major) ||
        !kernel_text_char(&c, ':') || !small_number(&c, 10, &out->minor) || !skip_field(&c) ||
        !skip_field(&c) || !skip_field(&c))
        return false;
    while (!(c.end - c.at >= 2 && c.at[0] == '-' && c.at[1] == ' '))
        if (!skip_field(&c))
            return false;
    out->type = c.at += 2;
    out->type_len = (size_t)((skip_field(&c) ? c.at - 1 : c.end) - out->type);
    return out->type_len > 0 && !memchr(out->type, '\0', out->type_len);
}

int mountinfo_next(const char **text, size_t *len, struct mount_line *out)
{
    struct mount_line line;
    struct kernel_text fields;
    if (!next_line(text, len, &fields))
        return 0;
    if (!mount_fields(fields, &line))
        return -EINVAL;
    *out = line;
    return 1;
}

bool mount_line_is(const struct mount_line *line, const char *type)
{
    return strlen(type) == line->type_len && memcmp(type, line->type, line->type_len) == 0;
}

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
