#include "exporter/source/activity/parse.h"

#include <errno.h>
#include <stdbool.h>

#include "exporter/base/kernel_text.h"

static bool at_end_of_line(struct kernel_text *in)
{
    return in->at == in->end || *in->at == '\n';
}

int cpu_stat_parse(const char *text, size_t len, uint64_t *usage_ns)
{
    struct kernel_text in = {text, text + len}, line;
    uint64_t ns;
    while (kernel_text_line(&in, &line)) {
        if (!kernel_text_word(&line, "usage_usec "))
            continue;
        if (!kernel_text_number(&line, &ns) || !at_end_of_line(&line) ||
            __builtin_mul_overflow(ns, 1000u, &ns))
            return -EINVAL;
        *usage_ns = ns;
        return 0;
    }
    return -ENODATA;
}

int cpuacct_usage_parse(const char *text, size_t len, uint64_t *usage_ns)
{
    struct kernel_text in = {text, text + len};
    uint64_t ns;
    if (!kernel_text_number(&in, &ns) || !kernel_text_char(&in, '\n') || in.at != in.end)
        return -EINVAL;
    *usage_ns = ns;
    return 0;
}

int cpuacct_percpu_parse(const char *text, size_t len, uint64_t *usage_ns, size_t cap, size_t *n)
{
    /* Nothing may be stored before all of it is known to be good. */
    for (int storing = 0; storing < 2; storing++) {
        struct kernel_text in = {text, text + len};
        size_t found = 0;
        uint64_t ns;
        bool more = true;
        while (more && kernel_text_number(&in, &ns)) {
            if (storing && found < cap)
                usage_ns[found] = ns;
            found++;
            more = kernel_text_char(&in, ' ');
        }
        if (!storing && (found == 0 || !kernel_text_char(&in, '\n') || in.at != in.end))
            return -EINVAL;
        if (storing)
            *n = found;
    }
    return 0;
}

/* "cpu3 user nice system idle iowait irq softirq ...": irq and softirq are in all kernels since
 * 2.6. */
static bool take_cpu(struct kernel_text *line, unsigned ticks, struct cpu_time *out)
{
    enum { IDLE = 3, IOWAIT = 4, FIELDS = 7 };
    uint64_t number, sum = 0;
    if (!kernel_text_number(line, &number) || number > 65535)
        return false;
    out->cpu = (int)number;
    for (int field = 0; field < FIELDS; field++) {
        if (!kernel_text_char(line, ' ') || !kernel_text_number(line, &number))
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
        struct kernel_text in = {text, text + len}, line;
        size_t found = 0;
        while (kernel_text_line(&in, &line) && kernel_text_word(&line, "cpu")) {
            struct cpu_time cpu;
            if (kernel_text_char(&line, ' ')) /* the sum of all */
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
