/*
 * Records of several streams in the order of their times: a heap of each stream's next one.
 * Pure; it knows neither the streams nor the records.
 */
#ifndef IE_SOURCE_SAMPLER_MERGE_H
#define IE_SOURCE_SAMPLER_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct merge_entry {
    uint64_t time;
    size_t event; /* at the same time the lower one comes first */
    size_t index; /* of the stream; of the same event the lower one comes first */
};

/* All zero is empty. */
struct merge {
    struct merge_entry *at; /* owned; a binary heap */
    size_t n, cap;
};

void merge_release(struct merge *merge);

/* Keeps the room. */
void merge_clear(struct merge *merge);

/* 0; or -ENOMEM when there are more entries than ever before and no room for them. */
int merge_push(struct merge *merge, struct merge_entry entry);
/* The earliest, or NULL when it is empty. Valid until the next change. */
const struct merge_entry *merge_first(const struct merge *merge);
/* Takes the first one out, which must be there. */
void merge_pop(struct merge *merge);
/* As pop and then push, in one step. */
void merge_replace_first(struct merge *merge, struct merge_entry entry);

#endif
