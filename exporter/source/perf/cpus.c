#include "exporter/source/perf/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/cpulist.h"

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

int perf_cpus_init(struct perf_cpus *cpus, const struct fsroot *fs)
{
    bool changed;
    *cpus = (struct perf_cpus){.fd = -1};
    cpus->fd = fsroot_open(fs, FSROOT_SYS, "devices/system/cpu/online", O_RDONLY);
    if (cpus->fd < 0) {
        cpus->fd = -1;
        return assume_list(cpus);
    }
    int err = perf_cpus_refresh(cpus, &changed);
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
