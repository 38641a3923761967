#include "exporter/source/accesses/local_mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/source/accesses/maps.h"
#include "exporter/source/accesses/proc_lines.h"

enum { MAX_TEXT = 16 << 20, MAX_DEVICES = 1 << 16 };

struct local_mounts {
    const struct fsroot *fs;
    uint64_t *devices; /* sorted, each once */
    size_t n, cap;
    uint64_t memory; /* of files without a name; 0: not known */
    uint64_t read_ns;
    bool read;
    struct proc_lines lines;
};

static uint64_t device_of(uint32_t major, uint32_t minor)
{
    return (uint64_t)major << 32 | minor;
}

/* A dynamic compiler writes its code through one mapping of such a file and runs it in another. */
static uint64_t device_of_memory(void)
{
    struct stat status;
    int fd = memfd_create("interference_exporter", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    uint64_t device =
        fstat(fd, &status) == 0 ? device_of(major(status.st_dev), minor(status.st_dev)) : 0;
    close(fd);
    return device;
}

static bool is_local(const struct mount_line *line)
{
    /* A system that runs from its initial RAM disk has its programs on "rootfs". */
    static const char *const types[] = {"ext2",  "ext3",     "ext4",  "xfs",   "btrfs", "overlay",
                                        "tmpfs", "squashfs", "erofs", "ramfs", "rootfs"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (mount_line_is(line, types[i]))
            return true;
    return false;
}

static int add(struct local_mounts *mounts, const char *text, size_t len)
{
    struct mount_line line;
    for (int more, err; (more = mountinfo_next(&text, &len, &line)) != 0;) {
        if (more < 0 || !is_local(&line))
            continue;
        if (mounts->n >= MAX_DEVICES)
            return -E2BIG;
        err = array_reserve(&mounts->devices, &mounts->cap, mounts->n + 1, sizeof *mounts->devices);
        if (err)
            return err;
        mounts->devices[mounts->n++] = device_of(line.major, line.minor);
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void read_all(struct local_mounts *mounts)
{
    const char *text;
    size_t len;
    int more;
    mounts->n = 0;
    int err = proc_lines_open(&mounts->lines, mounts->fs, "1/mountinfo", MAX_TEXT);
    if (err)
        return;
    while ((more = proc_lines_next(&mounts->lines, &text, &len)) > 0 && !err)
        err = add(mounts, text, len);
    proc_lines_close(&mounts->lines);
    if (err || more < 0)
        mounts->n = 0;
    if (mounts->n > 0)
        qsort(mounts->devices, mounts->n, sizeof *mounts->devices, compare);
}

bool local_mounts_has(struct local_mounts *mounts, uint32_t major, uint32_t minor, uint64_t now_ns)
{
    uint64_t device = device_of(major, minor);
    if (device == mounts->memory && device != 0)
        return true;
    if (!mounts->read || now_ns - mounts->read_ns > LOCAL_MOUNTS_MAX_AGE_NS) {
        read_all(mounts);
        mounts->read = true;
        mounts->read_ns = now_ns;
    }
    return mounts->n > 0 &&
           bsearch(&device, mounts->devices, mounts->n, sizeof *mounts->devices, compare) != NULL;
}

int local_mounts_new(const struct fsroot *fs, struct local_mounts **out)
{
    struct local_mounts *mounts = calloc(1, sizeof *mounts);
    if (!mounts)
        return -ENOMEM;
    mounts->fs = fs;
    mounts->memory = device_of_memory();
    *out = mounts;
    return 0;
}

void local_mounts_free(struct local_mounts *mounts)
{
    if (!mounts)
        return;
    free(mounts->devices);
    free(mounts);
}
