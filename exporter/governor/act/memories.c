#include "exporter/governor/act/memories.h"

static struct memories_entry *find(struct memories *memories, const struct claim *claim)
{
    for (size_t i = 0; i < memories->n; i++) {
        struct memories_entry *entry = &memories->list[i];
        if (entry->knob == claim->knob && entry->dev == claim->dev && entry->ino == claim->ino &&
            entry->tid == claim->tid && entry->tid_start == claim->tid_start)
            return entry;
    }
    return NULL;
}

static struct memories_entry *make_room(struct memories *memories)
{
    struct memories_entry *oldest = memories->list;
    if (memories->n < MEMORIES_MAX)
        return &memories->list[memories->n++];
    for (size_t i = 1; i < memories->n; i++)
        if (memories->list[i].left < oldest->left)
            oldest = &memories->list[i];
    return oldest;
}

void memories_keep(struct memories *memories, const struct claim *claim,
                   const struct guard_memory *memory)
{
    if (!claim->ino || !guard_remembers(memory) || find(memories, claim))
        return;
    *make_room(memories) = (struct memories_entry){.knob = claim->knob,
                                                   .tid = claim->tid,
                                                   .dev = claim->dev,
                                                   .ino = claim->ino,
                                                   .tid_start = claim->tid_start,
                                                   .left = memories->left++,
                                                   .memory = *memory};
}

void memories_take(struct memories *memories, const struct claim *claim,
                   struct guard_memory *memory)
{
    struct memories_entry *entry = find(memories, claim);
    if (!entry)
        return;
    *memory = entry->memory;
    *entry = memories->list[--memories->n];
}
