#include "exporter/source/sampler/merge.h"

#include <stdbool.h>
#include <stdlib.h>

#include "exporter/base/array.h"

void merge_release(struct merge *merge)
{
    free(merge->at);
    *merge = (struct merge){0};
}

void merge_clear(struct merge *merge)
{
    merge->n = 0;
}

static bool earlier(const struct merge_entry *a, const struct merge_entry *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->event != b->event)
        return a->event < b->event;
    return a->index < b->index;
}

/* Puts an entry at place i or, as far as the entries there are earlier, below it. */
static void sink_down(struct merge *merge, size_t i, struct merge_entry entry)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < merge->n && earlier(&merge->at[child + 1], &merge->at[child]))
            child++;
        if (child >= merge->n || !earlier(&merge->at[child], &entry))
            break;
        merge->at[i] = merge->at[child];
        i = child;
    }
    merge->at[i] = entry;
}

int merge_push(struct merge *merge, struct merge_entry entry)
{
    int err = array_reserve(&merge->at, &merge->cap, merge->n + 1, sizeof *merge->at);
    if (err)
        return err;
    size_t i = merge->n++;
    for (; i > 0 && earlier(&entry, &merge->at[(i - 1) / 2]); i = (i - 1) / 2)
        merge->at[i] = merge->at[(i - 1) / 2];
    merge->at[i] = entry;
    return 0;
}

const struct merge_entry *merge_first(const struct merge *merge)
{
    return merge->n > 0 ? &merge->at[0] : NULL;
}

void merge_pop(struct merge *merge)
{
    struct merge_entry last = merge->at[--merge->n];
    if (merge->n > 0)
        sink_down(merge, 0, last);
}

void merge_replace_first(struct merge *merge, struct merge_entry entry)
{
    sink_down(merge, 0, entry);
}
