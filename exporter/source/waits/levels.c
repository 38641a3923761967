#include "exporter/source/waits/levels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/source/cgroup_file.h"
#include "exporter/source/waits/parse.h"

struct room {
    char *text;
    size_t size, len;
};

static bool is_mounted(const char *mount)
{
    return mount && *mount;
}

/* The file of the cgroup that the first 'len' bytes of the path are. */
static int read_level(const char *mount, const char *path, size_t len, const char *file,
                      struct room *room)
{
    char cut[4096];
    if (len >= sizeof cut)
        return -ENAMETOOLONG;
    memcpy(cut, path, len);
    cut[len] = '\0';
    int fd = cgroup_file_open(mount, cut, file);
    if (fd < 0)
        return fd;
    int err = cgroup_file_read(fd, room->text, room->size, &room->len);
    close(fd);
    return err;
}

static int read_number(const char *mount, const char *path, size_t len, const char *file,
                       struct room *room, uint64_t *out)
{
    int err = read_level(mount, path, len, file, room);
    return err ? err : single_parse(room->text, room->len, out);
}

size_t waits_levels_above(const char *path, size_t len)
{
    while (len > 0 && path[--len] != '/')
        ;
    return len;
}

void waits_levels_cpus(const struct waits_mounts *mounts, const char *path, char *text, size_t size,
                       uint64_t *set, size_t *cpus)
{
    const struct {
        const char *mount, *file;
    } tries[] = {{mounts->unified, "cpuset.cpus.effective"},
                 {mounts->cpuset, "cpuset.effective_cpus"},
                 {mounts->cpuset, "cpuset.cpus"}};
    struct room room = {.text = text, .size = size};
    *set = UINT64_MAX >> (64 - CPU_BITS);
    *cpus = 0;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        if (!is_mounted(tries[i].mount))
            continue;
        for (size_t len = strlen(path);; len = waits_levels_above(path, len)) {
            if (read_level(tries[i].mount, path, len, tries[i].file, &room) == 0 &&
                cpu_set_parse(room.text, room.len, set, cpus) == 0)
                return;
            if (len == 0)
                break;
        }
    }
}

int waits_levels_quota(const struct waits_mounts *mounts, const char *path, size_t len, char *text,
                       size_t size, uint64_t *quota_ns)
{
    struct room room = {.text = text, .size = size};
    uint64_t quota, period;
    if (!is_mounted(mounts->cpu)) {
        int err = read_level(mounts->unified, path, len, "cpu.max", &room);
        return err ? err : cpu_max_parse(room.text, room.len, quota_ns);
    }
    int err = read_number(mounts->cpu, path, len, "cpu.cfs_quota_us", &room, &quota);
    if (!err)
        err = read_number(mounts->cpu, path, len, "cpu.cfs_period_us", &room, &period);
    if (err || period == 0 || __builtin_mul_overflow(quota, UINT64_C(1000000000), &quota))
        return err ? err : -EINVAL;
    *quota_ns = quota / period;
    return 0;
}

/* Of each level, from the first below the root on. Its own must be there: without it the cgroup
 * shares nothing out by itself. */
static void read_weights(const struct waits_mounts *mounts, const char *path, struct room *room,
                         struct waits_levels *out)
{
    bool v1 = is_mounted(mounts->cpu);
    const char *mount = v1 ? mounts->cpu : mounts->unified;
    size_t level = 0;
    out->has_weights = false;
    for (const char *at = path; *at == '/' && level < ENTITLE_LEVELS; level++) {
        uint64_t weight;
        at += 1 + strcspn(at + 1, "/");
        int err = read_number(mount, path, (size_t)(at - path), v1 ? "cpu.shares" : "cpu.weight",
                              room, &weight);
        bool is_known = err == 0 && weight > 0 && weight <= UINT32_MAX;
        out->weight[level] = is_known ? (uint32_t)weight : v1 ? 1024 : 100;
        out->has_weights = is_known;
    }
}

static void read_memory(const struct waits_mounts *mounts, const char *path, struct room *room,
                        struct waits_levels *out)
{
    size_t len = strlen(path);
    uint64_t limit;
    bool v1 = is_mounted(mounts->memory);
    const char *mount = v1 ? mounts->memory : mounts->unified;
    const char *limits[] = {v1 ? "memory.limit_in_bytes" : "memory.max", "memory.high"};
    if (read_number(mount, path, len, v1 ? "memory.usage_in_bytes" : "memory.current", room,
                    &out->memory_bytes) != 0)
        out->memory_bytes = 0;
    out->memory_limit_bytes = 0;
    for (int i = 0; i < (v1 ? 1 : 2); i++)
        /* v1 writes "none" as the largest number of pages. */
        if (read_number(mount, path, len, limits[i], room, &limit) == 0 && limit < INT64_MAX / 2 &&
            (out->memory_limit_bytes == 0 || limit < out->memory_limit_bytes))
            out->memory_limit_bytes = limit;
}

void waits_levels_read(const struct waits_mounts *mounts, const char *path, char *text, size_t size,
                       struct waits_levels *out)
{
    struct room room = {.text = text, .size = size};
    uint64_t quota;
    waits_levels_cpus(mounts, path, text, size, &out->cpu_set, &out->cpus);
    read_weights(mounts, path, &room, out);
    out->quota_ns = 0;
    for (size_t len = strlen(path); len > 0; len = waits_levels_above(path, len))
        if (waits_levels_quota(mounts, path, len, text, size, &quota) == 0 &&
            (out->quota_ns == 0 || quota < out->quota_ns))
            out->quota_ns = quota;
    read_memory(mounts, path, &room, out);
}
