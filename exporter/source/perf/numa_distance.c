#include "exporter/source/perf/numa_distance.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "exporter/base/kernel_text.h"
#include "exporter/source/machine.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n';
}

static bool take_distance(struct kernel_text *in, uint8_t *out)
{
    uint64_t value;
    if (!kernel_text_number(in, &value) || value == 0 || value > UINT8_MAX)
        return false;
    *out = (uint8_t)value;
    return in->at == in->end || is_space(*in->at);
}

int numa_distances_parse(const char *text, size_t len, uint8_t *out, size_t n)
{
    uint8_t found[MACHINE_NODES];
    size_t count = 0;
    struct kernel_text in = kernel_text_of(text, len);
    while (in.at < in.end) {
        if (is_space(*in.at)) {
            in.at++;
            continue;
        }
        if (count >= n || count >= MACHINE_NODES || !take_distance(&in, &found[count]))
            return -EINVAL;
        count++;
    }
    if (count != n)
        return -EINVAL;
    memcpy(out, found, n);
    return 0;
}
