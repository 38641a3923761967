#include "exporter/source/probe/numa_maps.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "exporter/source/probe/topology.h"

/* "N3=" gives 3; anything else -1. */
static int page_count_node(const char *word, const char *end)
{
    int node = 0;
    if (end - word < 3 || *word++ != 'N' || *word < '0' || *word > '9')
        return -1;
    for (; word < end && *word >= '0' && *word <= '9'; word++)
        if ((node = node * 10 + (*word - '0')) > CHASE_MAX_NODES)
            return -1;
    return word < end && *word == '=' ? node : -1;
}

static bool line_starts_at(const char *line, const char *end, uintptr_t address)
{
    uintptr_t value = 0;
    const char *p = line;
    for (; p < end && *p != ' '; p++) {
        int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        value = value << 4 | (uintptr_t)digit;
    }
    return p > line && value == address;
}

static int check_line(const char *line, const char *end, int node)
{
    int result = -ENOENT;
    for (const char *word = line; word < end;) {
        const char *space = memchr(word, ' ', (size_t)(end - word));
        const char *word_end = space ? space : end;
        int found = page_count_node(word, word_end);
        if (found >= 0 && found != node)
            return -ENXIO;
        if (found == node)
            result = 0;
        word = word_end < end ? word_end + 1 : end;
    }
    return result;
}

int chase_numa_maps_check(const char *text, size_t len, uintptr_t address, int node)
{
    const char *end = text + len;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        if (line_starts_at(line, line_end, address))
            return check_line(line, line_end, node);
        line = newline ? newline + 1 : end;
    }
    return -ENOENT;
}
