/*
 * The queue of future events, earliest first; events of one time come in the order in which they
 * were pushed, which makes a run a function of its scenario alone.
 */
#ifndef IE_SIMNODE_MODEL_EVENTS_H
#define IE_SIMNODE_MODEL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct event {
    uint64_t time_fs;
    uint64_t order; /* low 8 bits: kind */
    void *subject;
};

struct event_queue {
    struct event *heap;
    size_t n, cap;
    uint64_t pushed;
};

static inline unsigned event_kind(const struct event *event)
{
    return (unsigned)(event->order & 0xff);
}

/* 0 or -ENOMEM. */
int event_queue_push(struct event_queue *queue, uint64_t time_fs, unsigned kind, void *subject);
/* The earliest event's time; SIM_NEVER when empty. */
uint64_t event_queue_next_fs(const struct event_queue *queue);
/* The queue must not be empty. */
struct event event_queue_pop(struct event_queue *queue);
void event_queue_release(struct event_queue *queue);

#endif
