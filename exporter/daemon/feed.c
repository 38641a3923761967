#include "exporter/daemon/feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/containers/pseudonyms.h"
#include "exporter/containers/workload.h"

/* A recording's key and the table's handle for it. */
struct known {
    char *key;
    uint64_t handle;
};

struct feed {
    struct pseudonyms *pseudonyms; /* NULL: names are shown as they are */
    struct known *known;
    size_t n_known, cap_known;
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
    pseudonyms_free(feed->pseudonyms);
    free(feed);
}

int feed_anonymise(struct feed *feed)
{
    return pseudonyms_new(&feed->pseudonyms);
}

/* ---- from a recording ---- */

/* Of the first bytes of a name. NULL: out of memory. */
static const char *other_of(struct feed *feed, const char *kind, const char *name, size_t len)
{
    char *part = strndup(name, len);
    const char *other = part ? pseudonym_of(feed->pseudonyms, kind, part) : NULL;
    free(part);
    return other;
}

/* All that tells whose it is. What is one workload stays one (workload.h): "pod-3-7" is the seventh
 * name, of a pod of the third. False: out of memory. */
static bool anonymise(struct feed *feed, struct container_spec *spec)
{
    struct {
        const char *kind, **name;
    } names[] = {
        {"namespace", &spec->namespace_},
        {"container", &spec->name},
        {"uid", &spec->pod_uid},
        {"/cgroup", &spec->path},
    };
    const char *owner = other_of(feed, "pod", spec->pod, workload_owner_len(spec->pod, ""));
    spec->pod = owner ? pseudonym_of(feed->pseudonyms, owner, spec->pod) : NULL;
    spec->image = other_of(feed, "image", spec->image, workload_image_len(spec->image));
    spec->id = pseudonym_of_id(feed->pseudonyms, spec->id);
    bool whole = spec->pod && spec->image && spec->id;
    for (size_t i = 0; i < sizeof names / sizeof *names && whole; i++) {
        *names[i].name = pseudonym_of(feed->pseudonyms, names[i].kind, *names[i].name);
        whole = *names[i].name != NULL;
    }
    return whole;
}

/* A lane's: "ID /PATH". */
static char *learned_of_container(struct feed *feed, const char *key)
{
    const char *path = strstr(key, " /");
    char *id = path ? strndup(key, (size_t)(path - key)) : NULL, *renamed = NULL;
    const char *other = id ? pseudonym_of_id(feed->pseudonyms, id) : NULL;
    path = other ? pseudonym_of(feed->pseudonyms, "/cgroup", path + 1) : NULL;
    if (path && asprintf(&renamed, "%s %s", other, path) < 0)
        renamed = NULL;
    free(id);
    return renamed;
}

/* What stands before it, and a workload_key(), of which outside Kubernetes the container is the
 * owner. One that was cut is not found again. */
static char *learned_of_workload(struct feed *feed, const char *key, size_t before)
{
    const char *kinds[] = {"namespace", key[before] == '\x1f' ? "container" : "pod", "container",
                           "image"};
    const char *others[4], *at = key + before;
    char *renamed;
    for (int i = 0; i < 4; i++) {
        size_t len = strcspn(at, "\x1f");
        if (!(others[i] = other_of(feed, kinds[i], at, len)))
            return NULL;
        at += len + (at[len] != '\0');
    }
    return asprintf(&renamed, "%.*s%s\x1f%s\x1f%s\x1f%s", (int)before, key, others[0], others[1],
                    others[2], others[3]) < 0
               ? NULL
               : renamed;
}

char *feed_learned_key(void *feed, const char *key)
{
    static const char node[] = "numa_node ", word[] = " workload ";
    const char *workload = strncmp(key, node, sizeof node - 1) == 0 ? strstr(key, word) : NULL;
    return workload ? learned_of_workload(feed, key, (size_t)(workload - key) + sizeof word - 1)
                    : learned_of_container(feed, key);
}

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
    if (array_reserve(&feed->known, &feed->cap_known, feed->n_known + 1, sizeof *feed->known))
        return -ENOMEM;
    char *copy = strdup(key);
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
    struct container_spec spec = {
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
    if (feed->pseudonyms && !anonymise(feed, &spec))
        return -ENOMEM;
    if (found)
        return container_table_rename(table, feed->known[at].handle, &spec, now_ns);
    uint64_t handle;
    uint64_t found_ns = c->found_mono_ns ? c->found_mono_ns : now_ns;
    int err = container_table_add(table, &spec, found_ns, &handle);
    return err ? err : remember_key(feed, at, c->key, handle);
}

int feed_events(struct feed *feed, const struct replay_container_event *events, size_t n,
                struct container_table *table, uint64_t now_ns)
{
    int result = 0;
    for (size_t i = 0; i < n; i++) {
        int err = apply(feed, &events[i], table, now_ns);
        if (err && !result)
            result = err;
    }
    return result;
}

int feed_replay(struct feed *feed, const struct replay *replay, struct container_table *table,
                uint64_t now_ns)
{
    size_t n;
    const struct replay_container_event *events = replay_container_events(replay, &n);
    return feed_events(feed, events, n, table, now_ns);
}

/* ---- into a recording ---- */

static void record(struct recorder *recorder, const struct container *c, uint64_t found_mono_ns)
{
    const struct recording_container line = {
        .key = c->key,
        .cgroup = c->path,
        /* A plain cgroup has no runtime's id: its own stands in, so that a replay has it. */
        .id = c->id[0] ? c->id : c->short_id,
        .namespace_ = c->namespace_,
        .pod = c->pod,
        .container = c->name,
        .image = c->image,
        .pod_uid = c->pod_uid,
        .runtime = c->runtime,
        .qos_class = c->qos_class,
        .pending = !c->named,
        .found_mono_ns = found_mono_ns,
    };
    recorder_container(recorder, &line);
}

static void record_arrivals(struct recorder *recorder, const struct container_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        record(recorder, list->at[i], list->at[i]->found_mono_ns);
}

void feed_record(struct recorder *recorder, const struct container_diff *diff)
{
    /* One that is forgotten while it was alive is not counted after all. */
    for (size_t i = 0; i < diff->forgotten.n; i++)
        if (diff->forgotten.at[i]->ended_mono_ns == 0)
            recorder_gone(recorder, diff->forgotten.at[i]->key);
    record_arrivals(recorder, &diff->added);
    record_arrivals(recorder, &diff->named);
    record_arrivals(recorder, &diff->renamed);
    for (size_t i = 0; i < diff->ended.n; i++)
        recorder_gone(recorder, diff->ended.at[i]->key);
}

void feed_record_all(struct recorder *recorder, struct container_table *table, uint64_t now_ns)
{
    size_t cursor = 0;
    const struct container *container;
    while ((container = container_table_next(table, &cursor))) {
        if (container->state != CONTAINER_LINGERING)
            record(recorder, container, now_ns);
        if (container->state == CONTAINER_ENDED) /* its last readings are still to come */
            recorder_gone(recorder, container->key);
    }
}
