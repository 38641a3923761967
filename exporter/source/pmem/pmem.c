#include "exporter/source/pmem/pmem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64, MOUNTINFO_SIZE = 1 << 20 };

struct pmem {
    struct medium_rule rule; /* first */
    const struct fsroot *fs;
    const struct pmem_files *files;
    size_t n_devices, next_device; /* the oldest is replaced when all are in use */
    struct {
        uint32_t major, minor;
        enum pmem_disk disk;
    } devices[MAX_DEVICES];
    bool tells_dax; /* files say whether they are DAX: kernels since 5.8 */
    char text[MOUNTINFO_SIZE];
};

static int linux_status(void *context, const char *path, bool follow, struct statx *out)
{
    (void)context;
    int flags = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC | (follow ? 0 : AT_SYMLINK_NOFOLLOW);
    return statx(AT_FDCWD, path, flags, STATX_TYPE | STATX_INO, out) ? -errno : 0;
}

const struct pmem_files pmem_files_linux = {.status = linux_status};

/* ---- files of mappings ---- */

static bool is_same_file(const struct statx *status, const struct maps_line *line)
{
    return status->stx_dev_major == line->major && status->stx_dev_minor == line->minor &&
           status->stx_ino == line->inode;
}

static bool status_by_map_files(const struct pmem *pmem, pid_t pid, const struct maps_line *line,
                                struct statx *out)
{
    char relative[96], path[4096];
    snprintf(relative, sizeof relative, "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, line->start,
             line->end);
    return fsroot_path(pmem->fs, FSROOT_PROC, relative, path, sizeof path) == 0 &&
           pmem->files->status(pmem->files->context, path, true, out) == 0 &&
           is_same_file(out, line);
}

static bool status_by_root(const struct pmem *pmem, pid_t pid, const struct maps_line *line,
                           struct statx *out)
{
    char relative[4096], path[4096];
    if (line->path_len == 0 || line->path[0] != '/' || line->path_len > sizeof relative - 32)
        return false;
    snprintf(relative, sizeof relative, "%d/root%.*s", (int)pid, (int)line->path_len, line->path);
    return fsroot_path(pmem->fs, FSROOT_PROC, relative, path, sizeof path) == 0 &&
           pmem->files->status(pmem->files->context, path, false, out) == 0 &&
           is_same_file(out, line);
}

static bool file_status(const struct pmem *pmem, pid_t pid, const struct maps_line *line,
                        struct statx *out)
{
    return status_by_map_files(pmem, pid, line, out) || status_by_root(pmem, pid, line, out);
}

/* ---- devices ---- */

static enum pmem_disk disk_of(struct pmem *pmem, uint32_t major, uint32_t minor)
{
    for (size_t i = 0; i < pmem->n_devices; i++)
        if (pmem->devices[i].major == major && pmem->devices[i].minor == minor)
            return pmem->devices[i].disk;
    size_t i = pmem->next_device;
    pmem->next_device = (i + 1) % MAX_DEVICES;
    if (pmem->n_devices < MAX_DEVICES)
        pmem->n_devices++;
    pmem->devices[i].major = major;
    pmem->devices[i].minor = minor;
    pmem->devices[i].disk = pmem_disk_of(pmem->fs, major, minor);
    return pmem->devices[i].disk;
}

static enum medium medium_on_disk(struct pmem *pmem, pid_t pid, const struct maps_line *line)
{
    struct statx status;
    switch (disk_of(pmem, line->major, line->minor)) {
    case PMEM_DISK_NO:
        return MEDIUM_OTHER;
    case PMEM_DISK_UNKNOWN:
        return MEDIUM_UNKNOWN;
    case PMEM_DISK_DAX:
        break;
    }
    if (!file_status(pmem, pid, line, &status))
        return MEDIUM_UNKNOWN;
    if (status.stx_attributes & STATX_ATTR_DAX)
        return MEDIUM_NVMM;
    /* The mask alone does not tell: XFS leaves it out and still sets the attribute. */
    return pmem->tells_dax || status.stx_attributes_mask & STATX_ATTR_DAX ? MEDIUM_OTHER
                                                                          : MEDIUM_UNKNOWN;
}

static bool starts_with(const struct maps_line *line, const char *prefix)
{
    size_t n = strlen(prefix);
    return line->path_len >= n && memcmp(line->path, prefix, n) == 0;
}

/* Shared memory that the kernel makes on mounts of its own. */
static bool is_kernels_own(const struct maps_line *line)
{
    static const char *const prefixes[] = {"/memfd:", "/SYSV",       "/dev/zero", "/anon_hugepage",
                                           "/[aio]",  "anon_inode:", "socket:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_with(line, prefixes[i]))
            return true;
    return false;
}

/*
 * Whether a file on a device without a number of its own may be more than memory or page cache:
 * device nodes live in tmpfs, and an overlay may lie over a DAX file system. Others are not even
 * looked at: asking a network's or a user's file system may take for ever.
 */
static bool worth_a_look(struct pmem *pmem, pid_t pid, const struct maps_line *line)
{
    char relative[48], type[32];
    size_t len;
    snprintf(relative, sizeof relative, "%d/mountinfo", (int)pid);
    if (fsroot_read(pmem->fs, FSROOT_PROC, relative, pmem->text, sizeof pmem->text, &len) != 0 ||
        mountinfo_type(pmem->text, len, line->major, line->minor, type, sizeof type) != 0)
        return true; /* it may have been unmounted meanwhile */
    return strcmp(type, "tmpfs") == 0 || strcmp(type, "devtmpfs") == 0 ||
           strcmp(type, "overlay") == 0 || strcmp(type, "virtiofs") == 0;
}

static enum medium medium_without_disk(struct pmem *pmem, pid_t pid, const struct maps_line *line)
{
    struct statx status;
    if (is_kernels_own(line) || !worth_a_look(pmem, pid, line))
        return MEDIUM_OTHER;
    if (!file_status(pmem, pid, line, &status))
        return MEDIUM_UNKNOWN;
    if (S_ISCHR(status.stx_mode))
        return pmem_is_dax_device(pmem->fs, status.stx_rdev_major, status.stx_rdev_minor)
                   ? MEDIUM_NVMM
                   : MEDIUM_OTHER;
    /* DAX through an overlay or a host's window: what memory is behind it is not known here. */
    return status.stx_attributes & STATX_ATTR_DAX ? MEDIUM_UNKNOWN : MEDIUM_OTHER;
}

static enum medium pmem_mapping(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                                enum access access)
{
    struct pmem *pmem = (struct pmem *)rule;
    if (line->inode == 0 || (!line->shared && access == ACCESS_STORE))
        return MEDIUM_OTHER;
    enum medium medium =
        line->major == 0 ? medium_without_disk(pmem, pid, line) : medium_on_disk(pmem, pid, line);
    /* A page that the process wrote to is its own copy by now, the others are the file's. */
    if (medium == MEDIUM_NVMM && !line->shared && line->writable)
        return MEDIUM_UNKNOWN;
    return medium;
}

/* ---- looking again ---- */

void pmem_refresh(struct pmem *pmem)
{
    pmem->n_devices = pmem->next_device = 0;
}

static void refresh_rule(struct medium_rule *rule)
{
    pmem_refresh((struct pmem *)rule);
}

/* ---- life ---- */

static bool kernel_tells_dax(const struct fsroot *fs)
{
    char text[128];
    int major, minor;
    return fsroot_read(fs, FSROOT_PROC, "sys/kernel/osrelease", text, sizeof text, NULL) != 0 ||
           sscanf(text, "%d.%d", &major, &minor) != 2 || major > 5 || (major == 5 && minor >= 8);
}

int pmem_new(const struct fsroot *fs, const struct pmem_files *files, struct pmem **out)
{
    struct pmem *pmem = calloc(1, sizeof *pmem);
    if (!pmem)
        return -ENOMEM;
    pmem->rule = (struct medium_rule){.mapping = pmem_mapping, .refresh = refresh_rule};
    pmem->fs = fs;
    pmem->files = files;
    pmem->tells_dax = kernel_tells_dax(fs);
    pmem_refresh(pmem);
    *out = pmem;
    return 0;
}

void pmem_free(struct pmem *pmem)
{
    free(pmem);
}

struct medium_rule *pmem_rule(struct pmem *pmem)
{
    return &pmem->rule;
}
