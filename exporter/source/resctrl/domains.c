#include "exporter/source/resctrl/domains.h"

#include <inttypes.h>
#include <stdio.h>

#include "exporter/base/cpulist.h"

static int16_t number(const struct fsroot *fs, int cpu, const char *file)
{
    char path[96];
    uint64_t value;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/%s", cpu, file);
    bool known = fsroot_read_u64(fs, FSROOT_SYS, path, &value) == 0 && value <= INT16_MAX;
    return known ? (int16_t)value : -1;
}

static int16_t first_cpu(const struct fsroot *fs, int node)
{
    char path[96], text[4096];
    size_t len, n;
    int cpu;
    snprintf(path, sizeof path, "devices/system/node/node%d/cpulist", node);
    if (fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, &len) != 0 ||
        cpulist_parse(text, len, &cpu, 1, &n) != 0 || n == 0 || cpu >= MACHINE_CPUS)
        return -1;
    return (int16_t)cpu;
}

void mon_domains_load(struct mon_domains *domains, const struct fsroot *fs)
{
    char text[4096];
    int online[MACHINE_CPUS];
    size_t len, n = 0;
    if (domains->loaded)
        return;
    domains->loaded = true;
    for (int cpu = 0; cpu < MACHINE_CPUS; cpu++)
        domains->package[cpu] = domains->l3[cpu] = -1;
    if (fsroot_read(fs, FSROOT_SYS, "devices/system/cpu/online", text, sizeof text, &len) != 0 ||
        cpulist_parse(text, len, online, MACHINE_CPUS, &n) != 0)
        n = 0;
    for (size_t i = 0; i < n && i < MACHINE_CPUS; i++) {
        if (online[i] >= MACHINE_CPUS)
            continue;
        domains->package[online[i]] = number(fs, online[i], "topology/physical_package_id");
        domains->l3[online[i]] = number(fs, online[i], "cache/index3/id");
    }
    for (int node = 0; node < MACHINE_NODES; node++)
        domains->first[node] = first_cpu(fs, node);
}

int mon_domains_cpu(const struct mon_domains *domains, enum mon_domain kind, int id)
{
    const int16_t *of = kind == MON_L3 ? domains->l3 : domains->package;
    if (id < 0)
        return -1;
    if (kind == MON_NODE)
        return id < MACHINE_NODES ? domains->first[id] : -1;
    for (int cpu = 0; cpu < MACHINE_CPUS; cpu++)
        if (of[cpu] == id)
            return cpu;
    return -1;
}
