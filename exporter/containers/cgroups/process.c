#include "exporter/containers/cgroups/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/base/process_stat.h"
#include "exporter/containers/cgroups/long_path.h"
#include "exporter/containers/cgroups/walk.h"

enum { TEXT_SIZE = 32768 };

/* ---- text ---- */

static bool has_word(const char *list, size_t len, const char *word)
{
    size_t n = strlen(word);
    for (size_t at = 0; at + n <= len; at++)
        if (memcmp(list + at, word, n) == 0 && (at == 0 || list[at - 1] == ',') &&
            (at + n == len || list[at + n] == ','))
            return true;
    return false;
}

/* "4:net_cls,perf_event:/path", or "0::/path" for v2. */
int process_cgroup_path(const char *text, size_t len, const char *controller, const char **path,
                        size_t *path_len)
{
    for (const char *end = text + len; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const char *list = memchr(text, ':', (size_t)(stop - text));
        const char *at = list ? memchr(list + 1, ':', (size_t)(stop - list - 1)) : NULL;
        bool is_it = false;
        if (at && !*controller)
            is_it = list - text == 1 && *text == '0' && at == list + 1;
        else if (at)
            is_it = has_word(list + 1, (size_t)(at - list - 1), controller);
        if (is_it && stop - at > 1 && at[1] == '/') {
            *path = at + 1;
            *path_len = (size_t)(stop - at - 1);
            return 0;
        }
        text = newline ? newline + 1 : end;
    }
    return -ENOENT;
}

/* Kernels that do not refuse such a path write the first PATH_MAX - 1 bytes of it. */
size_t process_cgroup_whole(const char *path, size_t len)
{
    if (len < PATH_MAX - 1)
        return len;
    while (len > 0 && path[--len] != '/')
        ;
    return len;
}

int process_cgroup_resolve(const char *root, const char *path, size_t path_len, char *out,
                           size_t size)
{
    size_t n = strlen(root);
    if (n >= size)
        return -ENAMETOOLONG;
    memcpy(out, root, n);
    for (size_t at = 0; at < path_len;) {
        const char *name = path + at;
        const char *slash = memchr(name, '/', path_len - at);
        size_t len = slash ? (size_t)(slash - name) : path_len - at;
        at += len + 1;
        if (len == 0)
            continue;
        if (len == 2 && memcmp(name, "..", 2) == 0) {
            if (n == 0)
                return -EINVAL;
            while (out[--n] != '/')
                ;
            continue;
        }
        if (n + 1 + len >= size)
            return -ENAMETOOLONG;
        out[n++] = '/';
        memcpy(out + n, name, len);
        n += len;
    }
    out[n] = '\0';
    return 0;
}

/* ---- this machine ---- */

static int read_path(const struct process_cgroups *cgroups, const char *relative, char *out,
                     size_t size)
{
    char text[TEXT_SIZE];
    const char *path;
    size_t len, path_len;
    const char *controller = cgroups->hierarchy.version == 2 ? "" : "perf_event";
    int err = fsroot_read(cgroups->fs, FSROOT_PROC, relative, text, sizeof text, &len);
    if (!err && len == 0)
        err = -ESRCH;
    if (!err)
        err = process_cgroup_path(text, len, controller, &path, &path_len);
    if (!err)
        err = process_cgroup_resolve(cgroups->root, path, process_cgroup_whole(path, path_len), out,
                                     size);
    return err;
}

/* The kernel stamps processes with the time since boot, suspend included, in whole ticks. */
static bool began_after(const struct process_cgroups *cgroups, uint32_t pid, uint64_t time_ns)
{
    char relative[32], text[4096];
    uint64_t ticks, tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    snprintf(relative, sizeof relative, "%" PRIu32 "/stat", pid);
    if (fsroot_read(cgroups->fs, FSROOT_PROC, relative, text, sizeof text, NULL) != 0 ||
        process_start_ticks(text, &ticks) != 0)
        return true;
    uint64_t asleep_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
    return ticks * tick_ns > time_ns + asleep_ns + tick_ns;
}

static int inode_of(const struct process_cgroups *cgroups, const char *below, uint64_t *out)
{
    char path[2 * CGROUP_PATH_BYTES];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", cgroups->hierarchy.path, below);
    int fd = long_path_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fd;
    int err = fstat(fd, &st) ? -errno : 0;
    close(fd);
    if (!err)
        *out = st.st_ino;
    return err;
}

int process_cgroup_id(const struct process_cgroups *cgroups, uint32_t pid, uint64_t time_ns,
                      uint64_t *out)
{
    char relative[32], below[CGROUP_PATH_BYTES];
    snprintf(relative, sizeof relative, "%" PRIu32 "/cgroup", pid);
    int err = read_path(cgroups, relative, below, sizeof below);
    if (err)
        return err == -ENOENT ? -ESRCH : err;
    return began_after(cgroups, pid, time_ns) ? -ESRCH : inode_of(cgroups, below, out);
}

/* That of this process. 0 or -errno. */
static int process_cgroup_own_id(const struct process_cgroups *cgroups, uint64_t *out)
{
    char below[CGROUP_PATH_BYTES];
    int err = read_path(cgroups, "self/cgroup", below, sizeof below);
    return err ? err : inode_of(cgroups, below, out);
}

/* ---- where we are ---- */

static bool has_pid(const struct cgroup_hierarchy *hierarchy, const char *below, long pid)
{
    char path[8192 + 32];
    long listed;
    bool found = false;
    snprintf(path, sizeof path, "%s%s/cgroup.procs", hierarchy->path, below);
    FILE *file = fopen(path, "re");
    while (file && !found && fscanf(file, "%ld", &listed) == 1)
        found = listed == pid;
    if (file)
        fclose(file);
    return found;
}

/* The directory that lists our own process, minus our path in the namespace. */
static int find_root(struct process_cgroups *cgroups)
{
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    char own[4096];
    int err = read_path(cgroups, "self/cgroup", own, sizeof own);
    if (!err)
        err = cgroup_walk_new(&cgroups->hierarchy, "/", WALK_CHEAPLY, &walk);
    if (err)
        return err;
    err = -ENOENT;
    while (err && cgroup_walk_next(walk, &entry) > 0) {
        size_t len = strlen(entry.path), own_len = strlen(own);
        if (!has_pid(&cgroups->hierarchy, entry.path, (long)getpid()))
            continue;
        if (strcmp(entry.path, "/") == 0)
            len = 0;
        if (len < own_len || memcmp(entry.path + len - own_len, own, own_len) != 0)
            break;
        snprintf(cgroups->root, sizeof cgroups->root, "%.*s", (int)(len - own_len), entry.path);
        err = 0;
    }
    cgroup_walk_free(walk);
    return err;
}

/* The hierarchy may have been given as a part of it only; the kernel writes whole paths. */
static int go_to_top(struct cgroup_hierarchy *hierarchy)
{
    char path[sizeof hierarchy->path], procs[sizeof hierarchy->path + 32];
    struct stat here, above;
    if (!realpath(hierarchy->path, path) || stat(path, &here) != 0)
        return -errno;
    for (;;) {
        snprintf(hierarchy->path, sizeof hierarchy->path, "%s", path);
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return 0;
        *slash = '\0';
        snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
        if (stat(procs, &above) != 0 || above.st_dev != here.st_dev)
            return 0;
    }
}

int process_cgroups_init(struct process_cgroups *cgroups, const struct fsroot *fs, char *error,
                         size_t error_size)
{
    *cgroups = (struct process_cgroups){.fs = fs};
    int err = cgroup_hierarchy_find(fs, &cgroups->hierarchy, error, error_size);
    if (err)
        return err;
    err = go_to_top(&cgroups->hierarchy);
    if (strcmp(cgroups->hierarchy.path, "/") == 0)
        cgroups->hierarchy.path[0] = '\0';
    if (!err)
        err = find_root(cgroups);
    if (err)
        snprintf(error, error_size,
                 "our own cgroup is not in %s: it is not the host's tree, or process "
                 "ids differ there (hostPID)",
                 cgroups->hierarchy.path);
    return err;
}

uint64_t process_cgroup_find_own(const struct fsroot *fs)
{
    struct process_cgroups cgroups;
    uint64_t id;
    char error[512];
    if (process_cgroups_init(&cgroups, fs, error, sizeof error) ||
        process_cgroup_own_id(&cgroups, &id))
        return 0;
    return id;
}
