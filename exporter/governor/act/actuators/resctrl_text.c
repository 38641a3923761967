#include "exporter/governor/act/actuators/resctrl_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers within (pointer, end) ---- */

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        ++*at;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return 99;
}

static bool take_number(const char **at, const char *end, unsigned base, uint32_t *out)
{
    uint64_t number = 0;
    const char *first = *at;
    for (; *at < end && digit_of(**at) < (int)base; ++*at) {
        number = number * base + (unsigned)digit_of(**at);
        if (number > UINT32_MAX)
            return false;
    }
    *out = (uint32_t)number;
    return *at > first;
}

static bool take_char(const char **at, const char *end, char c)
{
    bool is_there = *at < end && **at == c;
    *at += is_there;
    return is_there;
}

/* ---- schemata ---- */

static int parse_line(const char *at, const char *end, unsigned base, struct schemata_line *out)
{
    if (out->n > 0)
        return -EINVAL;
    do {
        uint32_t id, value;
        skip_blanks(&at, end);
        if (!take_number(&at, end, 10, &id) || !take_char(&at, end, '='))
            return -EINVAL;
        skip_blanks(&at, end);
        if (!take_number(&at, end, base, &value))
            return -EINVAL;
        if (out->n == SCHEMATA_DOMAINS)
            return -E2BIG;
        out->ids[out->n] = id;
        out->values[out->n++] = value;
    } while (take_char(&at, end, ';'));
    skip_blanks(&at, end);
    return at == end ? 0 : -EINVAL;
}

int schemata_parse(const char *text, size_t len, struct schemata *out)
{
    struct schemata found = {.l3.n = 0};
    const char *at = text, *end = text + len;
    int err = 0;
    while (at < end && !err) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        skip_blanks(&at, stop);
        if (stop - at > 3 && memcmp(at, "L3:", 3) == 0)
            err = parse_line(at + 3, stop, 16, &found.l3);
        else if (stop - at > 3 && memcmp(at, "MB:", 3) == 0)
            err = parse_line(at + 3, stop, 10, &found.mb);
        at = stop + (stop < end);
    }
    if (!err)
        *out = found;
    return err;
}

bool schemata_value(const struct schemata_line *line, uint32_t *value)
{
    for (unsigned i = 1; i < line->n; i++)
        if (line->values[i] != line->values[0])
            return false;
    if (line->n > 0)
        *value = line->values[0];
    return line->n > 0;
}

bool schemata_same(const struct schemata_line *a, const struct schemata_line *b)
{
    bool same = a->n == b->n;
    for (unsigned i = 0; same && i < a->n; i++)
        same = a->ids[i] == b->ids[i] && a->values[i] == b->values[i];
    return same;
}

/* Numbers have at most ten digits, so that 128 domains twice fit. */
static size_t format_line(const struct schemata_line *line, const char *name, const char *number,
                          uint32_t value, char *out)
{
    size_t len = 0;
    for (unsigned i = 0; i < line->n; i++) {
        len += (size_t)sprintf(out + len, "%s%u=", i == 0 ? name : ";", line->ids[i]);
        len += (size_t)sprintf(out + len, number, line->fixed ? line->values[i] : value);
    }
    if (line->n > 0)
        out[len++] = '\n';
    out[len] = '\0';
    return len;
}

_Static_assert(RESCTRL_SCHEMATA_MAX > 2 * (SCHEMATA_DOMAINS * 22 + 8), "two lines fit");

size_t schemata_format(const struct schemata *like, uint32_t mask, uint32_t percent, char *out)
{
    size_t len = format_line(&like->l3, "L3:", "%x", mask, out);
    return len + format_line(&like->mb, "MB:", "%u", percent, out + len);
}

/* ---- groups ---- */

int resctrl_group_parse(const char *text, size_t len, char *out)
{
    const char *end = memchr(text, '\n', len);
    end = end ? end : text + len;
    if (end - text < 5 || memcmp(text, "res:", 4) != 0)
        return -EINVAL;
    const char *name = text + 4;
    size_t size = (size_t)(end - name);
    if (size == 1 && *name == '/')
        size = 0;
    if (size >= RESCTRL_GROUP_MAX || memchr(name, '\0', size) || memchr(name, '/', size))
        return -EINVAL;
    memcpy(out, name, size);
    out[size] = '\0';
    return 0;
}

void resctrl_name_format(uint32_t mask, uint32_t percent, char *out)
{
    snprintf(out, RESCTRL_GROUP_MAX, "ig_%x_%u", mask, percent);
}

bool resctrl_name_parse(const char *name, uint32_t *mask, uint32_t *percent)
{
    const char *at = name, *end = name + strlen(name);
    char again[RESCTRL_GROUP_MAX];
    uint32_t m, p;
    if (!take_char(&at, end, 'i') || !take_char(&at, end, 'g') || !take_char(&at, end, '_') ||
        !take_number(&at, end, 16, &m) || !take_char(&at, end, '_') ||
        !take_number(&at, end, 10, &p))
        return false;
    resctrl_name_format(m, p, again);
    if (strcmp(name, again) != 0)
        return false;
    *mask = m;
    *percent = p;
    return true;
}

/* ---- masks ---- */

uint32_t resctrl_mask(uint32_t whole, unsigned ways)
{
    unsigned most = (unsigned)__builtin_popcount(whole);
    ways = ways < most ? ways : most;
    uint64_t mask = (UINT64_C(1) << ways) - 1;
    return whole ? (uint32_t)(mask << (unsigned)__builtin_ctz(whole)) : 0;
}

bool resctrl_mask_is_contiguous(uint32_t mask)
{
    return mask && resctrl_mask(mask, 32) == mask;
}
