#include "exporter/source/perf/detect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "exporter/base/kernel_text.h"
#include "exporter/source/perf/kernel.h"

/* ---- distances ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n';
}

static bool take_distance(struct kernel_text *in, uint8_t *out)
{
    uint64_t value;
    if (!kernel_text_number(in, &value) || value == 0 || value > UINT8_MAX)
        return false;
    *out = (uint8_t)value;
    return in->at == in->end || is_space(*in->at);
}

int numa_distances_parse(const char *text, size_t len, uint8_t *out, size_t n)
{
    uint8_t found[MACHINE_NODES];
    size_t count = 0;
    struct kernel_text in = kernel_text_of(text, len);
    while (in.at < in.end) {
        if (is_space(*in.at)) {
            in.at++;
            continue;
        }
        if (count >= n || count >= MACHINE_NODES || !take_distance(&in, &found[count]))
            return -EINVAL;
        count++;
    }
    if (count != n)
        return -EINVAL;
    memcpy(out, found, n);
    return 0;
}

enum { MAX_CPUS = 8192, MAX_SOCKETS = 1024 };

/* CPUID leaf 15H: the TSC runs at crystal * b / a. Many server CPUs leave the crystal out. */
static double frequency_of_cpuid(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d) && a && b && c)
        return (double)c * b / a;
#endif
    return 0;
}

/* The kernel tells user space how it turns TSC ticks into time: ns = ticks * mult >> shift. */
static double frequency_of_perf(void)
{
    const struct perf_kernel *kernel = &perf_kernel_linux;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    double frequency = 0;
    long size = sysconf(_SC_PAGESIZE);
    int fd = kernel->event_open(kernel->context, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return 0;
    void *page = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) {
        const struct perf_event_mmap_page *info = page;
        if (info->cap_user_time && info->time_mult && info->time_shift < 64)
            frequency = 1e9 * (double)(UINT64_C(1) << info->time_shift) / info->time_mult;
        munmap(page, (size_t)size);
    }
    kernel->close(kernel->context, fd);
    return frequency;
}

/* Reads a list of CPUs or nodes; 0 when there is none. */
static size_t read_list(const struct fsroot *fs, const char *path, int *out, size_t cap)
{
    char text[4096];
    size_t len, n;
    if (fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, &len) ||
        cpulist_parse(text, len, out, cap, &n))
        return 0;
    return n;
}

static int find_sockets(const struct fsroot *fs, const int *cpus, size_t n, struct machine *out)
{
    bool seen[MAX_SOCKETS] = {false};
    int sockets = 0;
    for (size_t i = 0; i < n; i++) {
        char path[96];
        uint64_t id;
        snprintf(path, sizeof path, "devices/system/cpu/cpu%d/topology/physical_package_id",
                 cpus[i]);
        if (fsroot_read_u64(fs, FSROOT_SYS, path, &id) || id >= MAX_SOCKETS)
            continue;
        machine_place_cpu(out, cpus[i], (int)id);
        if (seen[id])
            continue;
        seen[id] = true;
        sockets++;
    }
    return sockets;
}

/* Of a list with a node that was just taken offline, or with one more, nothing is known. */
static void find_distances(const struct fsroot *fs, const int *nodes, size_t n, struct machine *out)
{
    for (size_t i = 0; i < n; i++) {
        char path[64], text[512];
        uint8_t distances[MACHINE_NODES];
        size_t len;
        snprintf(path, sizeof path, "devices/system/node/node%d/distance", nodes[i]);
        if (fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, &len) ||
            numa_distances_parse(text, len, distances, n))
            continue;
        for (size_t k = 0; k < n; k++)
            out->numa_distance[nodes[i]][nodes[k]] = distances[k];
    }
}

/* Of a machine with more or others than there is room for, nothing is known. */
static void note_nodes(const struct fsroot *fs, const int *nodes, size_t n, struct machine *out)
{
    uint64_t online = 0;
    for (size_t i = 0; i < n; i++) {
        if (i >= MACHINE_NODES || nodes[i] >= MACHINE_NODES)
            return;
        online |= UINT64_C(1) << nodes[i];
    }
    out->online_nodes = online;
    find_distances(fs, nodes, n, out);
}

/* 'room' holds that many CPUs. */
static int find_nodes(const struct fsroot *fs, int *room, size_t cap, struct machine *out)
{
    int nodes[MACHINE_NODES];
    size_t n = read_list(fs, "devices/system/node/online", nodes, MACHINE_NODES);
    for (size_t i = 0; i < n && i < MACHINE_NODES; i++) {
        char path[64];
        snprintf(path, sizeof path, "devices/system/node/node%d/cpulist", nodes[i]);
        size_t cpus = read_list(fs, path, room, cap);
        for (size_t k = 0; k < cpus && k < cap; k++)
            machine_place_cpu_on_node(out, room[k], nodes[i]);
    }
    note_nodes(fs, nodes, n, out);
    return (int)n;
}

int cpu_socket(const struct fsroot *fs, int cpu)
{
    char path[96];
    uint64_t socket;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return fsroot_read_u64(fs, FSROOT_SYS, path, &socket) == 0 && socket < MAX_SOCKETS ? (int)socket
                                                                                       : 0;
}

/* The value of "name<tabs>: value" in the first processor's lines, or NULL. */
static const char *cpuinfo_value(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line && *line && *line != '\n';) {
        if (strncmp(line, name, len) == 0) {
            const char *rest = line + len + strspn(line + len, " \t");
            if (*rest == ':')
                return rest + 1 + strspn(rest + 1, " \t");
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

static int cpuinfo_number(const char *text, const char *name, int *out)
{
    const char *value = cpuinfo_value(text, name);
    if (!value || *value < '0' || *value > '9')
        return -ENOENT;
    long n = strtol(value, NULL, 10);
    if (n > 0xffff)
        return -ENOENT;
    *out = (int)n;
    return 0;
}

/* The first processor's lines are under 2 KiB. */
enum { CPUINFO_SIZE = 8192 };

static int read_cpuinfo(const struct fsroot *fs, char text[CPUINFO_SIZE])
{
    int fd = fsroot_open(fs, FSROOT_PROC, "cpuinfo", O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t n = pread(fd, text, CPUINFO_SIZE - 1, 0);
    int err = n < 0 ? -errno : 0;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return err;
}

/* Arm's kernels do not say it. */
static void find_model(const struct fsroot *fs, struct machine *out)
{
    static const char hypervisor[] = " hypervisor";
    char text[CPUINFO_SIZE];
    if (read_cpuinfo(fs, text) != 0)
        return;
    const char *model = cpuinfo_value(text, "model name"), *flags = cpuinfo_value(text, "flags");
    if (model)
        snprintf(out->cpu_model, sizeof out->cpu_model, "%.*s", (int)strcspn(model, "\n"), model);
    out->guest =
        flags && memmem(flags, strcspn(flags, "\n"), hypervisor, sizeof hypervisor - 1) != NULL;
}

void machine_detect(const struct fsroot *fs, struct machine *out)
{
    int *cpus = calloc(MAX_CPUS, sizeof *cpus);
    *out = (struct machine){.base_frequency_hz = frequency_of_cpuid()};
    find_model(fs, out);
    if (out->base_frequency_hz <= 0)
        out->base_frequency_hz = frequency_of_perf();
    if (!cpus)
        return;
    size_t n = read_list(fs, "devices/system/cpu/online", cpus, MAX_CPUS);
    out->cpus = (int)n;
    out->sockets = find_sockets(fs, cpus, n < MAX_CPUS ? n : MAX_CPUS, out);
    out->numa_nodes = find_nodes(fs, cpus, MAX_CPUS, out);
    free(cpus);
}

int cpu_identify(const struct fsroot *fs, struct cpu_identity *out)
{
    char text[CPUINFO_SIZE];
    struct cpu_identity found = {.family = 0};
    int err = read_cpuinfo(fs, text);
    if (err)
        return err;

    const char *vendor = cpuinfo_value(text, "vendor_id");
    size_t len = vendor ? strcspn(vendor, "\n") : 0;
    if (len == 0 || len >= sizeof found.vendor)
        return -ENOENT;
    memcpy(found.vendor, vendor, len);
    if (cpuinfo_number(text, "cpu family", &found.family) ||
        cpuinfo_number(text, "model", &found.model) ||
        cpuinfo_number(text, "stepping", &found.stepping))
        return -ENOENT;
    *out = found;
    return 0;
}

enum { MIDR_KIND = 0xff00fff0 }; /* implementer and part; the rest are revisions */

int cpu_midr(const struct fsroot *fs, uint64_t *midr)
{
    int *cpus = calloc(MAX_CPUS, sizeof *cpus);
    uint64_t first = 0, other;
    if (!cpus)
        return -ENOMEM;
    size_t n = read_list(fs, "devices/system/cpu/online", cpus, MAX_CPUS);
    int err = n ? 0 : -ENOENT;
    for (size_t i = 0; i < n && i < MAX_CPUS && !err; i++) {
        char path[96], text[32], *end;
        snprintf(path, sizeof path, "devices/system/cpu/cpu%d/regs/identification/midr_el1",
                 cpus[i]);
        err = fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, NULL);
        if (err)
            break;
        other = strtoull(text, &end, 16);
        if (end == text || (i > 0 && ((first ^ other) & MIDR_KIND)))
            err = -ENOENT;
        first = i > 0 ? first : other;
    }
    free(cpus);
    if (!err)
        *midr = first;
    return err;
}

bool cpu_pmu_name(const struct fsroot *fs, char name[CPU_PMU_NAME])
{
    static const char path[] = "bus/event_source/devices/cpu/caps/pmu_name";
    if (fsroot_read(fs, FSROOT_SYS, path, name, CPU_PMU_NAME, NULL) != 0)
        return false;
    name[strcspn(name, "\n")] = '\0';
    return name[0] != '\0';
}

bool cpu_has_pmu(const struct fsroot *fs)
{
    static const char *const names[] = {"cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[96];
        uint64_t type;
        snprintf(path, sizeof path, "bus/event_source/devices/%s/type", names[i]);
        if (fsroot_read_u64(fs, FSROOT_SYS, path, &type) == 0)
            return true;
    }
    return false;
}

bool cpu_is_hybrid(const struct fsroot *fs)
{
    uint64_t type;
    return fsroot_read_u64(fs, FSROOT_SYS, "bus/event_source/devices/cpu_atom/type", &type) == 0;
}
