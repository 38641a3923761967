#include "exporter/source/pmem/mount_types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/source/accesses/maps.h"
#include "exporter/source/accesses/proc_lines.h"

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

int mount_types_new(const struct fsroot *fs, struct mount_types **out)
{
    struct mount_types *types = calloc(1, sizeof *types);
    if (!types)
        return -ENOMEM;
    types->fs = fs;
    *out = types;
    return 0;
}

void mount_types_free(struct mount_types *types)
{
    free(types);
}
