#include "exporter/governor/act/journal/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 9216, DIGITS = 9, LONG = 1 << 20 };

struct line {
    char bytes[LINE_MAX_BYTES];
    size_t len; /* LINE_MAX_BYTES: it did not fit */
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list args;
    size_t room = sizeof line->bytes - line->len;
    va_start(args, format);
    int n = vsnprintf(line->bytes + line->len, room, format, args);
    va_end(args);
    line->len = n < 0 || (size_t)n >= room ? sizeof line->bytes : line->len + (size_t)n;
}

static void add_quoted(struct line *line, const char *before, const char *text)
{
    add(line, "%s\"", before);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            add(line, "\\u%04x", *text);
        else
            add(line, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    add(line, "\"");
}

static int append(struct journal_file *file, int fd, struct line *line)
{
    char digits[DIGITS + 1];
    if (line->len + 1 >= sizeof line->bytes)
        return -EMSGSIZE;
    snprintf(digits, sizeof digits, "%08" PRIx32 " ",
             libdeflate_crc32(0, line->bytes + DIGITS, line->len - DIGITS));
    memcpy(line->bytes, digits, DIGITS);
    line->bytes[line->len++] = '\n';
    file->bytes += line->len;
    return file->write->append(file->write->context, fd, line->bytes, line->len);
}

static struct line *spell_claim(struct line *line, const struct claim *claim)
{
    line->len = DIGITS; /* for the checksum and a blank */
    add(line, "{\"claim\":%" PRIu64 ",\"knob\":\"%s\"", claim->id, knob_name(claim->knob));
    add_quoted(line, ",\"container\":", claim->container);
    add_quoted(line, ",\"container_id\":", claim->container_id);
    add_quoted(line, ",\"path\":", claim->path);
    add(line, ",\"dev\":%" PRIu64 ",\"ino\":%" PRIu64, claim->dev, claim->ino);
    add(line, ",\"root_dev\":%" PRIu64 ",\"root_ino\":%" PRIu64, claim->root_dev, claim->root_ino);
    if (claim->tid)
        add(line, ",\"tid\":%d,\"tid_start\":%" PRIu64 ",\"tid_claimed\":%" PRIu64, claim->tid,
            claim->tid_start, claim->tid_claimed);
    add_quoted(line, ",\"original\":", claim->original);
    add(line, ",\"least\":%.17g,\"most\":%.17g}", claim->least, claim->most);
    return line;
}

static struct line *spell_intent(struct line *line, uint64_t claim, const char *from,
                                 const char *to)
{
    line->len = DIGITS;
    add(line, "{\"intend\":[[%" PRIu64, claim);
    add_quoted(line, ",", from);
    add_quoted(line, ",", to);
    add(line, "]]}");
    return line;
}

static int write_all(struct journal_file *file, int fd)
{
    struct line line = {.len = DIGITS};
    add_quoted(&line, "{\"boot\":", file->boot_id);
    add(&line, ",\"journal\":%d}", JOURNAL_VERSION);
    file->bytes = 0;
    int err = append(file, fd, &line);
    for (size_t i = 0; i < file->open->n && !err; i++) {
        const struct claim *claim = &file->open->claims[i];
        err = append(file, fd, spell_claim(&line, claim));
        if (!err && claim->set[0])
            err = append(file, fd, spell_intent(&line, claim->id, claim->from, claim->set));
    }
    return err;
}

int journal_file_compact(struct journal_file *file)
{
    void *context = file->write->context;
    file->dirty = true; /* until it is known which of the two files has the name */
    int fd = file->write->open_at(context, file->directory, "journal.new", 1);
    if (fd < 0)
        return fd;
    int err = write_all(file, fd);
    if (!err)
        err = file->write->rename_at(context, file->directory, "journal.new", "journal");
    if (!err && dup3(fd, file->fd, O_CLOEXEC) < 0)
        err = -errno;
    close(fd);
    file->dirty = err != 0;
    return err;
}

/* 'behind' a line that what is open does not know of yet: then the file is not made anew. */
static int write_line(struct journal_file *file, struct line *line, bool behind)
{
    int err = !behind && (file->dirty || file->bytes > LONG) ? journal_file_compact(file) : 0;
    if (err)
        return err;
    err = append(file, file->fd, line);
    file->dirty = err != 0; /* a part of it may be there */
    return err;
}

int journal_file_claim(struct journal_file *file, const struct claim *claim, uint64_t instead)
{
    struct line line;
    int err = instead ? journal_file_release(file, instead) : 0;
    return err ? err : write_line(file, spell_claim(&line, claim), instead != 0);
}

int journal_file_intend(struct journal_file *file, const struct intent *intent)
{
    struct line line;
    return write_line(file, spell_intent(&line, intent->claim, intent->from, intent->to), false);
}

int journal_file_release(struct journal_file *file, uint64_t claim)
{
    struct line line = {.len = DIGITS};
    add(&line, "{\"release\":[%" PRIu64 "]}", claim);
    return write_line(file, &line, false);
}
