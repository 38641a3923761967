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

/* ---- names and values ---- */

enum { UID_DIGITS = 32, ID_DIGITS = 64 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

static int no_number(const char *text, size_t len)
{
    if (is_word(text, len, "Unavailable") || is_word(text, len, "Unassigned"))
        return -ENODATA;
    return is_word(text, len, "Error") ? -EIO : -EINVAL;
}

static bool append(uint64_t *value, unsigned digit)
{
    return !__builtin_mul_overflow(*value, UINT64_C(10), value) &&
           !__builtin_add_overflow(*value, (uint64_t)digit, value);
}

int mon_value_parse(const char *text, size_t len, unsigned fraction, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    if (len < 2 || text[len - 1] != '\n') /* half a line */
        return -EINVAL;
    len--;
    if (!is_digit(text[0]))
        return no_number(text, len);
    for (; i < len && is_digit(text[i]); i++)
        if (!append(&value, (unsigned)(text[i] - '0')))
            return -ERANGE;
    bool point = i < len && text[i] == '.';
    if (point && (fraction == 0 || ++i == len))
        return -EINVAL;
    for (unsigned kept = 0; kept < fraction; kept++) {
        unsigned digit = i < len && is_digit(text[i]) ? (unsigned)(text[i++] - '0') : 0;
        if (!append(&value, digit))
            return -ERANGE;
    }
    while (point && i < len && is_digit(text[i]))
        i++;
    if (i != len)
        return -EINVAL;
    *out = value;
    return 0;
}

/* ---- names ---- */

/* The digits, in lower case, of which there are 'n' and nothing else but dashes where UIDs have
 * them. */
static bool take_digits(const char *text, size_t len, size_t n, char id[MON_ID_BYTES])
{
    size_t taken = 0;
    bool dashes = n == UID_DIGITS && len == n + 4;
    if (len != n && !dashes)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (dashes && (i == 8 || i == 13 || i == 18 || i == 23)) {
            if (c != '-')
                return false;
            continue;
        }
        if (!is_digit(c) && !(c >= 'a' && c <= 'f'))
            return false;
        id[taken++] = c;
    }
    id[taken] = '\0';
    return true;
}

static size_t without_prefix(const char **text, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    if (len < n || memcmp(*text, prefix, n) != 0)
        return len;
    *text += n;
    return len - n;
}

static bool is_pod(const char *name, size_t len, char id[MON_ID_BYTES])
{
    size_t left = without_prefix(&name, len, "pod");
    if (left < len)
        left = without_prefix(&name, left, "_");
    return take_digits(name, left, UID_DIGITS, id);
}

static bool is_container(const char *name, size_t len, char id[MON_ID_BYTES])
{
    static const char scope[] = ".scope";
    if (len > strlen(scope) && is_word(name + len - strlen(scope), strlen(scope), scope))
        len -= strlen(scope);
    if (len > ID_DIGITS && name[len - ID_DIGITS - 1] == '-')
        return take_digits(name + len - ID_DIGITS, ID_DIGITS, ID_DIGITS, id);
    return take_digits(name, len, ID_DIGITS, id);
}

bool mon_name_parse(const char *name, size_t len, enum mon_kind *kind, char id[MON_ID_BYTES])
{
    *kind = MON_POD;
    if (is_pod(name, len, id))
        return true;
    *kind = MON_CONTAINER;
    return is_container(name, len, id);
}

const char *mon_class_owner(const char *name)
{
    static const struct {
        const char *name, *owner;
        bool begins;
    } known[] = {
        {"BE", "koordinator", false},           {"LS", "koordinator", false},
        {"LSR", "koordinator", false},          {"reclaim", "katalyst", true},
        {"shared", "katalyst", true},           {"dedicated", "katalyst", true},
        {"ig_", "interference_governor", true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].begins ? strncmp(name, known[i].name, strlen(known[i].name)) == 0
                            : strcmp(name, known[i].name) == 0)
            return known[i].owner;
    return "";
}
