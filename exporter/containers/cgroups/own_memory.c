#include "exporter/containers/cgroups/own_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/process.h"

enum { TEXT_SIZE = 32768 };

/* v1 has a number for no limit as well: the largest multiple of a page. */
static const uint64_t UNLIMITED = UINT64_C(1) << 62;

static void lower_to(uint64_t *limit, const char *directory, const char *file)
{
    char path[4096 + 64], text[32], *end;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *opened = fopen(path, "re");
    if (!opened)
        return;
    bool read = fgets(text, sizeof text, opened) != NULL;
    fclose(opened);
    uint64_t bytes = read ? strtoull(text, &end, 10) : 0;
    if (read && end > text && bytes > 0 && bytes < UNLIMITED && (*limit == 0 || bytes < *limit))
        *limit = bytes;
}

/* From the cgroup up to the mount. In a container of v1 the mount shows the cgroup itself, while
 * its path is as the host has it. */
static void lower_along(uint64_t *limit, const char *mount, const char *path, size_t path_len,
                        const char *file)
{
    char at[4096];
    size_t top = strlen(mount);
    if (top + path_len >= sizeof at)
        path_len = 0;
    snprintf(at, sizeof at, "%s%.*s", mount, (int)path_len, path);
    if (access(at, F_OK) != 0)
        at[top] = '\0';
    for (;;) {
        lower_to(limit, at, file);
        if (strlen(at) <= top)
            return;
        *strrchr(at, '/') = '\0';
    }
}

/* The usual place as well: where the host's hierarchy is mounted beside it, that may be found. */
uint64_t own_memory_limit(const struct fsroot *fs)
{
    static const struct {
        const char *controller, *file, *usual;
    } hierarchies[] = {{"memory", "memory.limit_in_bytes", "fs/cgroup/memory"},
                       {"", "memory.max", "fs/cgroup"}};
    char text[TEXT_SIZE], mount[2048];
    const char *path;
    size_t len, path_len;
    uint64_t limit = 0;
    if (fsroot_read(fs, FSROOT_PROC, "self/cgroup", text, sizeof text, &len) != 0)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const char *controller = hierarchies[i].controller, *file = hierarchies[i].file;
        if (process_cgroup_path(text, len, controller, &path, &path_len) != 0)
            continue;
        if (cgroup_mount_find(fs, controller, mount, sizeof mount) == 0)
            lower_along(&limit, mount, path, path_len, file);
        if (fsroot_path(fs, FSROOT_SYS, hierarchies[i].usual, mount, sizeof mount) == 0)
            lower_along(&limit, mount, path, path_len, file);
    }
    return limit;
}
