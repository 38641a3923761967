/*
 * Which container has which slot of the cells.
 *
 * When a container is closed, the program may still be using its slot on some CPU, and the map's
 * element for its ID. So the slot is first left, then forgotten (its ID is taken out of the map),
 * and settled, which means free, only after the program has run to its end on every CPU. Until then
 * no ID is put into the map: its element could become another container's while the program still
 * reads it. Loop thread only.
 */
#ifndef IE_SOURCE_BPF_SLOTS_H
#define IE_SOURCE_BPF_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/hash_table.h"
#include "exporter/source/bpf/cells.h"

enum { BPF_LEVEL_UNKNOWN = -1 };

/* How the kernel's program knows a cgroup. */
struct bpf_cgroup {
    uint64_t id;
    int level; /* below BPF_LEVELS_MAX; BPF_LEVEL_UNKNOWN: where the mount does not show the root */
};

/* 0; -EINVAL: the directory is no cgroup of v2; -ENOTSUP: it lies too deep; other -errno. */
int bpf_cgroup_of(int cgroup_fd, struct bpf_cgroup *out);

struct bpf_slot;

/* What a container has a slot for. Both uses share one slot. */
enum bpf_user { BPF_COUNTS, BPF_DELAYS };

struct bpf_slots {
    struct bpf_slot *at;    /* owned */
    struct hash_table told; /* of those for which their IDs stand, by these */
    size_t n, used;         /* 'used' counts those that cannot be given away yet, too */
    /* Lists: index + 1 of the first; 0: none. What was left is in 'left', then in 'forgotten'. */
    uint32_t free, left, forgotten;
    size_t at_level[BPF_LEVELS_MAX];
    size_t anywhere; /* of those whose level is not known */
};

/* 0 or -ENOMEM. */
int bpf_slots_init(struct bpf_slots *slots, size_t n);
void bpf_slots_release(struct bpf_slots *slots);

/* 0; -ENOSPC when there is none. *shared: the map has its ID already. If another slot has the same
 * ID for the same use, that one's cgroup must be gone, and the ID no longer stands for it. */
int bpf_slots_take(struct bpf_slots *slots, const struct bpf_cgroup *cgroup, enum bpf_user user,
                   uint32_t *out, bool *shared);
/* Its container is closed, for that user. A slot that was left already is ignored. */
void bpf_slots_leave(struct bpf_slots *slots, uint32_t slot, enum bpf_user user);
/* True: the caller takes this ID out of the map. To be called until it is false. */
bool bpf_slots_forget(struct bpf_slots *slots, uint64_t *id);
/* The program has run to its end everywhere since: slots that were forgotten are free. */
void bpf_slots_settle(struct bpf_slots *slots);

/* The depths at which there are containers, as bits. */
uint32_t bpf_slots_levels(const struct bpf_slots *slots);

#endif
