/*
 * A node's cgroups as plain files, and writes to them that can be made to fail.
 *
 * The control files take what the kernel takes: a value as a whole, not below 1000 us, nor below
 * the burst, nor, in v1, above the parent's.
 */
#ifndef IE_TESTS_GOVERNOR_RIG_H
#define IE_TESTS_GOVERNOR_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"
#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/journal/fswrite.h"

/* What the kubelet calls the cgroup of a container of a pod, by four hex digits of its id; and the
 * exporter's label container_id, as arguments of "%.*s". */
#define RIG_POD_UID "11111111-2222-3333-4444-555555555555"
#define RIG_CONTAINER(digits) "/kubepods/pod" RIG_POD_UID "/" digits RIG_ZEROS RIG_ZEROS RIG_ZEROS
#define RIG_ZEROS "00000000000000000000"
#define RIG_LABEL(path) 12, strrchr(path, '/') + 1

struct governor_rig {
    int version;
    char root[64];  /* a folder of its own, removed at the end */
    char state[96]; /* the state directory */
    struct fsroot fs;
    struct fswrite write; /* context: the rig */
    struct actuator_env env;
    unsigned calls; /* of all functions, failed ones included */
    unsigned control_writes;
    unsigned fail_from, fail_to; /* these calls fail, counted from 1; 0: none */
    int fail_with;               /* -errno */
    /* Before a control file is written; may be NULL. */
    void (*before_write)(void *context, const char *path, const char *text);
    void *before_context;
    struct fake_threads *threads; /* fake_threads.h; NULL: there are none */
};

/* version: 1 or 2; eight CPUs. */
void governor_rig_init(struct governor_rig *rig, int version);
void governor_rig_release(struct governor_rig *rig);

/* A cgroup, path as "/a/b", whose parents exist: quota as its file says it, "-1" or "max 100000".
 */
void governor_rig_cgroup(struct governor_rig *rig, const char *path, const char *quota);
void governor_rig_remove(struct governor_rig *rig, const char *path);
/* A file of the cgroup: what somebody else writes, and what is there ("" if there is none). */
void governor_rig_put(struct governor_rig *rig, const char *path, const char *file,
                      const char *text);
void governor_rig_quota(const struct governor_rig *rig, const char *path, char out[64]);
void governor_rig_set_quota(struct governor_rig *rig, const char *path, const char *quota);
/* The same for files of the whole tree, by a path below the rig's root. */
void governor_rig_file(struct governor_rig *rig, const char *path, const char *text);
void governor_rig_folder(const struct governor_rig *rig, const char *path); /* and its parents */
bool governor_rig_text(const struct governor_rig *rig, const char *path, char *out, size_t size);
uint64_t governor_rig_inode(const struct governor_rig *rig, const char *path);

#endif
