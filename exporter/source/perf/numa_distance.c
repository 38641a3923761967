#include "exporter/source/perf/numa_distance.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "exporter/source/machine.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n';
}

/* Where the number ends; NULL: it is none. */
static const char *take_number(const char *at, const char *end, uint8_t *out)
{
    unsigned value = 0;
    const char *digit = at;
    for (; digit < end && *digit >= '0' && *digit <= '9' && value <= UINT8_MAX; digit++)
        value = value * 10 + (unsigned)(*digit - '0');
    if (value == 0 || value > UINT8_MAX || (digit < end && !is_space(*digit)))
        return NULL;
    *out = (uint8_t)value;
    return digit;
}

int numa_distances_parse(const char *text, size_t len, uint8_t *out, size_t n)
{
    uint8_t found[MACHINE_NODES];
    size_t count = 0;
    for (const char *at = text, *end = text + len; at < end;) {
        if (is_space(*at)) {
            at++;
            continue;
        }
        if (count >= n || count >= MACHINE_NODES || !(at = take_number(at, end, &found[count])))
            return -EINVAL;
        count++;
    }
    if (count != n)
        return -EINVAL;
    memcpy(out, found, n);
    return 0;
}
