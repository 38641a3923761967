#include "exporter/source/perf/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"

static int set_list(struct perf_cpus *cpus, const char *text, size_t len)
{
    size_t n;
    int err = cpulist_parse(text, len, NULL, 0, &n);
    if (err)
        return err;
    if (n > cpus->cap) {
        int *at = realloc(cpus->at, n * sizeof *at);
        if (!at)
            return -ENOMEM;
        cpus->at = at;
        cpus->cap = n;
    }
    err = cpulist_parse(text, len, cpus->at, cpus->cap, &cpus->n);
    if (err)
        return err;
    memcpy(cpus->text, text, len);
    cpus->text_len = len;
    return 0;
}

/* Without sysfs: the CPUs that the C library knows, and no notice of changes. */
static int assume_list(struct perf_cpus *cpus)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n < 1)
        n = 1;
    cpus->at = malloc((size_t)n * sizeof *cpus->at);
    if (!cpus->at)
        return -ENOMEM;
    for (long i = 0; i < n; i++)
        cpus->at[i] = (int)i;
    cpus->n = cpus->cap = (size_t)n;
    return 0;
}

static int list_online(struct perf_cpus *cpus, const struct fsroot *fs)
{
    bool changed;
    cpus->fd = fsroot_open(fs, FSROOT_SYS, "devices/system/cpu/online", O_RDONLY);
    if (cpus->fd >= 0)
        return perf_cpus_refresh(cpus, &changed);
    cpus->fd = -1;
    return assume_list(cpus);
}

/* The list is in ascending order. */
static int last_of(const int *at, size_t n)
{
    return n ? at[n - 1] : -1;
}

/* The highest number there can be, not how many: a board leaves numbers out. At least those that
 * are online. */
static int find_possible(struct perf_cpus *cpus, const struct fsroot *fs)
{
    struct perf_cpus there = {0};
    char text[sizeof there.text];
    size_t len;
    int err = fsroot_read(fs, FSROOT_SYS, "devices/system/cpu/possible", text, sizeof text, &len);
    if (!err)
        err = set_list(&there, text, len);
    int last = err ? -1 : last_of(there.at, there.n), online = last_of(cpus->at, cpus->n);
    cpus->possible = (last > online ? last : online) + 1;
    free(there.at);
    return err == -ENOMEM ? err : 0;
}

int perf_cpus_init(struct perf_cpus *cpus, const struct fsroot *fs)
{
    *cpus = (struct perf_cpus){.fd = -1};
    int err = list_online(cpus, fs);
    if (!err)
        err = find_possible(cpus, fs);
    if (err)
        perf_cpus_release(cpus);
    return err;
}

void perf_cpus_release(struct perf_cpus *cpus)
{
    if (cpus->fd >= 0)
        close(cpus->fd);
    free(cpus->at);
    *cpus = (struct perf_cpus){.fd = -1};
}

int perf_cpus_refresh(struct perf_cpus *cpus, bool *changed)
{
    char text[sizeof cpus->text];
    size_t len;
    *changed = false;
    if (cpus->fd < 0)
        return 0;
    int err = fsroot_read_fd(cpus->fd, text, sizeof text, &len);
    if (err)
        return err;
    if (len == cpus->text_len && memcmp(text, cpus->text, len) == 0)
        return 0;
    err = set_list(cpus, text, len);
    *changed = err == 0;
    return err;
}

bool perf_cpus_has(const struct perf_cpus *cpus, int cpu)
{
    for (size_t i = 0; i < cpus->n; i++)
        if (cpus->at[i] == cpu)
            return true;
    return false;
}
