#include "exporter/source/waits/parse.h"

#include <errno.h>

#include "exporter/base/kernel_text.h"

int flat_parse(const char *text, size_t len, const char *key, uint64_t *value)
{
    struct kernel_text in = {text, text + len}, line;
    uint64_t found;
    while (kernel_text_line(&in, &line)) {
        if (!kernel_text_word(&line, key) || !kernel_text_char(&line, ' '))
            continue;
        if (!kernel_text_number(&line, &found) || line.at != line.end)
            return -EINVAL;
        *value = found;
        return 0;
    }
    return -ENODATA;
}

/* "some avg10=1.53 avg60=0.87 avg300=0.73 total=153512": microseconds, behind the last "=". */
static int take_total(struct kernel_text line, uint64_t *ns)
{
    uint64_t us;
    const char *total = memmem(line.at, (size_t)(line.end - line.at), " total=", 7);
    if (!total)
        return -EINVAL;
    line.at = total + 7;
    if (!kernel_text_number(&line, &us) || line.at != line.end ||
        __builtin_mul_overflow(us, 1000u, ns))
        return -EINVAL;
    return 0;
}

int pressure_totals_parse(const char *text, size_t len, struct pressure_totals *out)
{
    struct kernel_text in = {text, text + len}, line;
    struct pressure_totals found = {.has_full = false};
    bool has_some = false;
    int err = 0;
    while (!err && kernel_text_line(&in, &line)) {
        if (kernel_text_word(&line, "some")) {
            err = take_total(line, &found.some_ns);
            has_some = true;
        } else if (kernel_text_word(&line, "full")) {
            err = take_total(line, &found.full_ns);
            found.has_full = true;
        }
    }
    if (err)
        return err;
    if (!has_some)
        return -ENODATA;
    *out = found;
    return 0;
}

int cpu_max_parse(const char *text, size_t len, uint64_t *quota_ns)
{
    struct kernel_text in = {text, text + len};
    uint64_t quota, period;
    if (kernel_text_word(&in, "max "))
        return -ENODATA;
    if (!kernel_text_number(&in, &quota) || !kernel_text_char(&in, ' ') ||
        !kernel_text_number(&in, &period) || !kernel_text_char(&in, '\n') || in.at != in.end ||
        period == 0 || __builtin_mul_overflow(quota, UINT64_C(1000000000), &quota))
        return -EINVAL;
    *quota_ns = quota / period;
    return 0;
}

int single_parse(const char *text, size_t len, uint64_t *value)
{
    struct kernel_text in = {text, text + len};
    uint64_t found;
    if (kernel_text_word(&in, "max\n") || kernel_text_word(&in, "-1\n"))
        return -ENODATA;
    if (!kernel_text_number(&in, &found) || !kernel_text_char(&in, '\n') || in.at != in.end)
        return -EINVAL;
    *value = found;
    return 0;
}

/* "cpu3 user nice system idle iowait irq softirq steal ...", behind "cpu3". */
static int take_steal(struct kernel_text line, unsigned ticks, uint64_t *ns)
{
    enum { STEAL = 7 };
    uint64_t number;
    for (int field = 0; field <= STEAL; field++) {
        if (line.at == line.end)
            return -ENODATA;
        if (!kernel_text_char(&line, ' ') || !kernel_text_number(&line, &number))
            return -EINVAL;
    }
    return __builtin_mul_overflow(number, UINT64_C(1000000000) / ticks, ns) ? -EINVAL : 0;
}

int steal_parse(const char *text, size_t len, unsigned ticks, struct steal_totals *out)
{
    struct kernel_text in = {text, text + len}, line;
    struct steal_totals found = {.ns = {0}};
    bool any = false;
    while (kernel_text_line(&in, &line) && kernel_text_word(&line, "cpu")) {
        uint64_t cpu, ns;
        if (line.at < line.end && *line.at == ' ') /* the sum of all */
            continue;
        if (!kernel_text_number(&line, &cpu) || cpu > 65535)
            return -EINVAL;
        int err = take_steal(line, ticks, &ns);
        if (err || __builtin_add_overflow(found.ns[cpu % CPU_BITS], ns, &found.ns[cpu % CPU_BITS]))
            return err ? err : -EINVAL;
        found.cpus[cpu % CPU_BITS]++;
        any = true;
    }
    if (!any)
        return -ENODATA;
    *out = found;
    return 0;
}

int cpu_set_parse(const char *text, size_t len, uint64_t *set, size_t *cpus)
{
    int at[4096];
    size_t n;
    uint64_t found = 0;
    if (cpulist_parse(text, len, at, sizeof at / sizeof *at, &n) != 0)
        return -EINVAL;
    if (n == 0)
        return -ENODATA;
    for (size_t i = 0; i < n && i < sizeof at / sizeof *at; i++)
        found |= UINT64_C(1) << at[i] % CPU_BITS;
    *set = found;
    *cpus = n;
    return 0;
}

int schedstat_parse(const char *text, size_t len, uint64_t *delay_ns)
{
    struct kernel_text in = {text, text + len};
    uint64_t run, delay, slices;
    if (!kernel_text_number(&in, &run) || !kernel_text_char(&in, ' ') ||
        !kernel_text_number(&in, &delay) || !kernel_text_char(&in, ' ') ||
        !kernel_text_number(&in, &slices) || !kernel_text_char(&in, '\n') || in.at != in.end)
        return -EINVAL;
    *delay_ns = delay;
    return 0;
}
