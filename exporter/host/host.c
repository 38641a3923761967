#include "exporter/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"

/* ---- the kernel's texts ---- */

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

static const char no_psi[] = "the kernel was built without PSI, or booted with psi=0";

static struct live_host nothing_known(void)
{
    return (struct live_host){.cpu_pressure = NAN,
                              .memory_pressure = NAN,
                              .io_pressure = NAN,
                              .steal = NAN,
                              .why_no_pressure = no_psi};
}

void host_init(struct host *host, const struct fsroot *fs)
{
    static const char *const paths[HOST_FILES] = {[HOST_CPU] = "pressure/cpu",
                                                  [HOST_MEMORY] = "pressure/memory",
                                                  [HOST_IO] = "pressure/io",
                                                  [HOST_STAT] = "stat"};
    *host = (struct host){.known = nothing_known()};
    for (int i = 0; i < HOST_FILES; i++) {
        int fd = fsroot_open(fs, FSROOT_PROC, paths[i], O_RDONLY);
        host->fd[i] = fd < 0 ? -1 : fd;
    }
}

void host_release(struct host *host)
{
    for (int i = 0; i < HOST_FILES; i++)
        if (host->fd[i] > 0)
            close(host->fd[i]);
    *host = (struct host){.read = false};
}

static double read_pressure(int fd)
{
    char text[512];
    size_t len;
    double some;
    if (fd < 0 || fsroot_read_fd(fd, text, sizeof text, &len) != 0 ||
        pressure_parse(text, len, &some) != 0)
        return NAN;
    return some;
}

/* Since the last reading. The kernel takes back a tick of idle time now and then. */
static double read_steal(struct host *host)
{
    char text[512]; /* the first line is shorter */
    ssize_t len = host->fd[HOST_STAT] < 0 ? -1 : pread(host->fd[HOST_STAT], text, sizeof text, 0);
    uint64_t all, steal, all_before = host->all_ticks, steal_before = host->steal_ticks;
    if (len < 0 || cpu_times_parse(text, (size_t)len, &all, &steal) != 0)
        return NAN;
    host->all_ticks = all;
    host->steal_ticks = steal;
    if (all_before == 0 || all <= all_before || steal < steal_before)
        return NAN;
    return (double)(steal - steal_before) / (double)(all - all_before);
}

void host_tick(struct host *host, uint64_t mono_ns)
{
    if (host->read && mono_ns - host->read_ns < HOST_EVERY_SECONDS * UINT64_C(1000000000))
        return;
    struct live_host *known = &host->known;
    known->cpu_pressure = read_pressure(host->fd[HOST_CPU]);
    known->memory_pressure = read_pressure(host->fd[HOST_MEMORY]);
    known->io_pressure = read_pressure(host->fd[HOST_IO]);
    known->why_no_pressure = isnan(known->memory_pressure) ? no_psi : NULL;
    known->steal = read_steal(host);
    host->read = true;
    host->read_ns = mono_ns;
}
