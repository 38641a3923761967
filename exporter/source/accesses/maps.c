#include "exporter/source/accesses/maps.h"

#include <errno.h>
#include <string.h>

/* What is left of one line. */
struct cursor {
    const char *at, *end;
};

static int digit_of(char c, unsigned base)
{
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
    return digit < (int)base ? digit : -1;
}

static bool number(struct cursor *cursor, unsigned base, uint64_t *out)
{
    uint64_t value = 0;
    const char *start = cursor->at;
    for (; cursor->at < cursor->end; cursor->at++) {
        int digit = digit_of(*cursor->at, base);
        if (digit < 0)
            break;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return cursor->at > start;
}

static bool small_number(struct cursor *cursor, unsigned base, uint32_t *out)
{
    uint64_t value;
    if (!number(cursor, base, &value) || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool literal(struct cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool flag(struct cursor *cursor, char yes, char no, bool *out)
{
    *out = literal(cursor, yes);
    return *out || literal(cursor, no);
}

static struct cursor take_line(const char **text, size_t *len)
{
    const char *newline = memchr(*text, '\n', *len);
    struct cursor line = {*text, newline ? newline : *text + *len};
    size_t taken = (size_t)(line.end - line.at) + (newline ? 1 : 0);
    *text += taken;
    *len -= taken;
    return line;
}

int maps_next(const char **text, size_t *len, struct maps_line *out)
{
    struct maps_line line;
    if (*len == 0)
        return 0;
    struct cursor c = take_line(text, len);
    if (!number(&c, 16, &line.start) || !literal(&c, '-') || !number(&c, 16, &line.end) ||
        line.end <= line.start || !literal(&c, ' ') || !flag(&c, 'r', '-', &line.readable) ||
        !flag(&c, 'w', '-', &line.writable) || !flag(&c, 'x', '-', &line.executable) ||
        !flag(&c, 's', 'p', &line.shared) || !literal(&c, ' ') || !number(&c, 16, &line.offset) ||
        !literal(&c, ' ') || !small_number(&c, 16, &line.major) || !literal(&c, ':') ||
        !small_number(&c, 16, &line.minor) || !literal(&c, ' ') || !number(&c, 10, &line.inode))
        return -EINVAL;
    if (c.at < c.end && *c.at != ' ')
        return -EINVAL;
    while (c.at < c.end && *c.at == ' ')
        c.at++;
    line.path = c.at;
    line.path_len = (size_t)(c.end - c.at);
    *out = line;
    return 1;
}

/* Moves behind the next blank. */
static bool skip_field(struct cursor *cursor)
{
    const char *blank = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
    if (!blank)
        return false;
    cursor->at = blank + 1;
    return true;
}

/* "ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS" */
static bool mount_fields(struct cursor c, struct mount_line *out)
{
    if (!skip_field(&c) || !skip_field(&c) || !small_number(&c, 10, &out->major) ||
        !literal(&c, ':') || !small_number(&c, 10, &out->minor) || !skip_field(&c) ||
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
    if (*len == 0)
        return 0;
    if (!mount_fields(take_line(text, len), &line))
        return -EINVAL;
    *out = line;
    return 1;
}

bool mount_line_is(const struct mount_line *line, const char *type)
{
    return strlen(type) == line->type_len && memcmp(type, line->type, line->type_len) == 0;
}
