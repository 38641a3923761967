#include "exporter/base/kernel_text.h"

#include <errno.h>
#include <stdbool.h>

enum { CPULIST_LARGEST = 65535 };

static bool take_cpu(struct kernel_text *in, int *out)
{
    uint64_t value;
    if (!kernel_text_number(in, &value) || value > CPULIST_LARGEST)
        return false;
    *out = (int)value;
    return true;
}

int cpulist_parse(const char *text, size_t len, int *out, size_t cap, size_t *n)
{
    struct kernel_text in = kernel_text_of(text, len);
    size_t count = 0;
    int last = -1;
    while (in.end > in.at && (in.end[-1] == '\n' || in.end[-1] == ' '))
        in.end--;
    while (in.at < in.end) {
        int first, final;
        if (!take_cpu(&in, &first))
            return -EINVAL;
        final = first;
        if (kernel_text_char(&in, '-') && !take_cpu(&in, &final))
            return -EINVAL;
        if (first <= last || final < first)
            return -EINVAL;
        for (int i = first; i <= final; i++, count++)
            if (count < cap)
                out[count] = i;
        last = final;
        if (in.at < in.end && (!kernel_text_char(&in, ',') || in.at == in.end))
            return -EINVAL;
    }
    *n = count;
    return 0;
}
