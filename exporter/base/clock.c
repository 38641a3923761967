#include "exporter/base/clock.h"

#include <errno.h>
#include <string.h>

#include "exporter/base/textbuf.h"

static const struct {
    const char *name;
    uint64_t ps;
} units[] = {
    {"h", 3600000000000000ull}, {"m", 60000000000000ull}, {"s", 1000000000000ull},
    {"ms", 1000000000ull},      {"us", 1000000ull},       {"ns", 1000ull},
};
enum { UNITS = sizeof units / sizeof *units };

/* Digits with at most one point among them, as value * 10^-places. */
static int take_number(const char **text, uint64_t *value, uint64_t *scale)
{
    const char *p = *text;
    bool digits = false, point = false;
    *value = 0;
    *scale = 1;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        digits = true;
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value) ||
            (point && __builtin_mul_overflow(*scale, 10, scale)))
            return -EINVAL;
    }
    *text = p;
    return digits && p[-1] != '.' ? 0 : -EINVAL;
}

int duration_parse_ps(const char *text, uint64_t *out_ps)
{
    uint64_t total = 0;
    size_t next = 0; /* units before this one are used up */
    do {
        uint64_t value, scale;
        if (take_number(&text, &value, &scale))
            return -EINVAL;
        size_t len = strspn(text, "hmsun");
        size_t i = next;
        while (i < UNITS && (strlen(units[i].name) != len || strncmp(units[i].name, text, len)))
            i++;
        if (i == UNITS)
            return -EINVAL;
        unsigned __int128 ps = (unsigned __int128)value * units[i].ps;
        if (ps % scale != 0)
            return -EINVAL;
        ps = ps / scale + total;
        if (ps > UINT64_MAX)
            return -EINVAL;
        total = (uint64_t)ps;
        text += len;
        next = i + 1;
    } while (*text);
    *out_ps = total;
    return 0;
}

void duration_add(struct textbuf *buf, double ns)
{
    uint64_t ps = (uint64_t)(ns * 1000);
    for (size_t i = 0; i < UNITS; i++) {
        if (ps >= units[i].ps && ps % units[i].ps == 0) {
            textbuf_u64(buf, ps / units[i].ps);
            textbuf_str(buf, units[i].name);
            return;
        }
    }
    textbuf_double(buf, ns);
    textbuf_str(buf, ns > 0 ? "ns" : "s");
}
