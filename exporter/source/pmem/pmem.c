#include "exporter/source/pmem/pmem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/source/pmem/mount_types.h"

enum { MAX_DEVICES = 64 };

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
    struct mount_types *mounts;
};

static int linux_status(void *context, const char *path, struct statx *out)
{
    (void)context;
    return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, out)
               ? -errno
               : 0;
}

static uint64_t linux_now_ns(void *context)
{
    (void)context;
    return clock_mono_ns();
}

const struct pmem_files pmem_files_linux = {.status = linux_status, .now_ns = linux_now_ns};

/* ---- files of mappings ---- */

static bool is_same_file(const struct statx *status, const struct maps_line *line)
{
    return status->stx_dev_major == line->major && status->stx_dev_minor == line->minor &&
           status->stx_ino == line->inode;
}

/* By the mapping itself: a walk along the path that the process gave it could lead through a file
 * system whose program never answers. */
static bool file_status(const struct pmem *pmem, pid_t pid, const struct maps_line *line,
                        struct statx *out)
{
    char relative[96], path[4096];
    snprintf(relative, sizeof relative, "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, line->start,
             line->end);
    return fsroot_path(pmem->fs, FSROOT_PROC, relative, path, sizeof path) == 0 &&
           pmem->files->status(pmem->files->context, path, out) == 0 && is_same_file(out, line);
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

static bool ends_with(const struct maps_line *line, const char *suffix)
{
    size_t n = strlen(suffix);
    return line->path_len >= n && memcmp(line->path + line->path_len - n, suffix, n) == 0;
}

static bool starts_with(const struct maps_line *line, const char *prefix)
{
    size_t n = strlen(prefix);
    return line->path_len >= n && memcmp(line->path, prefix, n) == 0;
}

/*
 * Shared memory that the kernel makes on mounts of its own, which nobody has in his table. A file
 * can have any name: with this end it has it only while it is deleted, which those always are.
 */
static bool is_kernels_own(const struct maps_line *line)
{
    static const char *const prefixes[] = {"/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage"};
    static const char *const others[] = {"/[aio]", "anon_inode:", "socket:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_with(line, prefixes[i]) && ends_with(line, " (deleted)"))
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (starts_with(line, others[i]))
            return true;
    return false;
}

/* Asking about a file of another type may take for ever: a network's, or a user's own. */
static enum medium medium_of_file(struct pmem *pmem, pid_t pid, const struct maps_line *line)
{
    struct statx status;
    if (!file_status(pmem, pid, line, &status))
        return MEDIUM_UNKNOWN;
    if (S_ISCHR(status.stx_mode))
        return pmem_is_dax_device(pmem->fs, status.stx_rdev_major, status.stx_rdev_minor)
                   ? MEDIUM_NVMM
                   : MEDIUM_OTHER;
    /* DAX through an overlay or a host's window: what memory is behind it is not known here. */
    return status.stx_attributes & STATX_ATTR_DAX ? MEDIUM_UNKNOWN : MEDIUM_OTHER;
}

/* Only some types may be more than memory or page cache: device nodes live in tmpfs, and an overlay
 * may lie over a DAX file system. */
static enum medium medium_without_disk(struct pmem *pmem, pid_t pid, const struct maps_line *line)
{
    switch (mount_types_find(pmem->mounts, pid, line->major, line->minor,
                             pmem->files->now_ns(pmem->files->context))) {
    case MOUNT_TYPE_MAY_BE_PMEM:
        return medium_of_file(pmem, pid, line);
    case MOUNT_TYPE_OTHER:
        return MEDIUM_OTHER;
    case MOUNT_TYPE_ABSENT:
        return is_kernels_own(line) ? MEDIUM_OTHER : MEDIUM_UNKNOWN;
    case MOUNT_TYPE_UNREADABLE:
        break;
    }
    return MEDIUM_UNKNOWN;
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
    int err = pmem ? mount_types_new(fs, &pmem->mounts) : -ENOMEM;
    if (err) {
        free(pmem);
        return err;
    }
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
    if (!pmem)
        return;
    mount_types_free(pmem->mounts);
    free(pmem);
}

struct medium_rule *pmem_rule(struct pmem *pmem)
{
    return &pmem->rule;
}
