#include "exporter/base/cpulist.h"

#include <errno.h>
#include <stdbool.h>

enum { CPULIST_LARGEST = 65535 };

static bool parse_number(const char **p, const char *end, int *out)
{
    const char *start = *p;
    int value = 0;
    while (*p < end && **p >= '0' && **p <= '9') {
        value = value * 10 + (**p - '0');
        if (value > CPULIST_LARGEST)
            return false;
        (*p)++;
    }
    *out = value;
    return *p > start;
}

int cpulist_parse(const char *text, size_t len, int *out, size_t cap, size_t *n)
{
    const char *p = text, *end = text + len;
    size_t count = 0;
    int last = -1;
    while (end > p && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    while (p < end) {
        int first, final;
        if (!parse_number(&p, end, &first))
            return -EINVAL;
        final = first;
        if (p < end && *p == '-') {
            p++;
            if (!parse_number(&p, end, &final))
                return -EINVAL;
        }
        if (first <= last || final < first)
            return -EINVAL;
        for (int i = first; i <= final; i++, count++)
            if (count < cap)
                out[count] = i;
        last = final;
        if (p < end && (*p++ != ',' || p == end))
            return -EINVAL;
    }
    *n = count;
    return 0;
}
