#include "exporter/source/memory/numa_stat.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What is not read yet. */
struct text {
    const char *at, *end;
};

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

static bool take_number(struct text *in, uint64_t *out)
{
    uint64_t value = 0;
    if (in->at == in->end || *in->at < '0' || *in->at > '9')
        return false;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*in->at - '0'), &value))
            return false;
    *out = value;
    return true;
}

static bool add_node(struct numa_stat *stat, uint64_t node, uint64_t count, uint64_t unit)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, unit, &bytes))
        return false;
    if (node >= NUMA_STAT_NODES)
        return true;
    stat->nodes |= UINT64_C(1) << node;
    return !__builtin_add_overflow(stat->bytes[node], bytes, &stat->bytes[node]);
}

/* " N0=123 N1=456", up to the end of the line. */
static bool add_nodes(struct text *line, uint64_t unit, struct numa_stat *stat)
{
    uint64_t node, count;
    while (line->at < line->end) {
        if (!take_word(line, " N") || !take_number(line, &node) || !take_word(line, "=") ||
            !take_number(line, &count) || !add_node(stat, node, count, unit))
            return false;
    }
    return true;
}

/* The sum of the named lines of the file. 0, -ENODATA, -EINVAL. */
static int add_lines(struct text in, const char *const *names, uint64_t unit,
                     struct numa_stat *stat)
{
    struct text line;
    bool found = false;
    *stat = (struct numa_stat){0};
    while (take_line(&in, &line)) {
        for (size_t i = 0; names[i]; i++) {
            struct text rest = line;
            uint64_t total;
            if (!take_word(&rest, names[i]))
                continue;
            if (take_word(&rest, "=") ? !take_number(&rest, &total)
                                      : rest.at == rest.end || *rest.at != ' ')
                continue;
            if (!add_nodes(&rest, unit, stat))
                return -EINVAL;
            found = true;
        }
    }
    return found ? 0 : -ENODATA;
}

/* v1 writes the sum of the nodes behind each name: "anon=7 N0=7". */
static bool is_v1(struct text in)
{
    return take_word(&in, "total=");
}

int numa_stat_parse(const char *text, size_t len, uint64_t page_bytes, struct numa_stat *out)
{
    static const char *const addressed[] = {"anon", "file_mapped", NULL};
    static const char *const sums[] = {"hierarchical_anon", NULL}, *const own[] = {"anon", NULL};
    const struct text in = {text, text + len};
    struct numa_stat stat;
    bool v1 = is_v1(in);
    int err = add_lines(in, v1 ? sums : addressed, v1 ? page_bytes : 1, &stat);
    if (v1 && err == -ENODATA)
        err = add_lines(in, own, page_bytes, &stat);
    if (!err)
        *out = stat;
    return err;
}
