#include "exporter/containers/cgroups/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/containers/cgroups/long_path.h"

/* More of them would take 50 ms of the start. */
enum { LIBCGROUP_MAX = 256 };

/* One directory of the plain walk: its subdirectories, read at once so that no descriptor stays
 * open between calls. */
struct frame {
    char *names; /* inode (8 bytes) and name with its NUL, one after the other */
    size_t len, at;
    size_t path_len; /* of this directory, in walk->path */
};

struct cgroup_walk {
    char root[4096];
    size_t root_len;
    bool started;

    bool by_libcgroup;
    void *iterator; /* libcgroup's; NULL: not begun or ended */
    struct cgroup_file_info info;
    int base_level;
    char controller[64];

    struct frame *frames;
    size_t n_frames, cap_frames;
    bool enter; /* the last entry's children are still to be read */
    /* root and the path below it; what is longer the kernel could not open either */
    char path[CGROUP_PATH_BYTES];
    size_t path_len;
};

int cgroup_walk_new(const struct cgroup_hierarchy *hierarchy, const char *below,
                    enum walk_effort effort, struct cgroup_walk **out)
{
    struct cgroup_walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return -ENOMEM;
    bool whole = strcmp(below, "/") == 0;
    /* "/" as a root would give paths with two slashes. */
    snprintf(walk->root, sizeof walk->root, "%s",
             strcmp(hierarchy->path, "/") == 0 ? "" : hierarchy->path);
    walk->root_len = strlen(walk->root);
    int n = snprintf(walk->path, sizeof walk->path, "%s%s", walk->root, whole ? "" : below);
    if (n < 0 || (size_t)n >= sizeof walk->path) {
        free(walk);
        return -ENAMETOOLONG;
    }
    walk->path_len = (size_t)n;
    walk->by_libcgroup = whole && effort == WALK_FIRST && *hierarchy->controller &&
                         hierarchy->cgroups <= LIBCGROUP_MAX;
    snprintf(walk->controller, sizeof walk->controller, "%s", hierarchy->controller);
    *out = walk;
    return 0;
}

void cgroup_walk_free(struct cgroup_walk *walk)
{
    if (!walk)
        return;
    if (walk->iterator)
        cgroup_walk_tree_end(&walk->iterator);
    while (walk->n_frames > 0)
        free(walk->frames[--walk->n_frames].names);
    free(walk->frames);
    free(walk);
}

/* ---- by libcgroup ---- */

/* The path below the root, with one slash in front. */
static const char *below_root(const struct cgroup_walk *walk, const char *full)
{
    const char *rest = full + strnlen(full, walk->root_len);
    while (rest[0] == '/' && rest[1] == '/')
        rest++;
    return *rest ? rest : "/";
}

static int libcgroup_step(struct cgroup_walk *walk)
{
    if (!walk->started) {
        walk->started = true;
        return cgroup_walk_tree_begin(walk->controller, "/", 0, &walk->iterator, &walk->info,
                                      &walk->base_level);
    }
    return walk->iterator ? cgroup_walk_tree_next(0, &walk->iterator, &walk->info, walk->base_level)
                          : ECGEOF;
}

static int libcgroup_next(struct cgroup_walk *walk, struct cgroup_walk_entry *out)
{
    do {
        if (libcgroup_step(walk) != 0)
            return 0;
    } while (walk->info.type != CGROUP_FILE_TYPE_DIR);
    *out = (struct cgroup_walk_entry){.path = below_root(walk, walk->info.full_path)};
    return 1;
}

/* ---- plain ---- */

static int frame_add(struct frame *frame, size_t *cap, uint64_t inode, const char *name)
{
    size_t size = sizeof inode + strlen(name) + 1;
    if (array_reserve(&frame->names, cap, frame->len + size, 1))
        return -ENOMEM;
    memcpy(frame->names + frame->len, &inode, sizeof inode);
    memcpy(frame->names + frame->len + sizeof inode, name, size - sizeof inode);
    frame->len += size;
    return 0;
}

static bool is_directory(DIR *dir, const struct dirent *entry)
{
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    struct stat st;
    return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int read_frame(const char *path, struct frame *frame)
{
    int fd = long_path_open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    if (!dir)
        return fd == -ENOMEM || fd >= 0 ? -ENOMEM : 0; /* gone, or not ours to see */
    size_t cap = 0;
    int err = 0;
    const struct dirent *entry;
    while (!err && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            is_directory(dir, entry))
            err = frame_add(frame, &cap, entry->d_ino, entry->d_name);
    }
    closedir(dir);
    return err;
}

static int push_frame(struct cgroup_walk *walk)
{
    struct frame frame = {.path_len = walk->path_len};
    int err = read_frame(walk->path, &frame);
    if (!err)
        err = array_reserve(&walk->frames, &walk->cap_frames, walk->n_frames + 1,
                            sizeof *walk->frames);
    if (err || frame.len == 0) {
        free(frame.names);
        return err;
    }
    walk->frames[walk->n_frames++] = frame;
    return 0;
}

static int plain_next(struct cgroup_walk *walk, struct cgroup_walk_entry *out)
{
    if (!walk->started) {
        walk->started = walk->enter = true;
        *out = (struct cgroup_walk_entry){
            .path = walk->path[walk->root_len] ? walk->path + walk->root_len : "/"};
        return 1;
    }
    if (walk->enter) {
        walk->enter = false;
        int err = push_frame(walk);
        if (err)
            return err;
    }
    while (walk->n_frames > 0) {
        struct frame *frame = &walk->frames[walk->n_frames - 1];
        if (frame->at == frame->len) {
            free(frame->names);
            walk->n_frames--;
            continue;
        }
        uint64_t inode;
        memcpy(&inode, frame->names + frame->at, sizeof inode);
        const char *name = frame->names + frame->at + sizeof inode;
        frame->at += sizeof inode + strlen(name) + 1;
        int n = snprintf(walk->path + frame->path_len, sizeof walk->path - frame->path_len, "/%s",
                         name);
        if ((size_t)n >= sizeof walk->path - frame->path_len)
            continue;
        walk->path_len = frame->path_len + (size_t)n;
        walk->enter = true;
        *out = (struct cgroup_walk_entry){walk->path + walk->root_len, inode};
        return 1;
    }
    return 0;
}

void cgroup_walk_skip(struct cgroup_walk *walk)
{
    walk->enter = false;
}

int cgroup_walk_next(struct cgroup_walk *walk, struct cgroup_walk_entry *out)
{
    return walk->by_libcgroup ? libcgroup_next(walk, out) : plain_next(walk, out);
}
