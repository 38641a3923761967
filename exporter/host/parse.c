#include "exporter/host/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* ---- pressure ---- */

static const char *skip(const char *at, const char *end, const char *word)
{
    size_t len = strlen(word);
    return at && (size_t)(end - at) >= len && memcmp(at, word, len) == 0 ? at + len : NULL;
}

/* "12.34 " is 0.1234. */
static bool take_percent(const char *at, const char *end, double *ratio)
{
    unsigned hundredths = 0, digits = 0, behind = 0;
    for (; at < end && *at != ' '; at++) {
        if (*at == '.' && digits > 0 && behind == 0) {
            behind = 1;
            continue;
        }
        if (*at < '0' || *at > '9' || behind > 2 || ++digits > 5)
            return false;
        hundredths = hundredths * 10 + (unsigned)(*at - '0');
        behind += behind > 0;
    }
    if (behind != 3 || at == end || hundredths > 10000)
        return false;
    *ratio = (double)hundredths / 10000;
    return true;
}

int pressure_parse(const char *text, size_t len, double *some_ratio)
{
    for (const char *line = text, *end = text + len; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        const char *value = skip(line, line_end, "some avg10=");
        if (value)
            return take_percent(value, line_end, some_ratio) ? 0 : -EINVAL;
        line = newline ? newline + 1 : end;
    }
    return -EINVAL;
}

/* ---- CPU time ---- */

enum { STEAL = 7, TIMES = 8 }; /* user, nice, system, idle, iowait, irq, softirq, steal */

/* Where the number ends; NULL: it is none. */
static const char *take_number(const char *at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    const char *digit = at;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*digit - '0'), &value))
            return NULL;
    *out = value;
    return digit > at ? digit : NULL;
}

int cpu_times_parse(const char *text, size_t len, uint64_t *all_ticks, uint64_t *steal_ticks)
{
    const char *end = memchr(text, '\n', len);
    const char *at = end ? skip(text, end, "cpu ") : NULL;
    uint64_t time[TIMES], all = 0;
    size_t n = 0;
    if (!at)
        return -EINVAL;
    while (at < end && n < TIMES) {
        if (*at == ' ') {
            at++;
            continue;
        }
        if (!(at = take_number(at, end, &time[n])) || __builtin_add_overflow(all, time[n], &all))
            return -EINVAL;
        n++;
    }
    if (n < TIMES)
        return -ENODATA;
    *all_ticks = all;
    *steal_ticks = time[STEAL];
    return 0;
}
