#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/source/pmem/pmem.h"

enum { MAX_DEPTH = 8, LINK_SIZE = 1024, RELATIVE_SIZE = 512 };

/* Where a symbolic link of sysfs points. */
static int read_link(const struct fsroot *fs, const char *relative, char out[LINK_SIZE])
{
    char path[4096];
    int err = fsroot_path(fs, FSROOT_SYS, relative, path, sizeof path);
    if (err)
        return err;
    ssize_t n = readlink(path, out, LINK_SIZE - 1);
    if (n < 0)
        return -errno;
    out[n] = '\0';
    return 0;
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool exists(const struct fsroot *fs, const char *relative)
{
    char path[4096];
    return fsroot_path(fs, FSROOT_SYS, relative, path, sizeof path) == 0 && access(path, F_OK) == 0;
}

static bool is_pmem_name(const char *name)
{
    return strncmp(name, "pmem", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static DIR *open_dir(const struct fsroot *fs, const char *relative)
{
    char path[4096];
    return fsroot_path(fs, FSROOT_SYS, relative, path, sizeof path) == 0 ? opendir(path) : NULL;
}

/* "MAJOR:MINOR\n" */
static bool parse_device(const char *text, uint32_t *major, uint32_t *minor)
{
    char extra;
    return sscanf(text, "%9u:%9u%c", major, minor, &extra) == 3 && extra == '\n';
}

static enum pmem_disk disk_at(const struct fsroot *fs, uint32_t major, uint32_t minor, int depth);

/* Device mapper: DAX goes to whichever disk below, so all of them must be pmem. */
static enum pmem_disk disk_of_slaves(const struct fsroot *fs, const char *base, int depth)
{
    char relative[RELATIVE_SIZE + 300], text[32];
    size_t n = 0, dax = 0, none = 0;
    snprintf(relative, sizeof relative, "%s/slaves", base);
    DIR *dir = open_dir(fs, relative);
    if (!dir)
        return errno == ENOENT ? PMEM_DISK_NO : PMEM_DISK_UNKNOWN;
    for (struct dirent *entry; (entry = readdir(dir));) {
        uint32_t major, minor;
        if (entry->d_name[0] == '.')
            continue;
        n++;
        snprintf(relative, sizeof relative, "%s/slaves/%s/dev", base, entry->d_name);
        if (fsroot_read(fs, FSROOT_SYS, relative, text, sizeof text, NULL) != 0 ||
            !parse_device(text, &major, &minor))
            continue;
        enum pmem_disk disk = disk_at(fs, major, minor, depth + 1);
        dax += disk == PMEM_DISK_DAX;
        none += disk == PMEM_DISK_NO;
    }
    closedir(dir);
    if (none == n)
        return PMEM_DISK_NO;
    return dax == n ? PMEM_DISK_DAX : PMEM_DISK_UNKNOWN;
}

static enum pmem_disk disk_at(const struct fsroot *fs, uint32_t major, uint32_t minor, int depth)
{
    char base[RELATIVE_SIZE / 2], relative[RELATIVE_SIZE], link[LINK_SIZE];
    uint64_t dax;

    if (depth > MAX_DEPTH)
        return PMEM_DISK_UNKNOWN;
    snprintf(base, sizeof base, "dev/block/%u:%u", major, minor);
    if (read_link(fs, base, link) != 0)
        return PMEM_DISK_UNKNOWN;
    snprintf(relative, sizeof relative, "%s/partition", base);
    if (exists(fs, relative)) {
        /* The disk is the folder above, where the link leads to. */
        snprintf(base, sizeof base, "dev/block/%u:%u/..", major, minor);
        char *name = strrchr(link, '/');
        if (!name)
            return PMEM_DISK_UNKNOWN;
        *name = '\0';
    }
    snprintf(relative, sizeof relative, "%s/queue/dax", base);
    int err = fsroot_read_u64(fs, FSROOT_SYS, relative, &dax);
    if (err == -ENOENT || (err == 0 && dax != 1))
        return PMEM_DISK_NO;
    if (err)
        return PMEM_DISK_UNKNOWN;
    if (is_pmem_name(last_component(link)))
        return PMEM_DISK_DAX;
    return disk_of_slaves(fs, base, depth);
}

enum pmem_disk pmem_disk_of(const struct fsroot *fs, uint32_t major, uint32_t minor)
{
    return disk_at(fs, major, minor, 0);
}

/* The NVDIMM bus is in the path of all its devices; memory that firmware sets aside for special
 * purposes has device-dax as well, but is volatile. */
static bool on_nvdimm_bus(const char *link)
{
    const char *bus = strstr(link, "/ndbus");
    return bus && bus[6] >= '0' && bus[6] <= '9';
}

bool pmem_is_dax_device(const struct fsroot *fs, uint32_t major, uint32_t minor)
{
    char relative[RELATIVE_SIZE], link[LINK_SIZE];
    snprintf(relative, sizeof relative, "dev/char/%u:%u/subsystem", major, minor);
    if (read_link(fs, relative, link) != 0 || strcmp(last_component(link), "dax") != 0)
        return false;
    snprintf(relative, sizeof relative, "dev/char/%u:%u", major, minor);
    return read_link(fs, relative, link) == 0 && on_nvdimm_bus(link);
}

/* ---- the node ---- */

static void count_disk(const struct fsroot *fs, const char *name, struct pmem_node *node)
{
    char relative[RELATIVE_SIZE];
    uint64_t dax = 0;
    if (!is_pmem_name(name))
        return;
    snprintf(relative, sizeof relative, "block/%s/queue/dax", name);
    if (fsroot_read_u64(fs, FSROOT_SYS, relative, &dax) == 0 && dax == 1)
        node->dax_disks++;
    else
        node->other_disks++;
}

static void count_dimm(const struct fsroot *fs, const char *name, struct pmem_node *node)
{
    (void)fs;
    node->dimms += strncmp(name, "nmem", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static void count_dax(const struct fsroot *fs, const char *name, struct pmem_node *node)
{
    char relative[RELATIVE_SIZE], link[LINK_SIZE];
    snprintf(relative, sizeof relative, "bus/dax/devices/%s", name);
    node->dax_devices += read_link(fs, relative, link) == 0 && on_nvdimm_bus(link);
}

static void each_entry(const struct fsroot *fs, const char *relative, struct pmem_node *node,
                       void (*count)(const struct fsroot *, const char *, struct pmem_node *))
{
    DIR *dir = open_dir(fs, relative);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            count(fs, entry->d_name, node);
    closedir(dir);
}

void pmem_node_detect(const struct fsroot *fs, struct pmem_node *out)
{
    *out = (struct pmem_node){0};
    each_entry(fs, "bus/nd/devices", out, count_dimm);
    each_entry(fs, "block", out, count_disk);
    each_entry(fs, "bus/dax/devices", out, count_dax);
}

bool pmem_node_usable(const struct pmem_node *node, struct verdict *why)
{
    if (node->dax_disks + node->dax_devices > 0)
        return true;
    if (node->other_disks > 0)
        verdict_set(
            why, REASON_NO_DEVICE,
            "the persistent memory of this node is in raw or sector mode: programs cannot map it, "
            "and only the kernel accesses it (ndctl create-namespace -m fsdax changes that)");
    else if (node->dimms > 0)
        verdict_set(why, REASON_NO_DEVICE,
                    "this node has %zu persistent memory modules but no namespace on them: they "
                    "are unused, or in Memory Mode (ndctl create-namespace -m fsdax)",
                    node->dimms);
    else
        verdict_set(why, REASON_NO_DEVICE, "this node has no persistent memory");
    return false;
}
