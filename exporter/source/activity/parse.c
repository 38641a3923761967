#include "exporter/source/activity/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What is not read yet. */
struct text {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_char(struct text *in, char c)
{
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

/* A decimal number; false when there is none, or one beyond 64 bits. */
static bool take_number(struct text *in, uint64_t *out)
{
    uint64_t value = 0;
    if (in->at == in->end || !is_digit(*in->at))
        return false;
    for (; in->at < in->end && is_digit(*in->at); in->at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*in->at - '0'), &value))
            return false;
    *out = value;
    return true;
}

static bool at_end_of_line(struct text *in)
{
    return in->at == in->end || *in->at == '\n';
}

/* The next line that has its newline; false when there is none. */
static bool take_line(struct text *in, struct text *line)
{
    const char *newline =
        in->at < in->end ? memchr(in->at, '\n', (size_t)(in->end - in->at)) : NULL;
    if (!newline)
        return false;
    *line = (struct text){in->at, newline};
    in->at = newline + 1;
    return true;
}

static bool take_word(struct text *in, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, word, len) != 0)
        return false;
    in->at += len;
    return true;
}

int cpu_stat_parse(const char *text, size_t len, uint64_t *usage_ns)
{
    struct text in = {text, text + len}, line;
    uint64_t ns;
    while (take_line(&in, &line)) {
        if (!take_word(&line, "usage_usec "))
            continue;
        if (!take_number(&line, &ns) || !at_end_of_line(&line) ||
            __builtin_mul_overflow(ns, 1000u, &ns))
            return -EINVAL;
        *usage_ns = ns;
        return 0;
    }
    return -ENODATA;
}

int cpuacct_usage_parse(const char *text, size_t len, uint64_t *usage_ns)
{
    struct text in = {text, text + len};
    uint64_t ns;
    if (!take_number(&in, &ns) || !take_char(&in, '\n') || in.at != in.end)
        return -EINVAL;
    *usage_ns = ns;
    return 0;
}

int cpuacct_percpu_parse(const char *text, size_t len, uint64_t *usage_ns, size_t cap, size_t *n)
{
    /* Nothing may be stored before all of it is known to be good. */
    for (int storing = 0; storing < 2; storing++) {
        struct text in = {text, text + len};
        size_t found = 0;
        uint64_t ns;
        bool more = true;
        while (more && take_number(&in, &ns)) {
            if (storing && found < cap)
                usage_ns[found] = ns;
            found++;
            more = take_char(&in, ' ');
        }
        if (!storing && (found == 0 || !take_char(&in, '\n') || in.at != in.end))
            return -EINVAL;
        if (storing)
            *n = found;
    }
    return 0;
}

/* "cpu3 user nice system idle iowait irq softirq ...": irq and softirq are in all kernels since
 * 2.6. */
static bool take_cpu(struct text *line, unsigned ticks, struct cpu_time *out)
{
    enum { IDLE = 3, IOWAIT = 4, FIELDS = 7 };
    uint64_t number, sum = 0;
    if (!take_number(line, &number) || number > 65535)
        return false;
    out->cpu = (int)number;
    for (int field = 0; field < FIELDS; field++) {
        if (!take_char(line, ' ') || !take_number(line, &number))
            return false;
        if (field != IDLE && field != IOWAIT && __builtin_add_overflow(sum, number, &sum))
            return false;
    }
    return !__builtin_mul_overflow(sum, UINT64_C(1000000000) / ticks, &out->ns) &&
           (at_end_of_line(line) || *line->at == ' ');
}

int proc_stat_parse(const char *text, size_t len, unsigned ticks, struct cpu_time *out, size_t cap,
                    size_t *n)
{
    for (int storing = 0; storing < 2; storing++) {
        struct text in = {text, text + len}, line;
        size_t found = 0;
        while (take_line(&in, &line) && take_word(&line, "cpu")) {
            struct cpu_time cpu;
            if (take_char(&line, ' ')) /* the sum of all */
                continue;
            if (!take_cpu(&line, ticks, &cpu))
                return -EINVAL;
            if (storing && found < cap)
                out[found] = cpu;
            found++;
        }
        if (found == 0)
            return -ENODATA;
        if (storing)
            *n = found;
    }
    return 0;
}
