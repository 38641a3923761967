#include "exporter/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A recording's key and the table's handle for it. */
struct known {
    char *key;
    uint64_t handle;
};

/* Something to be written at the next tick. */
struct pending {
    const struct container *container; /* NULL: taken back */
    char key[32];
    bool gone;
};

struct feed {
    struct known *known;
    size_t n_known, cap_known;
    struct pending *pending;
    size_t n_pending, cap_pending;
};

int feed_new(struct feed **out)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return -ENOMEM;
    *out = feed;
    return 0;
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    for (size_t i = 0; i < feed->n_known; i++)
        free(feed->known[i].key);
    free(feed->known);
    free(feed->pending);
    free(feed);
}

static int grow(void **array, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return 0;
    size_t cap_new = *cap ? *cap * 2 : 16;
    void *bigger = realloc(*array, cap_new * size);
    if (!bigger)
        return -ENOMEM;
    *array = bigger;
    *cap = cap_new;
    return 0;
}

/* ---- from a recording ---- */

/* The index of a key, or where it belongs; known is kept sorted. */
static size_t find_known(const struct feed *feed, const char *key, bool *found)
{
    size_t low = 0, high = feed->n_known;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(feed->known[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < feed->n_known && strcmp(feed->known[low].key, key) == 0;
    return low;
}

static int remember_key(struct feed *feed, size_t at, const char *key, uint64_t handle)
{
    int err = grow((void **)&feed->known, &feed->cap_known, feed->n_known, sizeof *feed->known);
    char *copy = err ? NULL : strdup(key);
    if (!copy)
        return -ENOMEM;
    memmove(&feed->known[at + 1], &feed->known[at], (feed->n_known - at) * sizeof *feed->known);
    feed->known[at] = (struct known){.key = copy, .handle = handle};
    feed->n_known++;
    return 0;
}

static void forget_key(struct feed *feed, size_t at)
{
    free(feed->known[at].key);
    feed->n_known--;
    memmove(&feed->known[at], &feed->known[at + 1], (feed->n_known - at) * sizeof *feed->known);
}

static int apply(struct feed *feed, const struct replay_container_event *event,
                 struct container_table *table, uint64_t now_ns)
{
    const struct recording_container *c = &event->container;
    bool found;
    size_t at = find_known(feed, c->key, &found);
    if (event->gone) {
        if (found) {
            container_table_end(table, feed->known[at].handle, now_ns);
            forget_key(feed, at);
        }
        return 0;
    }
    const struct container_spec spec = {
        .key = c->key,
        .cgroup_fd = -1,
        .path = c->cgroup,
        .id = c->id,
        .namespace_ = c->namespace_,
        .pod = c->pod,
        .name = c->container,
        .image = c->image,
        .pod_uid = c->pod_uid,
        .runtime = c->runtime,
        .qos_class = c->qos_class,
        .resolved = !c->pending,
    };
    if (found)
        return container_table_rename(table, feed->known[at].handle, &spec, now_ns);
    uint64_t handle;
    int err = container_table_add(table, &spec, now_ns, &handle);
    return err ? err : remember_key(feed, at, c->key, handle);
}

int feed_replay(struct feed *feed, const struct replay *replay, struct container_table *table,
                uint64_t now_ns)
{
    size_t n;
    const struct replay_container_event *events = replay_container_events(replay, &n);
    int result = 0;
    for (size_t i = 0; i < n; i++) {
        int err = apply(feed, &events[i], table, now_ns);
        if (err && !result)
            result = err;
    }
    return result;
}

/* ---- into a recording ---- */

static int add_pending(struct feed *feed, const struct container_list *list, bool gone)
{
    for (size_t i = 0; i < list->n; i++) {
        int err = grow((void **)&feed->pending, &feed->cap_pending, feed->n_pending,
                       sizeof *feed->pending);
        if (err)
            return err;
        struct pending *pending = &feed->pending[feed->n_pending++];
        *pending = (struct pending){.container = list->at[i], .gone = gone};
        memcpy(pending->key, list->at[i]->key, sizeof pending->key);
    }
    return 0;
}

/* Forgotten while it was alive: it is not counted after all. */
static int take_back(struct feed *feed, const struct container *container)
{
    for (size_t i = 0; i < feed->n_pending; i++)
        if (feed->pending[i].container == container)
            feed->pending[i].container = NULL;
    if (container->ended_mono_ns)
        return 0;
    struct container *const one[] = {(struct container *)container};
    const struct container_list list = {.at = one, .n = 1};
    int err = add_pending(feed, &list, true);
    if (!err)
        feed->pending[feed->n_pending - 1].container = NULL; /* about to be freed */
    return err;
}

int feed_remember(struct feed *feed, const struct container_diff *diff)
{
    int err = add_pending(feed, &diff->added, false);
    if (!err)
        err = add_pending(feed, &diff->named, false);
    if (!err)
        err = add_pending(feed, &diff->renamed, false);
    if (!err)
        err = add_pending(feed, &diff->ended, true);
    for (size_t i = 0; i < diff->forgotten.n && !err; i++)
        err = take_back(feed, diff->forgotten.at[i]);
    return err;
}

void feed_record_arrivals(struct feed *feed, struct recorder *recorder)
{
    for (size_t i = 0; i < feed->n_pending; i++) {
        const struct container *c = feed->pending[i].container;
        if (!c || feed->pending[i].gone)
            continue;
        recorder_container(recorder, &(struct recording_container){
                                         .key = c->key,
                                         .cgroup = c->path,
                                         .id = c->id,
                                         .namespace_ = c->namespace_,
                                         .pod = c->pod,
                                         .container = c->name,
                                         .image = c->image,
                                         .pod_uid = c->pod_uid,
                                         .runtime = c->runtime,
                                         .qos_class = c->qos_class,
                                         .pending = !c->named,
                                     });
    }
}

void feed_record_departures(struct feed *feed, struct recorder *recorder)
{
    for (size_t i = 0; i < feed->n_pending; i++)
        if (feed->pending[i].gone)
            recorder_gone(recorder, feed->pending[i].key);
    feed->n_pending = 0;
}
