#include "exporter/governor/write/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 6144, DIGITS = 9, LONG = 1 << 20 };

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

/* Of printable ASCII alone (rules_text). */
static void add_quoted(struct line *line, const char *text)
{
    add(line, "\"");
    for (; *text; text++)
        add(line, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    add(line, "\"");
}

static void begin(struct line *line)
{
    line->len = DIGITS; /* for the checksum and a blank */
}

static uint32_t checksum(const char *bytes, size_t len)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static int append(const struct ledger *ledger, int fd, struct line *line)
{
    char digits[DIGITS + 1];
    if (line->len + 1 >= sizeof line->bytes)
        return -EMSGSIZE;
    snprintf(digits, sizeof digits, "%08" PRIx32 " ",
             checksum(line->bytes + DIGITS, line->len - DIGITS));
    memcpy(line->bytes, digits, DIGITS);
    line->bytes[line->len++] = '\n';
    return ledger->write->append(ledger->write->context, fd, line->bytes, line->len);
}

static void add_limits(struct line *line, const struct claim *claim)
{
    add(line, ",\"original\":");
    add_quoted(line, claim->original);
    add(line, ",\"least\":%.17g,\"most\":%.17g}", claim->least, claim->most);
}

static void spell_claim(struct line *line, const struct claim *claim)
{
    begin(line);
    add(line, "{\"claim\":%" PRIu64 ",\"knob\":\"%s\",\"container\":", claim->id,
        knob_name(claim->knob));
    add_quoted(line, claim->container);
    add(line, ",\"container_id\":");
    add_quoted(line, claim->container_id);
    add(line, ",\"path\":");
    add_quoted(line, claim->path);
    add(line, ",\"dev\":%" PRIu64 ",\"ino\":%" PRIu64, claim->dev, claim->ino);
    add(line, ",\"root_dev\":%" PRIu64 ",\"root_ino\":%" PRIu64, claim->root_dev, claim->root_ino);
    if (claim->tid)
        add(line, ",\"tid\":%d,\"tid_start\":%" PRIu64 ",\"tid_claimed\":%" PRIu64, claim->tid,
            claim->tid_start, claim->tid_claimed);
    add_limits(line, claim);
}

static void spell_intent(struct line *line, const struct claim *claim)
{
    begin(line);
    add(line, "{\"intend\":[[%" PRIu64 ",", claim->id);
    add_quoted(line, claim->from);
    add(line, ",");
    add_quoted(line, claim->set);
    add(line, "]]}");
}

static int write_all(const struct ledger *ledger, int fd, size_t *bytes)
{
    struct line line;
    begin(&line);
    add(&line, "{\"boot\":");
    add_quoted(&line, ledger->boot_id);
    add(&line, ",\"journal\":1}");
    int err = append(ledger, fd, &line);
    *bytes = line.len;
    for (size_t i = 0; i < *ledger->n && !err; i++) {
        spell_claim(&line, &ledger->claims[i]);
        err = append(ledger, fd, &line);
        *bytes += line.len;
        if (err || !ledger->claims[i].set[0])
            continue;
        spell_intent(&line, &ledger->claims[i]);
        err = append(ledger, fd, &line);
        *bytes += line.len;
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
    int err = write_all(ledger, fd, &ledger->bytes);
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
    if (!err) {
        err = append(ledger, ledger->fd, line);
        ledger->dirty = err != 0; /* a part of it may be there */
        ledger->bytes += line->len;
    }
    return err;
}

int ledger_claim(struct ledger *ledger, const struct claim *claim)
{
    struct line line;
    spell_claim(&line, claim);
    return write_line(ledger, &line);
}

int ledger_adopt(struct ledger *ledger, const struct claim *claim)
{
    struct line line;
    begin(&line);
    add(&line, "{\"adopt\":%" PRIu64, claim->id);
    add_limits(&line, claim);
    return write_line(ledger, &line);
}

int ledger_intend(struct ledger *ledger, const struct claim *claim)
{
    struct line line;
    spell_intent(&line, claim);
    return write_line(ledger, &line);
}

int ledger_release(struct ledger *ledger, uint64_t claim)
{
    struct line line;
    begin(&line);
    add(&line, "{\"release\":[%" PRIu64 "]}", claim);
    return write_line(ledger, &line);
}
