#include "exporter/source/accesses/own_reader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/base/clock.h"
#include "exporter/base/process_stat.h"
#include "exporter/source/accesses/maps.h"

/* ---- code of processes ---- */

/* ---- local mounts ---- */

enum { MOUNTS_MAX_TEXT = 16 << 20, MAX_DEVICES = 1 << 16 };

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

static bool is_local_mount(const struct mount_line *line)
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
        if (more < 0 || !is_local_mount(&line))
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
    int err = proc_lines_open(&mounts->lines, mounts->fs, "1/mountinfo", MOUNTS_MAX_TEXT);
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

enum { MAX_TEXT = 1 << 20 };

struct process_code {
    const struct fsroot *fs;
    struct local_mounts *mounts;
    bool no_query; /* the kernel only has the text */
    struct proc_lines lines;
};

/* ---- what may be read ---- */

/* 1 with the mapping of the address, 0 when the text goes on without it, -EFAULT when there is
 * none. */
static int find_line(const char *text, size_t len, uint64_t address, struct maps_line *out)
{
    for (int more; (more = maps_next(&text, &len, out)) != 0;) {
        if (more < 0 || out->end <= address)
            continue;
        return out->start <= address ? 1 : -EFAULT;
    }
    return 0;
}

static bool is_local(struct process_code *code, const struct maps_line *line, uint64_t now_ns)
{
    if (line->inode == 0 && line->major == 0 && line->minor == 0)
        return true;
    return local_mounts_has(code->mounts, line->major, line->minor, now_ns);
}

/* As find_in_text, without the text of all that comes before; -ENOTTY where that does not exist. */
static int query(struct process_code *code, const char *relative, uint64_t address,
                 struct maps_line *out)
{
    struct procmap_query_arguments q = {.size = sizeof q, .address = address};
    if (code->no_query)
        return -ENOTTY;
    int fd = fsroot_open(code->fs, FSROOT_PROC, relative, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    int err = ioctl(fd, PROCMAP_QUERY_REQUEST, &q) == 0 ? 0 : -errno;
    close(fd);
    code->no_query = err == -ENOTTY || err == -EPERM; /* EPERM: a filter of system calls */
    if (err)
        return code->no_query ? -ENOTTY : err == -ENOENT ? -EFAULT : err;
    *out = (struct maps_line){.start = q.start,
                              .end = q.end,
                              .executable = (q.flags & PROCMAP_VMA_EXECUTABLE) != 0,
                              .major = q.major,
                              .minor = q.minor,
                              .inode = q.inode};
    return 0;
}

/* 0 with the mapping of the address, but for its path; or -errno. */
static int find_in_text(struct process_code *code, const char *relative, uint64_t address,
                        struct maps_line *out)
{
    const char *text;
    size_t len;
    int more, found = 0;
    bool any = false;
    int err = proc_lines_open(&code->lines, code->fs, relative, MAX_TEXT);
    if (err)
        return err;
    while (found == 0 && (more = proc_lines_next(&code->lines, &text, &len)) > 0) {
        found = find_line(text, len, address, out);
        any = true;
    }
    proc_lines_close(&code->lines);
    if (found == 0)
        return more < 0 ? more : any ? -EFAULT : -ESRCH;
    return found < 0 ? found : 0;
}

/* How many bytes may be read there, or -errno. */
static int readable(struct process_code *code, pid_t pid, uint64_t address, uint64_t now_ns)
{
    char relative[32];
    struct maps_line line;
    snprintf(relative, sizeof relative, "%d/maps", (int)pid);
    int err = query(code, relative, address, &line);
    if (err == -ENOTTY)
        err = find_in_text(code, relative, address, &line);
    if (err)
        return err;
    if (!line.executable || !is_local(code, &line, now_ns))
        return -EACCES;
    return line.end - address < ACCESS_CODE_BYTES ? (int)(line.end - address) : ACCESS_CODE_BYTES;
}

/* ---- reading ---- */

int process_code_read(struct process_code *code, pid_t pid, uint64_t address, uint64_t now_ns,
                      uint8_t out[ACCESS_CODE_BYTES])
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;
    if (__builtin_add_overflow(address, ACCESS_CODE_BYTES, &end))
        return -EFAULT;
    int may = readable(code, pid, address, now_ns);
    if (may < 0)
        return may;
    /* A piece is read whole or not at all: the next page may not be there. */
    size_t n = (size_t)may, first = (size_t)(page - (address & (page - 1)));
    if (first > n)
        first = n;
    const struct iovec local = {out, n};
    const struct iovec remote[] = {{(void *)(uintptr_t)address, first},
                                   {(void *)(uintptr_t)(address + first), n - first}};
    ssize_t got = process_vm_readv(pid, &local, 1, remote, first < n ? 2 : 1, 0);
    if (got < 0)
        return -errno;
    return got == 0 ? -EFAULT : (int)got;
}

/* ---- 32 or 64 bits ---- */

/* Whether these are pairs of numbers of 'size' bytes, the first of each a type, with the size of a
 * page among them. The types that Linux knows end far below 1,024. */
static bool are_pairs(const uint8_t *bytes, size_t len, size_t size)
{
    bool has_page = false;
    for (size_t at = 0; at + 2 * size <= len; at += 2 * size) {
        uint64_t type = 0;
        memcpy(&type, bytes + at, size); /* little-endian, as all that is decoded here */
        if (type >= 1024)
            return false;
        if (type == AT_NULL)
            break;
        has_page |= type == AT_PAGESZ;
    }
    return has_page;
}

int auxv_is_wide(const uint8_t *bytes, size_t len, bool *out)
{
    bool wide = are_pairs(bytes, len, 8);
    if (!wide && !are_pairs(bytes, len, 4))
        return -ENOEXEC;
    *out = wide;
    return 0;
}

int process_code_is_wide(const struct fsroot *fs, pid_t pid, bool *out)
{
    char relative[32], bytes[2048];
    size_t len;
    snprintf(relative, sizeof relative, "%d/auxv", (int)pid);
    int err = fsroot_read(fs, FSROOT_PROC, relative, bytes, sizeof bytes, &len);
    if (!err && len == 0)
        err = -ESRCH;
    return err ? err : auxv_is_wide((const uint8_t *)bytes, len, out);
}

/* ---- life ---- */

int process_code_new(const struct fsroot *fs, struct process_code **out)
{
    struct process_code *code = calloc(1, sizeof *code);
    int err = code ? local_mounts_new(fs, &code->mounts) : -ENOMEM;
    if (err) {
        free(code);
        return err;
    }
    code->fs = fs;
    *out = code;
    return 0;
}

void process_code_free(struct process_code *code)
{
    if (!code)
        return;
    local_mounts_free(code->mounts);
    free(code);
}

/* Text of one process. */
enum { MAPS_MAX_TEXT = 8 << 20 };

struct own_reader {
    struct process_reader reader; /* first */
    const struct fsroot *fs;
    struct process_code *code;
    struct proc_lines maps;
};

static struct own_reader *self_of(struct process_reader *reader)
{
    return (struct own_reader *)reader;
}

static int open_maps(struct process_reader *reader, uint32_t number)
{
    struct own_reader *self = self_of(reader);
    char relative[32];
    snprintf(relative, sizeof relative, "%" PRIu32 "/maps", number);
    return proc_lines_open(&self->maps, self->fs, relative, MAPS_MAX_TEXT);
}

static int next_maps(struct process_reader *reader, const char **text, size_t *len)
{
    return proc_lines_next(&self_of(reader)->maps, text, len);
}

static void close_maps(struct process_reader *reader)
{
    proc_lines_close(&self_of(reader)->maps);
}

static int code(struct process_reader *reader, uint32_t number, uint64_t address,
                uint8_t out[ACCESS_CODE_BYTES])
{
    return process_code_read(self_of(reader)->code, (pid_t)number, address, clock_mono_ns(), out);
}

static int is_wide(struct process_reader *reader, uint32_t number, bool *out)
{
    return process_code_is_wide(self_of(reader)->fs, (pid_t)number, out);
}

static const struct process_reader_ops ops = {
    .open_maps = open_maps,
    .next_maps = next_maps,
    .close_maps = close_maps,
    .code = code,
    .is_wide = is_wide,
};

int own_reader_new(const struct fsroot *fs, struct process_reader **out)
{
    struct own_reader *self = calloc(1, sizeof *self);
    int err = self ? process_code_new(fs, &self->code) : -ENOMEM;
    if (err) {
        free(self);
        return err;
    }
    self->reader.ops = &ops;
    self->fs = fs;
    *out = &self->reader;
    return 0;
}

void own_reader_free(struct process_reader *reader)
{
    if (!reader)
        return;
    process_code_free(self_of(reader)->code);
    free(reader);
}
