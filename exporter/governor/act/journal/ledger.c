#include "exporter/governor/act/journal/ledger.h"

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

static int append(struct ledger *ledger, int fd, struct line *line)
{
    char digits[DIGITS + 1];
    if (line->len + 1 >= sizeof line->bytes)
        return -EMSGSIZE;
    snprintf(digits, sizeof digits, "%08" PRIx32 " ",
             libdeflate_crc32(0, line->bytes + DIGITS, line->len - DIGITS));
    memcpy(line->bytes, digits, DIGITS);
    line->bytes[line->len++] = '\n';
    ledger->bytes += line->len;
    return ledger->write->append(ledger->write->context, fd, line->bytes, line->len);
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

static int write_all(struct ledger *ledger, int fd)
{
    struct line line = {.len = DIGITS};
    add_quoted(&line, "{\"boot\":", ledger->boot_id);
    add(&line, ",\"journal\":%d}", JOURNAL_VERSION);
    ledger->bytes = 0;
    int err = append(ledger, fd, &line);
    for (size_t i = 0; i < ledger->open->n && !err; i++) {
        const struct claim *claim = &ledger->open->claims[i];
        err = append(ledger, fd, spell_claim(&line, claim));
        if (!err && claim->set[0])
            err = append(ledger, fd, spell_intent(&line, claim->id, claim->from, claim->set));
    }
    return err;
}

int ledger_compact(struct ledger *ledger)
{
    void *context = ledger->write->context;
    ledger->dirty = true; /* until it is known which of the two files has the name */
    int fd = ledger->write->open_at(context, ledger->directory, "journal.new", 1);
    if (fd < 0)
        return fd;
    int err = write_all(ledger, fd);
    if (!err)
        err = ledger->write->rename_at(context, ledger->directory, "journal.new", "journal");
    if (!err && dup3(fd, ledger->fd, O_CLOEXEC) < 0)
        err = -errno;
    close(fd);
    ledger->dirty = err != 0;
    return err;
}

static int write_line(struct ledger *ledger, struct line *line)
{
    int err = ledger->dirty || ledger->bytes > LONG ? ledger_compact(ledger) : 0;
    if (err)
        return err;
    err = append(ledger, ledger->fd, line);
    ledger->dirty = err != 0; /* a part of it may be there */
    return err;
}

int ledger_claim(struct ledger *ledger, const struct claim *claim, uint64_t instead)
{
    struct line line;
    int err = instead ? ledger_release(ledger, instead) : 0;
    return err ? err : write_line(ledger, spell_claim(&line, claim));
}

int ledger_intend(struct ledger *ledger, const struct intent *intent)
{
    struct line line;
    return write_line(ledger, spell_intent(&line, intent->claim, intent->from, intent->to));
}

int ledger_release(struct ledger *ledger, uint64_t claim)
{
    struct line line = {.len = DIGITS};
    add(&line, "{\"release\":[%" PRIu64 "]}", claim);
    return write_line(ledger, &line);
}
