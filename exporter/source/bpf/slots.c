#include "exporter/source/bpf/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "exporter/base/hash.h"

/* A cgroup's ID is its directory's inode; the root's is 1 in every hierarchy of v2, of which there
 * is one. */
enum { ROOT_ID = 1 };

/* Up from the cgroup to the root. What is mounted may be a part of the tree, and then ends before
 * it. */
static int level_of(int cgroup_fd, dev_t device, uint64_t id)
{
    char path[3 * (BPF_LEVELS_MAX + 1)] = "..";
    for (int level = 0; level < BPF_LEVELS_MAX; level++) {
        struct stat st;
        if (id == ROOT_ID)
            return level;
        if (fstatat(cgroup_fd, path, &st, 0) != 0 || st.st_dev != device || st.st_ino == id)
            return BPF_LEVEL_UNKNOWN;
        id = st.st_ino;
        strcat(path, "/..");
    }
    return id == ROOT_ID ? BPF_LEVELS_MAX : -ENOTSUP;
}

int bpf_cgroup_of(int cgroup_fd, struct bpf_cgroup *out)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs(cgroup_fd, &fs) != 0 || fstat(cgroup_fd, &st) != 0)
        return -errno;
    if (fs.f_type != CGROUP2_SUPER_MAGIC)
        return -EINVAL;
    int level = level_of(cgroup_fd, st.st_dev, st.st_ino);
    if (level >= BPF_LEVELS_MAX || level == -ENOTSUP)
        return -ENOTSUP;
    *out = (struct bpf_cgroup){.id = st.st_ino, .level = level};
    return 0;
}

struct bpf_slot {
    uint64_t id;
    int level;
    unsigned users; /* bits */
    bool told;      /* the ID stands for this slot */
    uint32_t next;  /* of the list that it is on, as its head */
};

int bpf_slots_init(struct bpf_slots *slots, size_t n)
{
    *slots = (struct bpf_slots){.n = n};
    slots->at = calloc(n ? n : 1, sizeof *slots->at);
    if (!slots->at || hash_table_reserve(&slots->told, n) != 0) {
        bpf_slots_release(slots);
        return -ENOMEM;
    }
    for (size_t i = n; i-- > 0;) {
        slots->at[i].next = slots->free;
        slots->free = (uint32_t)i + 1;
    }
    return 0;
}

void bpf_slots_release(struct bpf_slots *slots)
{
    free(slots->at);
    hash_table_release(&slots->told);
    *slots = (struct bpf_slots){0};
}

static size_t *count_of(struct bpf_slots *slots, int level)
{
    return level == BPF_LEVEL_UNKNOWN ? &slots->anywhere : &slots->at_level[level];
}

static uint64_t hash_of(uint64_t id)
{
    return hash_u64(id) >> 32;
}

static void set_told(struct bpf_slots *slots, struct bpf_slot *at, bool told)
{
    if (at->told && !told)
        hash_table_remove(&slots->told, hash_of(at->id), at);
    else if (told)
        hash_table_insert(&slots->told, hash_of(at->id), at);
    at->told = told;
}

static struct bpf_slot *told_by(const struct bpf_slots *slots, uint64_t id)
{
    struct bpf_slot *at;
    size_t next = 0;
    while ((at = hash_table_next(&slots->told, hash_of(id), &next)) && at->id != id)
        ;
    return at;
}

int bpf_slots_take(struct bpf_slots *slots, const struct bpf_cgroup *cgroup, enum bpf_user user,
                   uint32_t *out, bool *shared)
{
    struct bpf_slot *same = told_by(slots, cgroup->id);
    *shared = same && same->users && !(same->users >> user & 1);
    if (*shared) {
        same->users |= 1u << user;
        *out = (uint32_t)(same - slots->at);
        return 0;
    }
    if (!slots->free)
        return -ENOSPC;
    uint32_t i = slots->free - 1;
    if (same)
        set_told(slots, same, false);
    slots->free = slots->at[i].next;
    slots->at[i] = (struct bpf_slot){.id = cgroup->id, .level = cgroup->level, .users = 1u << user};
    set_told(slots, &slots->at[i], true);
    ++*count_of(slots, cgroup->level);
    slots->used++;
    *out = i;
    return 0;
}

void bpf_slots_leave(struct bpf_slots *slots, uint32_t slot, enum bpf_user user)
{
    struct bpf_slot *at = &slots->at[slot];
    bool held = at->users >> user & 1;
    at->users &= ~(1u << user);
    if (!held || at->users)
        return;
    --*count_of(slots, at->level);
    at->next = slots->left;
    slots->left = slot + 1;
}

/* The first of one list becomes the first of the other. */
static struct bpf_slot *move(struct bpf_slots *slots, uint32_t *from, uint32_t *to)
{
    uint32_t i = *from - 1;
    *from = slots->at[i].next;
    slots->at[i].next = *to;
    *to = i + 1;
    return &slots->at[i];
}

bool bpf_slots_forget(struct bpf_slots *slots, uint64_t *id)
{
    while (slots->left) {
        struct bpf_slot *at = move(slots, &slots->left, &slots->forgotten);
        bool told = at->told;
        set_told(slots, at, false);
        if (told) {
            *id = at->id;
            return true;
        }
    }
    return false;
}

void bpf_slots_settle(struct bpf_slots *slots)
{
    while (slots->forgotten) {
        move(slots, &slots->forgotten, &slots->free);
        slots->used--;
    }
}

uint32_t bpf_slots_levels(const struct bpf_slots *slots)
{
    uint32_t levels = 0;
    if (slots->anywhere)
        return (UINT32_C(1) << BPF_LEVELS_MAX) - 1;
    for (int i = 0; i < BPF_LEVELS_MAX; i++)
        if (slots->at_level[i])
            levels |= UINT32_C(1) << i;
    return levels;
}
