#include "exporter/daemon/feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"
#include "exporter/base/hash_table.h"
#include "exporter/containers/workload.h"

/* A recording's key and the table's handle for it. */
struct known {
    uint64_t handle;
    char key[];
};

struct feed {
    struct pseudonyms *pseudonyms; /* NULL: names are shown as they are */
    struct hash_table known;
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
    for (size_t i = 0; i < feed->known.cap; i++)
        free(feed->known.slots[i].value);
    hash_table_release(&feed->known);
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

static struct known *find_known(const struct feed *feed, const char *key)
{
    struct known *known;
    size_t at = 0;
    do
        known = hash_table_next(&feed->known, hash_text(key, 0), &at);
    while (known && strcmp(known->key, key) != 0);
    return known;
}

static int remember_key(struct feed *feed, const char *key, uint64_t handle)
{
    struct known *known = hash_table_reserve(&feed->known, feed->known.n + 1)
                              ? NULL
                              : malloc(sizeof *known + strlen(key) + 1);
    if (!known)
        return -ENOMEM;
    known->handle = handle;
    strcpy(known->key, key);
    hash_table_insert(&feed->known, hash_text(key, 0), known);
    return 0;
}

static int apply(struct feed *feed, const struct replay_container_event *event,
                 struct container_table *table, uint64_t now_ns)
{
    const struct recording_container *c = &event->container;
    struct known *known = find_known(feed, c->key);
    if (event->gone) {
        if (known) {
            container_table_end(table, known->handle, now_ns);
            hash_table_remove(&feed->known, hash_text(c->key, 0), known);
        }
        free(known);
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
    if (known)
        return container_table_rename(table, known->handle, &spec, now_ns);
    uint64_t handle;
    uint64_t found_ns = c->found_mono_ns ? c->found_mono_ns : now_ns;
    int err = container_table_add(table, &spec, found_ns, &handle);
    return err ? err : remember_key(feed, c->key, handle);
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

/* ---- pseudonyms ---- */

struct renamed {
    const char *kind;
    char pseudonym[80];
    char name[];
};

struct pseudonyms {
    struct hash_table names;
    unsigned long numbers; /* given so far, of all kinds: a number is nobody else's */
};

int pseudonyms_new(struct pseudonyms **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : -ENOMEM;
}

void pseudonyms_free(struct pseudonyms *pseudonyms)
{
    if (!pseudonyms)
        return;
    for (size_t i = 0; i < pseudonyms->names.cap; i++)
        free(pseudonyms->names.slots[i].value);
    hash_table_release(&pseudonyms->names);
    free(pseudonyms);
}

static struct renamed *find(const struct pseudonyms *pseudonyms, const char *kind, const char *name)
{
    struct renamed *renamed;
    size_t at = 0;
    do
        renamed = hash_table_next(&pseudonyms->names, hash_text(name, 0), &at);
    while (renamed && (strcmp(renamed->kind, kind) != 0 || strcmp(renamed->name, name) != 0));
    return renamed;
}

/* NULL: out of memory. Its pseudonym is not said yet when it is new. */
static struct renamed *take(struct pseudonyms *pseudonyms, const char *kind, const char *name)
{
    struct renamed *renamed = find(pseudonyms, kind, name);
    if (renamed || hash_table_reserve(&pseudonyms->names, pseudonyms->names.n + 1))
        return renamed;
    renamed = calloc(1, sizeof *renamed + strlen(name) + 1);
    if (!renamed)
        return NULL;
    renamed->kind = kind;
    strcpy(renamed->name, name);
    hash_table_insert(&pseudonyms->names, hash_text(name, 0), renamed);
    pseudonyms->numbers++;
    return renamed;
}

const char *pseudonym_of(struct pseudonyms *pseudonyms, const char *kind, const char *name)
{
    struct renamed *renamed = *name ? take(pseudonyms, kind, name) : NULL;
    if (renamed && !renamed->pseudonym[0])
        snprintf(renamed->pseudonym, sizeof renamed->pseudonym, "%.32s-%lu", kind,
                 pseudonyms->numbers);
    return !*name ? "" : renamed ? renamed->pseudonym : NULL;
}

const char *pseudonym_of_id(struct pseudonyms *pseudonyms, const char *id)
{
    struct renamed *renamed = *id ? take(pseudonyms, "id", id) : NULL;
    if (renamed && !renamed->pseudonym[0])
        snprintf(renamed->pseudonym, sizeof renamed->pseudonym, "%012lx%052d", pseudonyms->numbers,
                 0);
    return !*id ? "" : renamed ? renamed->pseudonym : NULL;
}
