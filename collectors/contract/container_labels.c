#include "collectors/contract/container_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

const struct metric_desc container_info_desc = {
    .name = "interference_container",
    .type = METRIC_INFO,
    .help = "What is known about a container; the value is 1. Present while the container has "
            "other series. Join on the container's labels. workload is what its pod's name says, "
            "less what Kubernetes generated of it: the same for all replicas and runs.",
    .labels = "container, workload, pod_uid, image, runtime, qos_class, id, runtime_container_id",
};

/* Makes /api/v1/containers list every container, also where no collector can say anything of it. */
static const struct metric_desc running_desc = {
    .name = "running",
    .type = METRIC_NOTE,
    .number = METRIC_U64,
    .help = "1 while the container runs, 0 after it has ended.",
    .labels = "container",
};

struct entry {
    uint32_t gen;
    struct labelset *set; /* NULL: this slot has no named container */
    struct series *info;
    struct series *running;
};

struct container_labels {
    struct family *family;
    struct family *running_family;
    struct entry *entries; /* by slot */
    size_t n;
};

int container_labels_new(struct store *store, struct container_labels **out)
{
    struct container_labels *labels = calloc(1, sizeof *labels);
    if (!labels)
        return -ENOMEM;
    int err = store_family(store, &container_info_desc, NULL, &labels->family);
    if (!err)
        err = store_family(store, &running_desc, NULL, &labels->running_family);
    if (err) {
        free(labels);
        return err;
    }
    *out = labels;
    return 0;
}

static void entry_release(struct entry *entry)
{
    series_free(entry->info);
    series_free(entry->running);
    labelset_unref(entry->set);
    *entry = (struct entry){0};
}

void container_labels_free(struct container_labels *labels)
{
    if (!labels)
        return;
    for (size_t i = 0; i < labels->n; i++)
        entry_release(&labels->entries[i]);
    free(labels->entries);
    free(labels);
}

static struct entry *entry_at(struct container_labels *labels, uint32_t slot)
{
    if (slot >= labels->n) {
        size_t had = labels->n;
        if (array_reserve(&labels->entries, &labels->n, slot + 1, sizeof *labels->entries))
            return NULL;
        memset(&labels->entries[had], 0, (labels->n - had) * sizeof *labels->entries);
    }
    return &labels->entries[slot];
}

static int make_info(struct container_labels *labels, struct entry *entry,
                     const struct container *container)
{
    char runtime_id[128] = "";
    if (container->runtime[0] && container->id[0])
        snprintf(runtime_id, sizeof runtime_id, "%s://%s", container->runtime, container->id);
    const struct label own[] = {
        {"workload", container->workload},    {"pod_uid", container->pod_uid},
        {"image", container->image},          {"runtime", container->runtime},
        {"qos_class", container->qos_class},  {"id", container->path},
        {"runtime_container_id", runtime_id},
    };
    return series_new(labels->family, entry->set, own, sizeof own / sizeof *own, &entry->info);
}

static int make_entry(struct container_labels *labels, const struct container *container)
{
    struct entry *entry = entry_at(labels, container->slot);
    if (!entry)
        return -ENOMEM;
    const struct label common[] = {
        {"namespace", container->namespace_},
        {"pod", container->pod},
        {"container", container->name},
        {"container_id", container->short_id},
    };
    struct labelset *set;
    int err = labelset_new(common, sizeof common / sizeof *common, &set);
    if (err)
        return err;
    entry_release(entry);
    entry->gen = container->gen;
    entry->set = set;
    err = make_info(labels, entry, container);
    if (!err)
        err = series_new(labels->running_family, set, NULL, 0, &entry->running);
    if (err) {
        entry_release(entry);
        return err;
    }
    series_set_u64(entry->running, container->state == CONTAINER_LIVE);
    return 0;
}

static struct entry *entry_of(struct container_labels *labels, const struct container *container)
{
    if (container->slot >= labels->n)
        return NULL;
    struct entry *entry = &labels->entries[container->slot];
    return entry->set && entry->gen == container->gen ? entry : NULL;
}

int container_labels_reconcile(struct container_labels *labels, const struct container_diff *diff)
{
    int result = 0;
    for (size_t i = 0; i < diff->forgotten.n; i++) {
        const struct container *gone = diff->forgotten.at[i];
        if (gone->slot < labels->n && labels->entries[gone->slot].gen == gone->gen)
            entry_release(&labels->entries[gone->slot]);
    }
    const struct container_list *lists[] = {&diff->named, &diff->renamed};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->n; i++) {
            int err = make_entry(labels, lists[k]->at[i]);
            if (err && !result)
                result = err;
        }
    }
    for (size_t i = 0; i < diff->ended.n; i++) {
        struct entry *entry = entry_of(labels, diff->ended.at[i]);
        if (entry)
            series_set_u64(entry->running, 0);
    }
    return result;
}

void container_labels_settle(struct container_labels *labels)
{
    for (size_t i = 0; i < labels->n; i++) {
        struct entry *entry = &labels->entries[i];
        if (!entry->set)
            continue;
        bool shown = series_present(entry->info);
        bool others = labelset_shown(entry->set) > shown;
        if (others && !shown)
            series_set_u64(entry->info, 1);
        else if (!others && shown)
            series_clear(entry->info);
    }
}

struct labelset *container_labels_get(const struct container_labels *labels,
                                      const struct container *container)
{
    if (container->slot >= labels->n)
        return NULL;
    const struct entry *entry = &labels->entries[container->slot];
    return entry->set && entry->gen == container->gen ? entry->set : NULL;
}
