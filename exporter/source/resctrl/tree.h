/*
 * Which groups there are below the mount of resctrl: of pods, of containers, and classes. Nothing
 * but names is read, which interrupts no CPU.
 *
 * Everything is opened relative to a directory, without following links. One thread.
 */
#ifndef IE_SOURCE_RESCTRL_TREE_H
#define IE_SOURCE_RESCTRL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"

/* What the kernel's resctrl says of a monitoring group, and how others name the groups that they
 * make: pure. Digits of a fraction that are kept of a file of decimals: millionths. */
enum { MON_FRACTION = 6 };

/*
 * The number of a file, in units of 10^-fraction: whole ones have no point where 'fraction' is 0;
 * of more digits the rest is dropped. 0; -ENODATA: the kernel has none ("Unavailable",
 * "Unassigned"); -EIO: "Error"; -ERANGE: not in 64 bits; -EINVAL: what no kernel writes, or not
 * all of it, with the out parameter untouched.
 */
int mon_value_parse(const char *text, size_t len, unsigned fraction, uint64_t *out);

enum mon_kind { MON_POD, MON_CONTAINER, MON_KINDS };

/* Hexadecimal digits of a pod's UID without dashes (32), or of a container's id (64). */
enum { MON_ID_BYTES = 65 };

/*
 * Whose group a name is: a pod's UID, with or without dashes and "pod_" or "pod" before it; or a
 * container's id as runtimes write it, also with their own name before it and ".scope" behind it.
 * False: nobody's that can be known by it; then *kind and id have no meaning.
 */
bool mon_name_parse(const char *name, size_t len, enum mon_kind *kind, char id[MON_ID_BYTES]);

/* Who makes a class (a CTRL_MON group) of this name, as far as the name tells; else "". */
const char *mon_class_owner(const char *name);

enum {
    MON_CLASSES = 64,    /* hardware has some sixteen */
    MON_FOUND_MAX = 4096 /* groups that are looked at; hardware has some hundreds */
};

struct mon_found {
    enum mon_kind kind;
    unsigned class;        /* of the tree's classes; 0: the root group */
    unsigned name;         /* where in the tree's names */
    char id[MON_ID_BYTES]; /* of mon_name_parse() */
};

struct mon_tree {
    const struct fsroot *fs;
    int err; /* why nothing can be read: -ENOENT, -EACCES and so on; 0: something can */
    char class[MON_CLASSES][256]; /* the first is "", the root group */
    size_t n_classes;             /* 0 with err */
    struct mon_found *found;
    size_t n, cap;
    char *names; /* each with its NUL */
    size_t names_len, names_cap;
    size_t others; /* groups whose names say nothing, and those that are too many */
};

/* 'fs' is borrowed. */
void mon_tree_init(struct mon_tree *tree, const struct fsroot *fs);
void mon_tree_release(struct mon_tree *tree);

/* Looks at it again. In a steady state it allocates nothing itself. */
void mon_tree_scan(struct mon_tree *tree);

size_t mon_tree_count(const struct mon_tree *tree, enum mon_kind kind);
/* NULL: there is none. 'id' as mon_name_parse() makes it. */
const struct mon_found *mon_tree_find(const struct mon_tree *tree, enum mon_kind kind,
                                      const char *id);

/* Path of a group's mon_data below the mount: of a class (0: the root group), or what was found.
 * 0 or -ENAMETOOLONG. */
int mon_tree_class_path(const struct mon_tree *tree, unsigned class, char *out, size_t size);
int mon_tree_path(const struct mon_tree *tree, const struct mon_found *found, char *out,
                  size_t size);

/* A descriptor (O_PATH) of a directory below the mount, or -errno. */
int mon_tree_open(const struct mon_tree *tree, const char *path);
/* The same below any directory. */
int mon_open_directory(int at, const char *path);

#endif
