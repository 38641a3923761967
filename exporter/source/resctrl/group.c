#include "exporter/source/resctrl/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/base/kernel_text.h"
#include "exporter/source/resctrl/tree.h"

/* Bytes a second that no L3's memory moves. */
static const double most_bytes_per_second = 4e12;

static const struct {
    const char *file;
    bool package;
    unsigned fraction;
} values[MON_VALUES] = {
    [MON_TOTAL_BYTES] = {"mbm_total_bytes", false, 0},
    [MON_LOCAL_BYTES] = {"mbm_local_bytes", false, 0},
    [MON_OCCUPANCY_BYTES] = {"llc_occupancy", false, 0},
    [MON_CORE_ENERGY] = {"core_energy", true, MON_FRACTION},
    [MON_STALLS] = {"stalls_llc_miss", true, 0},
    [MON_CYCLES] = {"unhalted_core_cycles", true, 0},
};

static const uint32_t levels = 1u << MON_OCCUPANCY_BYTES;

/* ---- domains ---- */

/* The number behind the prefix; -1: it is something else. */
static int number_of(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    int number = 0;
    if (strncmp(name, prefix, n) != 0 || !name[n] || strlen(name + n) > 6)
        return -1;
    for (const char *c = name + n; *c; c++) {
        if (*c < '0' || *c > '9')
            return -1;
        number = 10 * number + (*c - '0');
    }
    return number;
}

static int add_directory(struct mon_group *group, const char *directory, bool package, int cpu)
{
    struct mon_directory *from;
    size_t row = 0;
    if (group->n_directories == MON_DIRECTORIES || strlen(directory) >= sizeof from->directory)
        return 0;
    while (row < group->n_rows && group->rows[row].cpu != cpu)
        row++;
    if (row == MON_ROWS)
        return 0;
    if (row == group->n_rows) {
        struct mon_row *rows = realloc(group->rows, (row + 1) * sizeof *rows);
        if (!rows)
            return -ENOMEM;
        group->rows = rows;
        group->rows[group->n_rows++] = (struct mon_row){.cpu = cpu};
    }
    struct mon_directory *directories =
        realloc(group->directories, (group->n_directories + 1) * sizeof *directories);
    if (!directories)
        return -ENOMEM;
    group->directories = directories;
    from = &directories[group->n_directories++];
    *from = (struct mon_directory){.package = package, .row = row};
    memcpy(from->directory, directory, strlen(directory) + 1);
    return 0;
}

static DIR *list(int fd, const char *directory)
{
    int opened = openat(fd, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *out = opened < 0 ? NULL : fdopendir(opened);
    if (opened >= 0 && !out)
        close(opened);
    return out;
}

/* With sub-NUMA clustering a domain has a directory for each node, which together are the domain.
 * 0 with how many there are in *n, or -ENOMEM. */
static int add_parts(struct mon_group *group, const char *domain, const struct mon_domains *domains,
                     size_t *n)
{
    struct dirent *entry;
    DIR *directory = list(group->fd, domain);
    int err = 0;
    *n = 0;
    while (directory && !err && (entry = readdir(directory))) {
        char path[80];
        int node = number_of(entry->d_name, "mon_sub_L3_");
        if (node < 0)
            continue;
        snprintf(path, sizeof path, "%.24s/%.24s", domain, entry->d_name);
        err = add_directory(group, path, false, mon_domains_cpu(domains, MON_NODE, node));
        ++*n;
    }
    if (directory)
        closedir(directory);
    return err;
}

static int add_domain(struct mon_group *group, const char *name, const struct mon_domains *domains)
{
    size_t parts;
    int l3 = number_of(name, "mon_L3_"), package = number_of(name, "mon_PERF_PKG_");
    if (package >= 0)
        return add_directory(group, name, true, mon_domains_cpu(domains, MON_PACKAGE, package));
    if (l3 < 0)
        return 0; /* of a kernel that knows more */
    int err = add_parts(group, name, domains, &parts);
    if (err || parts > 0)
        return err;
    return add_directory(group, name, false, mon_domains_cpu(domains, MON_L3, l3));
}

/* Rows with a CPU and rows without would be of different kinds: where one is not known, all are
 * one. */
static void merge_rows(struct mon_group *group)
{
    bool unknown = false;
    for (size_t i = 0; i < group->n_rows; i++)
        unknown |= group->rows[i].cpu < 0;
    if (!unknown)
        return;
    group->n_rows = 1;
    group->rows[0].cpu = -1;
    for (size_t i = 0; i < group->n_directories; i++)
        group->directories[i].row = 0;
}

static int compare(const void *left, const void *right)
{
    const struct mon_directory *a = left, *b = right;
    return strcmp(a->directory, b->directory);
}

int mon_group_init(struct mon_group *group, int fd, const struct mon_domains *domains)
{
    struct dirent *entry;
    int err = 0;
    *group = (struct mon_group){.fd = fd};
    DIR *directory = list(fd, ".");
    if (!directory)
        err = -errno;
    while (directory && !err && (entry = readdir(directory)))
        err = add_domain(group, entry->d_name, domains);
    if (directory)
        closedir(directory);
    if (!err && group->n_directories == 0)
        err = -ENOENT;
    if (err) {
        mon_group_release(group);
        return err;
    }
    merge_rows(group);
    qsort(group->directories, group->n_directories, sizeof *group->directories, compare);
    return 0;
}

void mon_group_close(struct mon_group *group)
{
    if (group->fd >= 0)
        close(group->fd);
    group->fd = -1;
}

void mon_group_release(struct mon_group *group)
{
    mon_group_close(group);
    free(group->directories);
    free(group->rows);
    *group = (struct mon_group){.fd = -1};
}

/* ---- reading ---- */

/* As mon_value_parse(), and errors of the file. */
static int read_value(int directory, enum mon_value v, uint64_t *out)
{
    char text[64];
    int fd = openat(directory, values[v].file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t len;
    do
        len = read(fd, text, sizeof text);
    while (len < 0 && errno == EINTR);
    int err = len < 0 ? -errno : mon_value_parse(text, (size_t)len, values[v].fraction, out);
    close(fd);
    return err;
}

static bool is_plausible(enum mon_value v, uint64_t grown, uint64_t window_ns)
{
    bool bytes = v == MON_TOTAL_BYTES || v == MON_LOCAL_BYTES;
    return !bytes || (double)grown <= most_bytes_per_second * 1e-9 * (double)window_ns;
}

/* What a directory adds to its row; a value that is not known of it is not known of the row. */
static void take(struct mon_group *group, struct mon_directory *from, enum mon_value v, bool read,
                 uint64_t value, uint64_t elapsed_ns)
{
    struct mon_row *row = &group->rows[from->row];
    uint32_t bit = 1u << v;
    bool level = levels & bit;
    bool known = read && (level || ((from->had & bit) && value >= from->last[v] &&
                                    is_plausible(v, value - from->last[v], elapsed_ns)));
    row->has |= bit;
    if (!known)
        row->known &= ~bit;
    else
        row->value[v] += level ? value : value - from->last[v];
    from->had = read ? from->had | bit : from->had & ~bit;
    if (read)
        from->last[v] = value;
}

/* False: it is not there any more. */
static bool read_directory(struct mon_group *group, struct mon_directory *from, uint64_t elapsed_ns)
{
    int directory = mon_open_directory(group->fd, from->directory);
    bool there = false;
    for (int v = 0; v < MON_VALUES; v++) {
        uint64_t value = 0;
        if (values[v].package != from->package)
            continue;
        int err = directory < 0 ? directory : read_value(directory, v, &value);
        there |= err != -ENOENT && err != -ENODEV;
        /* What it never had this kernel does not count; what it had, it should have. */
        if (!err || (err != -ENOENT && err != -ENODEV) || (from->had >> v & 1))
            take(group, from, v, !err, value, elapsed_ns);
    }
    if (directory >= 0)
        close(directory);
    return there;
}

int mon_group_read(struct mon_group *group, uint64_t now_ns)
{
    bool there = false;
    if (group->gone)
        return -ESRCH;
    if (group->fd < 0)
        return -EBADF;
    uint64_t elapsed_ns = group->readings ? now_ns - group->read_ns : 0;
    for (size_t i = 0; i < group->n_rows; i++)
        group->rows[i] = (struct mon_row){.cpu = group->rows[i].cpu, .known = UINT32_MAX};
    for (size_t i = 0; i < group->n_directories; i++)
        there |= read_directory(group, &group->directories[i], elapsed_ns);
    bool first = group->readings < 2;
    for (size_t i = 0; i < group->n_rows; i++)
        group->rows[i].known &= first ? 0 : group->rows[i].has;
    group->readings += first;
    group->read_ns = now_ns;
    group->window_ns = first ? 0 : elapsed_ns;
    group->gone = !there;
    return there ? 0 : -ESRCH;
}

/* ---- where domains are ---- */

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
