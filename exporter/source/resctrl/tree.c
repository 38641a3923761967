#include "exporter/source/resctrl/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/array.h"

enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

void mon_tree_init(struct mon_tree *tree, const struct fsroot *fs)
{
    *tree = (struct mon_tree){.fs = fs, .err = -ENOENT};
}

void mon_tree_release(struct mon_tree *tree)
{
    free(tree->found);
    free(tree->names);
    *tree = (struct mon_tree){.err = -ENOENT};
}

/* ---- opening ---- */

/* Component by component: of a longer path only the last one is not followed. */
int mon_open_directory(int at, const char *path)
{
    int fd = -1, parent = at;
    while (*path) {
        char name[256];
        size_t len = strcspn(path, "/");
        if (len == 0 || len >= sizeof name)
            fd = -1, errno = ENAMETOOLONG;
        else {
            memcpy(name, path, len);
            name[len] = '\0';
            fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        int err = fd < 0 ? -errno : 0;
        if (parent != at)
            close(parent);
        if (err)
            return err;
        parent = fd;
        path += len + (path[len] == '/');
    }
    return fd < 0 ? -ENOENT : fd;
}

static int open_mount(const struct mon_tree *tree, int flags)
{
    return fsroot_open(tree->fs, FSROOT_RESCTRL, "", flags | O_DIRECTORY);
}

int mon_tree_open(const struct mon_tree *tree, const char *path)
{
    int root = open_mount(tree, O_PATH);
    if (root < 0)
        return root;
    int fd = mon_open_directory(root, path);
    close(root);
    return fd;
}

/* Takes the descriptor over. NULL: *err says why. */
static DIR *list(int fd, int *err)
{
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        *err = fd < 0 ? fd : -errno;
        if (fd >= 0)
            close(fd);
    }
    return directory;
}

/* ---- looking ---- */

static bool is_directory(const struct dirent *entry)
{
    return (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && entry->d_name[0] != '.';
}

static bool is_kernels(const char *name)
{
    static const char *const names[] = {"info", "mon_groups", "mon_data"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int find_classes(struct mon_tree *tree, int root)
{
    int err = 0;
    struct dirent *entry;
    DIR *directory = list(openat(root, ".", DIRECTORY), &err);
    if (!directory)
        return err;
    tree->n_classes = 1;
    while ((entry = readdir(directory)))
        if (is_directory(entry) && !is_kernels(entry->d_name) && tree->n_classes < MON_CLASSES)
            snprintf(tree->class[tree->n_classes++], sizeof tree->class[0], "%s", entry->d_name);
    closedir(directory);
    return 0;
}

static void add(struct mon_tree *tree, unsigned class, const char *name)
{
    struct mon_found found = {.class = class, .name = (unsigned)tree->names_len};
    size_t size = strlen(name) + 1;
    if (!mon_name_parse(name, size - 1, &found.kind, found.id) || tree->n >= MON_FOUND_MAX ||
        array_reserve(&tree->found, &tree->cap, tree->n + 1, sizeof *tree->found) != 0 ||
        array_reserve(&tree->names, &tree->names_cap, tree->names_len + size, 1) != 0) {
        tree->others++;
        return;
    }
    memcpy(tree->names + tree->names_len, name, size);
    tree->names_len += size;
    tree->found[tree->n++] = found;
}

static void find_groups(struct mon_tree *tree, int root, unsigned class)
{
    char path[272];
    int err;
    struct dirent *entry;
    snprintf(path, sizeof path, "%s%smon_groups", tree->class[class], class ? "/" : "");
    int above = mon_open_directory(root, path);
    if (above < 0)
        return; /* it is gone again */
    DIR *directory = list(openat(above, ".", DIRECTORY), &err);
    close(above);
    while (directory && (entry = readdir(directory)))
        if (is_directory(entry))
            add(tree, class, entry->d_name);
    if (directory)
        closedir(directory);
}

static int compare(const void *left, const void *right)
{
    const struct mon_found *a = left, *b = right;
    return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->id, b->id);
}

void mon_tree_scan(struct mon_tree *tree)
{
    int root = open_mount(tree, O_RDONLY);
    tree->n = tree->n_classes = tree->names_len = tree->others = 0;
    tree->err = root < 0 ? root : 0;
    if (root < 0)
        return;
    /* Without it this is no such mount, or one of hardware that does not monitor. */
    int data = mon_open_directory(root, "mon_data");
    tree->err = data < 0 ? data : find_classes(tree, root);
    if (data >= 0)
        close(data);
    for (unsigned class = 0; !tree->err && class < tree->n_classes; class ++)
        find_groups(tree, root, class);
    close(root);
    if (tree->n > 0)
        qsort(tree->found, tree->n, sizeof *tree->found, compare);
}

/* ---- what was found ---- */

size_t mon_tree_count(const struct mon_tree *tree, enum mon_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < tree->n; i++)
        count += tree->found[i].kind == kind;
    return count;
}

const struct mon_found *mon_tree_find(const struct mon_tree *tree, enum mon_kind kind,
                                      const char *id)
{
    struct mon_found key = {.kind = kind};
    snprintf(key.id, sizeof key.id, "%s", id);
    return tree->n ? bsearch(&key, tree->found, tree->n, sizeof key, compare) : NULL;
}

static int fits(int n, size_t size)
{
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int mon_tree_class_path(const struct mon_tree *tree, unsigned class, char *out, size_t size)
{
    return fits(snprintf(out, size, "%s%smon_data", tree->class[class], class ? "/" : ""), size);
}

int mon_tree_path(const struct mon_tree *tree, const struct mon_found *found, char *out,
                  size_t size)
{
    return fits(snprintf(out, size, "%s%smon_groups/%s/mon_data", tree->class[found->class],
                         found -> class ? "/" : "", tree->names + found->name),
                size);
}
