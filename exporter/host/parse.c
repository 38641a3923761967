#include "exporter/host/parse.h"

#include <errno.h>
#include <stdbool.h>

#include "exporter/base/kernel_text.h"

/* ---- pressure ---- */

/* "12.34 " is 0.1234. */
static bool take_percent(const char *at, const char *end, double *ratio)
{
    unsigned hundredths = 0, digits = 0, behind = 0;
    for (; at < end && *at != ' '; at++) {
        if (*at == '.' && digits > 0 && behind == 0) {
            behind = 1;
            continue;
        }
        if (*at < '0' || *at > '9' || behind > 2 || ++digits > 5)
            return false;
        hundredths = hundredths * 10 + (unsigned)(*at - '0');
        behind += behind > 0;
    }
    if (behind != 3 || at == end || hundredths > 10000)
        return false;
    *ratio = (double)hundredths / 10000;
    return true;
}

int pressure_parse(const char *text, size_t len, double *some_ratio)
{
    struct kernel_text in = kernel_text_of(text, len), line;
    while (kernel_text_rest_line(&in, &line))
        if (kernel_text_word(&line, "some avg10="))
            return take_percent(line.at, line.end, some_ratio) ? 0 : -EINVAL;
    return -EINVAL;
}

/* ---- CPU time ---- */

enum { STEAL = 7, TIMES = 8 }; /* user, nice, system, idle, iowait, irq, softirq, steal */

int cpu_times_parse(const char *text, size_t len, uint64_t *all_ticks, uint64_t *steal_ticks)
{
    struct kernel_text in = kernel_text_of(text, len), line;
    uint64_t time[TIMES], all = 0;
    size_t n = 0;
    if (!kernel_text_line(&in, &line) || !kernel_text_word(&line, "cpu "))
        return -EINVAL;
    while (line.at < line.end && n < TIMES) {
        if (kernel_text_char(&line, ' '))
            continue;
        if (!kernel_text_number(&line, &time[n]) || __builtin_add_overflow(all, time[n], &all))
            return -EINVAL;
        n++;
    }
    if (n < TIMES)
        return -ENODATA;
    *all_ticks = all;
    *steal_ticks = time[STEAL];
    return 0;
}
