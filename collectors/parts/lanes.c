#include "collectors/parts/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

void lanes_init(struct lanes *lanes, const struct lane_ops *ops, void *collector)
{
    *lanes = (struct lanes){.ops = ops, .collector = collector};
}

void lanes_remember(struct lanes *lanes, struct state *state)
{
    lanes->state = state;
}

void lanes_release(struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++) {
        void *lane = lanes->at[i].lane;
        lanes->at[i].lane = NULL; /* whoever looks at the others meanwhile must not find it */
        if (lane)
            lanes->ops->free(lanes->collector, lane);
    }
    free(lanes->at);
    path_order_release(&lanes->order);
    *lanes =
        (struct lanes){.ops = lanes->ops, .collector = lanes->collector, .state = lanes->state};
}

static struct lane_slot *find(const struct lanes *lanes, const struct container *container)
{
    if (container->slot >= lanes->n)
        return NULL;
    struct lane_slot *slot = &lanes->at[container->slot];
    return slot->lane && slot->container == container ? slot : NULL;
}

static void drop(struct lanes *lanes, struct lane_slot *slot)
{
    if (slot->lane)
        lanes->ops->free(lanes->collector, slot->lane);
    *slot = (struct lane_slot){0};
}

static bool reserve(struct lanes *lanes, size_t slot)
{
    size_t had = lanes->n;
    if (slot >= had) {
        if (array_reserve(&lanes->at, &lanes->n, slot + 1, sizeof *lanes->at))
            return false;
        memset(&lanes->at[had], 0, (lanes->n - had) * sizeof *lanes->at);
    }
    return path_order_reserve(&lanes->order, lanes->n) == 0;
}

/* ---- across a restart ---- */

/* A container has the same id and path for its life; a plain cgroup may be another one of the same
 * path, but with another inode, which is its id in recordings, in these digits. */
static void name_for_good(const struct container *container, char key[STATE_MAX_KEY])
{
    if (container->id[0])
        snprintf(key, STATE_MAX_KEY, "%s %s", container->id, container->path);
    else
        snprintf(key, STATE_MAX_KEY, "%012llx %s",
                 (unsigned long long)container->cgroup_id & 0xffffffffffff, container->path);
}

/* A new lane, with what was learned before. */
static void *make(struct lanes *lanes, const struct container *container, const struct log *log)
{
    const struct lane_ops *ops = lanes->ops;
    struct state_fields fields;
    char key[STATE_MAX_KEY];
    void *lane = ops->make(lanes->collector, container);
    if (!lane || !ops->serialise || !lanes->state)
        return lane;
    name_for_good(container, key);
    if (!state_claim(lanes->state, ops->collector, key, &fields))
        return lane;
    ops->serialise(lane, &fields);
    if (state_fits(&fields))
        return lane;
    log_warn(log, ops->collector, "the state has impossible values of %s, which are ignored",
             container->path);
    ops->free(lanes->collector, lane);
    return ops->make(lanes->collector, container);
}

void lanes_save(const struct lanes *lanes, struct state_writer *out)
{
    char key[STATE_MAX_KEY];
    for (size_t i = 0; i < lanes->n; i++) {
        const struct lane_slot *slot = &lanes->at[i];
        if (!slot->lane || slot->container->state != CONTAINER_LIVE)
            continue;
        name_for_good(slot->container, key);
        state_entry_begin(out, lanes->ops->collector, key);
        lanes->ops->serialise(slot->lane, &out->fields);
        state_entry_end(out);
    }
}

/* ---- following the containers ---- */

static void open_lane(struct lanes *lanes, void *lane)
{
    if (!lanes->ops->open(lanes->collector, lane))
        lanes->unopened++;
}

static void add(struct lanes *lanes, const struct container *container, const struct log *log)
{
    void *lane = NULL;
    if (reserve(lanes, container->slot))
        lane = make(lanes, container, log);
    if (!lane) {
        log_error(log, lanes->ops->collector, "out of memory: %s is not counted", container->path);
        return;
    }
    struct lane_slot *slot = &lanes->at[container->slot];
    drop(lanes, slot);
    *slot = (struct lane_slot){lane, container};
    open_lane(lanes, lane);
}

static void retry(struct lanes *lanes)
{
    lanes->unopened = 0;
    for (size_t i = 0; i < lanes->n; i++) {
        const struct lane_slot *slot = &lanes->at[i];
        if (slot->lane && slot->container->state == CONTAINER_LIVE &&
            !lanes->ops->is_open(slot->lane))
            open_lane(lanes, slot->lane);
    }
}

bool lanes_reconcile(struct lanes *lanes, const struct container_diff *diff,
                     struct collector_status *status, const struct log *log)
{
    const struct lane_ops *ops = lanes->ops;
    struct lane_slot *slot;
    for (size_t i = 0; i < diff->forgotten.n; i++)
        if ((slot = find(lanes, diff->forgotten.at[i])))
            drop(lanes, slot);
    for (size_t i = 0; i < diff->added.n; i++)
        add(lanes, diff->added.at[i], log);
    for (size_t i = 0; i < diff->named.n; i++)
        if ((slot = find(lanes, diff->named.at[i])))
            ops->name(lanes->collector, slot->lane);
    for (size_t i = 0; i < diff->renamed.n; i++)
        if ((slot = find(lanes, diff->renamed.at[i])))
            ops->rename(lanes->collector, slot->lane);
    for (size_t i = 0; i < diff->ended.n; i++)
        if ((slot = find(lanes, diff->ended.at[i])))
            ops->end(slot->lane);

    bool freed = status->wants_reconcile || diff->ended.n + diff->forgotten.n > 0;
    status->wants_reconcile = false;
    if (lanes->unopened == 0 || !freed)
        return false;
    retry(lanes);
    return lanes->unopened == 0;
}

bool lanes_sort(struct lanes *lanes, const struct container_diff *diff)
{
    if (diff->forgotten.n + diff->added.n == 0)
        return false;
    path_order_remove(&lanes->order, &diff->forgotten);
    for (size_t i = 0; i < diff->added.n; i++)
        if (find(lanes, diff->added.at[i]))
            path_order_add(&lanes->order, diff->added.at[i]);
    path_order_sort(&lanes->order);
    return true;
}

void lanes_closed_one(const struct lanes *lanes, struct collector_status *status)
{
    status->wants_reconcile |= lanes->unopened > 0;
}
