#include "exporter/source/memory/numa_stat.h"

#include <errno.h>
#include <stdbool.h>

#include "exporter/base/kernel_text.h"

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
static bool add_nodes(struct kernel_text *line, uint64_t unit, struct numa_stat *stat)
{
    uint64_t node, count;
    while (line->at < line->end) {
        if (!kernel_text_word(line, " N") || !kernel_text_number(line, &node) ||
            !kernel_text_word(line, "=") || !kernel_text_number(line, &count) ||
            !add_node(stat, node, count, unit))
            return false;
    }
    return true;
}

/* The sum of the named lines of the file. 0, -ENODATA, -EINVAL. */
static int add_lines(struct kernel_text in, const char *const *names, uint64_t unit,
                     struct numa_stat *stat)
{
    struct kernel_text line;
    bool found = false;
    *stat = (struct numa_stat){0};
    while (kernel_text_line(&in, &line)) {
        for (size_t i = 0; names[i]; i++) {
            struct kernel_text rest = line;
            uint64_t total;
            if (!kernel_text_word(&rest, names[i]))
                continue;
            if (kernel_text_word(&rest, "=") ? !kernel_text_number(&rest, &total)
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
static bool is_v1(struct kernel_text in)
{
    return kernel_text_word(&in, "total=");
}

int numa_stat_parse(const char *text, size_t len, uint64_t page_bytes, struct numa_stat *out)
{
    static const char *const addressed[] = {"anon", "file_mapped", NULL};
    static const char *const sums[] = {"hierarchical_anon", NULL}, *const own[] = {"anon", NULL};
    const struct kernel_text in = {text, text + len};
    struct numa_stat stat;
    bool v1 = is_v1(in);
    int err = add_lines(in, v1 ? sums : addressed, v1 ? page_bytes : 1, &stat);
    if (v1 && err == -ENODATA)
        err = add_lines(in, own, page_bytes, &stat);
    if (!err)
        *out = stat;
    return err;
}
