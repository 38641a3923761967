/*
 * What the guard remembers of knobs whose containers are not in the document: who is missing from
 * one is no new container, and whom was yielded to has not stopped writing.
 *
 * A knob is known by its cgroup's inode, or a thread by when it began. Where there is no room, who
 * left first is forgotten. One thread; nothing is allocated.
 */
#ifndef IE_GOVERNOR_MEMORIES_H
#define IE_GOVERNOR_MEMORIES_H

#include "exporter/governor/act/guard.h"

enum { MEMORIES_MAX = CLAIMS_MAX };

struct memories_entry {
    enum knob knob;
    int tid;
    uint64_t dev, ino, tid_start;
    uint64_t left; /* how many had left before */
    struct guard_memory memory;
};

/* All zero at first. */
struct memories {
    struct memories_entry list[MEMORIES_MAX];
    size_t n;
    uint64_t left;
};

/* Unless there is nothing to remember, or nothing by which it could be known again. */
void memories_keep(struct memories *memories, const struct claim *claim,
                   const struct guard_memory *memory);
/* What was kept of it goes to *memory, once; otherwise that stays as it is. */
void memories_take(struct memories *memories, const struct claim *claim,
                   struct guard_memory *memory);

#endif
