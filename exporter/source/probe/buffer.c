#include "exporter/source/probe/buffer.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/source/probe/topology.h"

/* ---- numa_maps ---- */

/* "N3=" gives 3; anything else -1. */
static int page_count_node(const char *word, const char *end)
{
    int node = 0;
    if (end - word < 3 || *word++ != 'N' || *word < '0' || *word > '9')
        return -1;
    for (; word < end && *word >= '0' && *word <= '9'; word++)
        if ((node = node * 10 + (*word - '0')) > CHASE_MAX_NODES)
            return -1;
    return word < end && *word == '=' ? node : -1;
}

static bool line_starts_at(const char *line, const char *end, uintptr_t address)
{
    uintptr_t value = 0;
    const char *p = line;
    for (; p < end && *p != ' '; p++) {
        int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        value = value << 4 | (uintptr_t)digit;
    }
    return p > line && value == address;
}

static int check_line(const char *line, const char *end, int node)
{
    int result = -ENOENT;
    for (const char *word = line; word < end;) {
        const char *space = memchr(word, ' ', (size_t)(end - word));
        const char *word_end = space ? space : end;
        int found = page_count_node(word, word_end);
        if (found >= 0 && found != node)
            return -ENXIO;
        if (found == node)
            result = 0;
        word = word_end < end ? word_end + 1 : end;
    }
    return result;
}

int chase_numa_maps_check(const char *text, size_t len, uintptr_t address, int node)
{
    const char *end = text + len;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        if (line_starts_at(line, line_end, address))
            return check_line(line, line_end, node);
        line = newline ? newline + 1 : end;
    }
    return -ENOENT;
}

/* Spelled here because Debian's libc headers lack some and libnuma is not needed for the rest. */
enum {
    MEMORY_POLICY_PREFERRED = 1,
    MEMORY_COLLAPSE = 25, /* MADV_COLLAPSE, kernel 6.1 */
    CHASE_VERIFY_PAGES = 64,
    NUMA_MAPS_BYTES = 1 << 20,
};

/* Preferred, then verified: where the node is full, a bound page fault may call the OOM killer. */
static int prefer_node(const struct chase_buffer *buffer)
{
    unsigned long mask[CHASE_MAX_NODES / (8 * sizeof(unsigned long))] = {0};
    size_t bits = 8 * sizeof mask[0], node = (size_t)buffer->node;
    if (node >= CHASE_MAX_NODES)
        return -EINVAL;
    mask[node / bits] |= 1UL << (node % bits);
    /* maxnode is one more than the number of bits that the kernel looks at. */
    if (syscall(SYS_mbind, buffer->base, buffer->bytes, (unsigned long)MEMORY_POLICY_PREFERRED,
                mask, (unsigned long)CHASE_MAX_NODES + 1, 0UL) < 0)
        return -errno;
    return 0;
}

/* Touches every page, as the calling thread's memory policy says. */
static void populate(struct chase_buffer *buffer)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    madvise(buffer->base, buffer->bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < buffer->bytes; i += page_bytes)
        *(volatile char *)(buffer->base + i) = 0;
    /* Succeeds only if all of it is huge now. Older kernels do not know it: then it is unknown. */
    buffer->huge = madvise(buffer->base, buffer->bytes, MEMORY_COLLAPSE) == 0;
}

/* As populate, but from the given CPU, since the default policy takes the toucher's node. */
static int populate_from(struct chase_buffer *buffer, int cpu)
{
    struct chase_allowed one = {{0}, {0}}, before = {{0}, {0}};
    if (sched_getaffinity(0, sizeof before.cpus, (cpu_set_t *)(void *)before.cpus) < 0)
        return -errno;
    chase_bit_set(one.cpus, cpu);
    if (sched_setaffinity(0, sizeof one.cpus, (cpu_set_t *)(void *)one.cpus) < 0)
        return -errno;
    populate(buffer);
    if (sched_setaffinity(0, sizeof before.cpus, (cpu_set_t *)(void *)before.cpus) < 0)
        return -errno;
    return 0;
}

/* The nodes of pages spread over the buffer. 0, -ENXIO if one is elsewhere or paged out, or the
 * error of move_pages when it is forbidden. */
static int ask_move_pages(const struct chase_buffer *buffer, size_t n)
{
    void *pages[CHASE_VERIFY_PAGES];
    int nodes[CHASE_VERIFY_PAGES];
    for (size_t i = 0; i < n; i++)
        pages[i] = buffer->base + i * (buffer->bytes / n);
    if (syscall(SYS_move_pages, 0, n, pages, NULL, nodes, 0) < 0)
        return -errno;
    for (size_t i = 0; i < n; i++)
        if (nodes[i] != buffer->node)
            return -ENXIO;
    return 0;
}

static int ask_numa_maps(const struct chase_buffer *buffer, const struct fsroot *fs)
{
    char *text = malloc(NUMA_MAPS_BYTES);
    size_t len;
    if (!text)
        return -ENOMEM;
    int err = fsroot_read(fs, FSROOT_PROC, "self/numa_maps", text, NUMA_MAPS_BYTES, &len);
    if (!err)
        err = chase_numa_maps_check(text, len, (uintptr_t)buffer->base, buffer->node);
    free(text);
    return err;
}

static int verify(struct chase_buffer *buffer, const struct fsroot *fs, bool only_node)
{
    int err = ask_move_pages(buffer, CHASE_VERIFY_PAGES);
    buffer->verifiable = !err;
    if (!err || err == -ENXIO)
        return err;
    return only_node ? 0 : ask_numa_maps(buffer, fs);
}

static int map_aligned(struct chase_buffer *buffer)
{
    size_t room = buffer->bytes + CHASE_HUGE_BYTES;
    char *start = mmap(NULL, room, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return -errno;
    size_t skip = -(uintptr_t)start & (CHASE_HUGE_BYTES - 1);
    if (skip > 0)
        munmap(start, skip);
    munmap(start + skip + buffer->bytes, room - skip - buffer->bytes);
    buffer->base = start + skip;
    return 0;
}

static int place(struct chase_buffer *buffer, int cpu, bool only_node, struct verdict *why)
{
    int err = prefer_node(buffer);
    if (!err) {
        populate(buffer);
        return 0;
    }
    bool forbidden = err == -EPERM || err == -EACCES || err == -ENOSYS;
    if (forbidden && cpu >= 0)
        err = populate_from(buffer, cpu);
    else if (forbidden && only_node)
        populate(buffer), err = 0;
    if (err && forbidden)
        verdict_set(why, REASON_NO_PERMISSION,
                    "cannot request memory of NUMA node %d: mbind is forbidden; allow it in the "
                    "seccomp profile, or add SYS_NICE",
                    buffer->node);
    else if (err)
        verdict_set(why, REASON_NO_DEVICE, "NUMA node %d gives the probe no memory: mbind: %s",
                    buffer->node, strerror(-err));
    return err;
}

int chase_buffer_init(struct chase_buffer *buffer, const struct fsroot *fs, size_t bytes, int node,
                      int cpu, bool only_node, struct verdict *why)
{
    struct chase_buffer made = {.bytes = bytes, .node = node};
    int err = map_aligned(&made);
    if (err) {
        verdict_set(why, REASON_NO_DEVICE, "no address space for the probe's buffer: %s",
                    strerror(-err));
        return err;
    }
    err = place(&made, cpu, only_node, why);
    if (err)
        goto fail;
    err = verify(&made, fs, only_node);
    if (err) {
        if (err == -ENXIO)
            verdict_set(
                why, REASON_NO_DEVICE,
                "NUMA node %d has no free memory for the probe: the memory came from another node",
                node);
        else
            verdict_set(why, REASON_NO_PERMISSION,
                        "cannot verify where the probe's memory lies (%s); allow move_pages in the "
                        "seccomp profile",
                        strerror(-err));
        goto fail;
    }
    *buffer = made;
    return 0;
fail:
    chase_buffer_release(&made);
    return err;
}

void chase_buffer_release(struct chase_buffer *buffer)
{
    if (buffer->base)
        munmap(buffer->base, buffer->bytes);
    *buffer = (struct chase_buffer){0};
}

bool chase_buffer_in_place(const struct chase_buffer *buffer)
{
    size_t n = buffer->bytes / CHASE_HUGE_BYTES;
    if (!buffer->verifiable)
        return true;
    return ask_move_pages(buffer, n < CHASE_VERIFY_PAGES ? n : CHASE_VERIFY_PAGES) != -ENXIO;
}
