#include "exporter/source/perf/l3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/cpulist.h"
#include "exporter/source/perf/detect.h"

enum { MASK_CPUS = 128, MOST_L3 = 4095, PATH = 96 };

static int mask_cpus(const struct fsroot *fs, int cpus[MASK_CPUS], size_t *n)
{
    char text[1024];
    size_t len;
    int err = fsroot_read(fs, FSROOT_SYS, "bus/event_source/devices/amd_l3/cpumask", text,
                          sizeof text, &len);
    *n = 0;
    if (err)
        return err == -ENOENT ? 0 : err;
    err = cpulist_parse(text, len, cpus, MASK_CPUS, n);
    if (!err && *n > MASK_CPUS)
        *n = MASK_CPUS;
    return err;
}

/* As resctrl names its domains. Kernels that give no id: the place in the cpumask. */
static int number_of(const struct fsroot *fs, int cpu, size_t at)
{
    char path[PATH];
    uint64_t id;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cache/index3/id", cpu);
    bool known = fsroot_read_u64(fs, FSROOT_SYS, path, &id) == 0 && id <= MOST_L3;
    return known ? (int)id : (int)at;
}

/* "32768K" */
static uint64_t bytes_of(const struct fsroot *fs, int cpu)
{
    char path[PATH], text[32], *end;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cache/index3/size", cpu);
    if (fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, NULL) != 0)
        return 0;
    unsigned long long size = strtoull(text, &end, 10);
    bool plausible = end > text && size <= UINT64_C(1) << 32;
    return plausible && strcmp(end, "K\n") == 0   ? size << 10
           : plausible && strcmp(end, "M\n") == 0 ? size << 20
                                                  : 0;
}

int perf_l3s(const struct fsroot *fs, struct source_unit *out, size_t cap, size_t *n)
{
    int cpus[MASK_CPUS];
    size_t found;
    int err = mask_cpus(fs, cpus, &found);
    if (err)
        return err;
    for (size_t i = 0; i < found && i < cap; i++) {
        struct source_unit *unit = &out[i];
        *unit = (struct source_unit){.kind = "l3", .imc = number_of(fs, cpus[i], i)};
        unit->socket = cpu_socket(fs, cpus[i]);
        unit->cache_bytes = bytes_of(fs, cpus[i]);
        snprintf(unit->key, sizeof unit->key, "socket%d.l3-%d", unit->socket, unit->imc);
    }
    *n = found;
    return 0;
}

int perf_l3_cpu(const struct fsroot *fs, int l3)
{
    int cpus[MASK_CPUS];
    size_t n;
    if (mask_cpus(fs, cpus, &n) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (number_of(fs, cpus[i], i) == l3)
            return cpus[i];
    return -1;
}
