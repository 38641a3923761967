#include "exporter/source/pmem/pmem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/maps.h"

/* ---- file systems that hold files ---- */

/*
 * Which kind of file system a device without a disk is, by the mounts of the process that has a
 * file of it mapped. Such numbers are the kernel's: they mean the same in every mount namespace.
 *
 * A process's table of mounts may have any size: what was read of it is kept for a while.
 */

enum mount_type {
    MOUNT_TYPE_MAY_BE_PMEM, /* device nodes, or files of another file system */
    MOUNT_TYPE_OTHER,
    MOUNT_TYPE_ABSENT,     /* the process has no such mount (any more) */
    MOUNT_TYPE_UNREADABLE, /* no table, or more than 1 MiB of it before the device */
};

enum { MOUNT_TYPES_MAX = 64 };

#define MOUNT_TYPES_AGE_NS 10000000000u

struct mount_types;

/* Of at most MOUNT_TYPES_MAX devices the last answer, for MOUNT_TYPES_AGE_NS; what a process does
 * not have is kept for that process alone. */
enum mount_type mount_types_find(struct mount_types *types, pid_t pid, uint32_t major,
                                 uint32_t minor, uint64_t now_ns);

enum { MAX_TEXT = 1 << 20 };

struct known_mount {
    uint32_t major, minor;
    pid_t pid; /* for which it holds; 0: for all */
    enum mount_type type;
    uint64_t read_ns;
};

struct mount_types {
    const struct fsroot *fs;
    size_t n, next; /* the oldest is replaced when all are in use */
    struct known_mount at[MOUNT_TYPES_MAX];
    struct proc_lines lines;
};

static enum mount_type type_of(const struct mount_line *line)
{
    return mount_line_is(line, "tmpfs") || mount_line_is(line, "devtmpfs") ||
                   mount_line_is(line, "overlay") || mount_line_is(line, "virtiofs")
               ? MOUNT_TYPE_MAY_BE_PMEM
               : MOUNT_TYPE_OTHER;
}

static bool find_line(const char *text, size_t len, uint32_t major, uint32_t minor,
                      struct mount_line *out)
{
    for (int more; (more = mountinfo_next(&text, &len, out)) != 0;)
        if (more > 0 && out->major == major && out->minor == minor)
            return true;
    return false;
}

static enum mount_type read_type(struct mount_types *types, pid_t pid, uint32_t major,
                                 uint32_t minor)
{
    char relative[48];
    struct mount_line line;
    const char *text;
    size_t len;
    int more;
    bool found = false;
    snprintf(relative, sizeof relative, "%d/mountinfo", (int)pid);
    if (proc_lines_open(&types->lines, types->fs, relative, MAX_TEXT) != 0)
        return MOUNT_TYPE_UNREADABLE;
    while ((more = proc_lines_next(&types->lines, &text, &len)) > 0 && !found)
        found = find_line(text, len, major, minor, &line);
    proc_lines_close(&types->lines);
    if (found)
        return type_of(&line);
    return more < 0 ? MOUNT_TYPE_UNREADABLE : MOUNT_TYPE_ABSENT;
}

static const struct known_mount *find_known(const struct mount_types *types, pid_t pid,
                                            uint32_t major, uint32_t minor, uint64_t now_ns)
{
    for (size_t i = 0; i < types->n; i++) {
        const struct known_mount *known = &types->at[i];
        if (known->major == major && known->minor == minor &&
            (known->pid == 0 || known->pid == pid) && now_ns - known->read_ns < MOUNT_TYPES_AGE_NS)
            return known;
    }
    return NULL;
}

enum mount_type mount_types_find(struct mount_types *types, pid_t pid, uint32_t major,
                                 uint32_t minor, uint64_t now_ns)
{
    const struct known_mount *known = find_known(types, pid, major, minor, now_ns);
    if (known)
        return known->type;
    enum mount_type type = read_type(types, pid, major, minor);
    bool of_all = type == MOUNT_TYPE_MAY_BE_PMEM || type == MOUNT_TYPE_OTHER;
    types->at[types->next] = (struct known_mount){
        .major = major, .minor = minor, .pid = of_all ? 0 : pid, .type = type, .read_ns = now_ns};
    types->next = (types->next + 1) % MOUNT_TYPES_MAX;
    if (types->n < MOUNT_TYPES_MAX)
        types->n++;
    return type;
}

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
static int mount_types_new(const struct fsroot *fs, struct mount_types **out)
{
    struct mount_types *types = calloc(1, sizeof *types);
    if (!types)
        return -ENOMEM;
    types->fs = fs;
    *out = types;
    return 0;
}

static void mount_types_free(struct mount_types *types)
{
    free(types);
}

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
