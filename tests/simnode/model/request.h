/* One line on its way through the super queue, the last-level cache and memory. */
#ifndef IE_SIMNODE_MODEL_REQUEST_H
#define IE_SIMNODE_MODEL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simnode/model/shadow.h"

enum request_kind {
    REQUEST_READ,      /* demand data read */
    REQUEST_RFO,       /* a store's read for ownership */
    REQUEST_PREFETCH,  /* fetched before it is asked for */
    REQUEST_WRITEBACK, /* a dirty line that a trace sends to the last-level cache */
    REQUEST_NT_STORE,  /* a whole line past all caches */
    REQUEST_WRITE,     /* a dirty line that leaves the last-level cache */
};

struct core;
struct load;

struct request {
    struct request *next, *prev; /* in whatever queue it stands, but for: */
    struct request *mab_next;    /* in the one for a buffer; a prefetch stands in both */
    struct request *chain;       /* the core's other outstanding lines of this hash bucket */
    struct core *core;           /* NULL: no core waits (REQUEST_WRITE) */
    struct load *loads;          /* loads that wait for it, first the one that made it */
    uint64_t line;
    uint64_t merge_cycle; /* REQUEST_PREFETCH: when a demand read joined */
    enum request_kind kind;
    int app;  /* index of the container it is done for; -1: none */
    int node; /* where its memory is */
    bool pmm;
    int channel;
    /* What became of it so far. */
    bool in_super_queue, hit, labelled, from_memory, from_remote_cache, merged, demanded, stored;
    bool ats_hit, ats_sampled, done;
    bool into_l1; /* REQUEST_PREFETCH */
    bool asked_mab, waits_for_mab, has_mab;
    unsigned pending_merges; /* merge events that still point here */
    /* For the controller; clocks are the controller's. */
    uint64_t row;
    unsigned bank;
    uint64_t order;
    bool queued; /* in the read queue, as opposed to before it */
    bool marked; /* of the controller's batch */
    /* When it came where; femtoseconds. */
    uint64_t mab_fs, enter_fs, access_fs, label_fs, arrive_fs, insert_fs, cas_fs;
    /* In shadow time (shadow.h), in core cycles: how much sooner it was made, and served; when its
     * data came. */
    int64_t shadow_shift[SHADOWS], shadow_gain[SHADOWS], shadow_ready[SHADOWS];
    bool contention[SHADOWS];
    uint64_t store_number; /* of the stores that left the core */
};

struct request_list {
    struct request *head, *tail;
};

static inline void request_list_append(struct request_list *list, struct request *request)
{
    request->next = NULL;
    request->prev = list->tail;
    if (list->tail)
        list->tail->next = request;
    else
        list->head = request;
    list->tail = request;
}

static inline void request_list_remove(struct request_list *list, struct request *request)
{
    if (request->prev)
        request->prev->next = request->next;
    else
        list->head = request->next;
    if (request->next)
        request->next->prev = request->prev;
    else
        list->tail = request->prev;
    request->next = request->prev = NULL;
}

static inline struct request *request_list_shift(struct request_list *list)
{
    struct request *first = list->head;

    if (first)
        request_list_remove(list, first);
    return first;
}

#endif
