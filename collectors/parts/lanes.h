/*
 * What a collector keeps per container: its lanes, by the container's slot, and how they follow
 * the containers. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_LANES_H
#define IE_COLLECTORS_PARTS_LANES_H

#include "collectors/contract/collector.h"
#include "exporter/containers/path_order.h"

struct lane_ops {
    const char *collector; /* for the log */
    /* A lane for this container, which outlives it; NULL: out of memory. */
    void *(*make)(void *collector, const struct container *container);
    /* Opens its counters; false when that failed, and is to be tried again when descriptors may
     * have become free. */
    bool (*open)(void *collector, void *lane);
    bool (*is_open)(const void *lane);           /* all of them */
    void (*name)(void *collector, void *lane);   /* series may be made */
    void (*rename)(void *collector, void *lane); /* series must be made anew */
    void (*end)(void *lane);                     /* its next reading is its last */
    void (*free)(void *collector, void *lane);
    /* Walks over what it learned, which outlives a restart of the exporter; NULL: nothing does. */
    void (*serialise)(void *lane, struct state_fields *fields);
};

struct lanes {
    const struct lane_ops *ops;
    void *collector;
    struct lane_slot {
        void *lane; /* NULL: free */
        const struct container *container;
    } * at;
    size_t n;
    size_t unopened; /* lanes that should count and do not */
    struct state *state;
    struct path_order order; /* with room for all; up to date after lanes_sort */
};

/* 'ops' and 'collector' are borrowed for its life. */
void lanes_init(struct lanes *lanes, const struct lane_ops *ops, void *collector);
/* From now on a new lane begins with what 'state' (may be NULL; borrowed) has of its container. */
void lanes_remember(struct lanes *lanes, struct state *state);
/* What the lanes of live containers learned. */
void lanes_save(const struct lanes *lanes, struct state_writer *out);
/* Frees the lanes; what was never initialised but all zero is fine. */
void lanes_release(struct lanes *lanes);

/*
 * For the collector's reconcile: makes, opens, names, renames, ends and frees lanes, and opens
 * again what failed. True when something had failed and now all of them are open.
 */
bool lanes_reconcile(struct lanes *lanes, const struct container_diff *diff,
                     struct collector_status *status, const struct log *log);

/* For a collector that asks who lies inside of whom, after every lanes_reconcile: brings 'order' up
 * to date. False: nobody came or went. */
bool lanes_sort(struct lanes *lanes, const struct container_diff *diff);

/* A lane was closed for good in collect: its descriptors may serve those that have none. */
void lanes_closed_one(const struct lanes *lanes, struct collector_status *status);

/* The lane in this slot, or NULL; slots count up to lanes->n. */
static inline void *lanes_at(const struct lanes *lanes, size_t slot)
{
    return lanes->at[slot].lane;
}

/* The first lane in slot *slot or behind, which then is the slot behind it; NULL: there is none. */
static inline void *lanes_next(const struct lanes *lanes, size_t *slot)
{
    while (*slot < lanes->n)
        if (lanes->at[(*slot)++].lane)
            return lanes->at[*slot - 1].lane;
    return NULL;
}

#endif
