/*
 * How the kernel's program knows a cgroup: by its ID, and its depth below the root.
 */
#ifndef IE_SOURCE_BPF_PLACE_H
#define IE_SOURCE_BPF_PLACE_H

#include <stdint.h>

#include "exporter/source/bpf/cells.h"

enum { BPF_LEVEL_UNKNOWN = -1 };

struct bpf_place {
    uint64_t id;
    int level; /* below BPF_LEVELS_MAX; BPF_LEVEL_UNKNOWN: where the mount does not show the root */
};

/* 0; -EINVAL: the directory is no cgroup of v2; -ENOTSUP: it lies too deep; other -errno. */
int bpf_place_of(int cgroup_fd, struct bpf_place *out);

#endif
