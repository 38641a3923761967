#include "tests/simnode/model/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/simnode/model/simclock.h"

enum { ARITY = 4 };

static inline bool before(const struct event *a, const struct event *b)
{
    return a->time_fs != b->time_fs ? a->time_fs < b->time_fs : a->order < b->order;
}

int event_queue_push(struct event_queue *queue, uint64_t time_fs, unsigned kind, void *subject)
{
    if (queue->n == queue->cap) {
        size_t cap = queue->cap ? queue->cap * 2 : 256;
        struct event *heap = realloc(queue->heap, cap * sizeof(*heap));

        if (!heap)
            return -ENOMEM;
        queue->heap = heap;
        queue->cap = cap;
    }

    struct event event = {time_fs, queue->pushed++ << 8 | kind, subject};
    size_t i = queue->n++;

    while (i > 0) {
        size_t parent = (i - 1) / ARITY;

        if (!before(&event, &queue->heap[parent]))
            break;
        queue->heap[i] = queue->heap[parent];
        i = parent;
    }
    queue->heap[i] = event;
    return 0;
}

uint64_t event_queue_next_fs(const struct event_queue *queue)
{
    return queue->n ? queue->heap[0].time_fs : SIM_NEVER;
}

struct event event_queue_pop(struct event_queue *queue)
{
    struct event top = queue->heap[0];
    struct event last = queue->heap[--queue->n];
    size_t i = 0;

    for (;;) {
        size_t first = i * ARITY + 1, best = first;

        if (first >= queue->n)
            break;
        for (size_t c = first + 1; c < first + ARITY && c < queue->n; c++)
            if (before(&queue->heap[c], &queue->heap[best]))
                best = c;
        if (!before(&queue->heap[best], &last))
            break;
        queue->heap[i] = queue->heap[best];
        i = best;
    }
    queue->heap[i] = last;
    return top;
}

void event_queue_release(struct event_queue *queue)
{
    free(queue->heap);
    *queue = (struct event_queue){0};
}
