/*
 * Series by container, as JSON. One container's document is in memory at a time, so that a node
 * with ten thousand of them needs no more than the text.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"
#include "exporter/expose/page.h"

/* A sample of a container, which is an index by order of appearance. */
struct container_sample {
    const struct snapshot_family *family;
    const struct sample *sample;
    size_t container;
};

/* The samples of a snapshot by container. 'slots' and 'index' are a hash table from a labelset to
 * its container. */
struct container_samples {
    const struct labelset **slots;
    size_t *index;
    size_t mask;
    struct container_sample *entries; /* by family */
    size_t n_entries;
    const struct labelset **sets;    /* by container */
    size_t *starts;                  /* by container, n_containers + 1, into sorted */
    struct container_sample *sorted; /* by container, then by family */
    size_t n_containers;
};

static bool is_container(const struct labelset *set)
{
    size_t n;
    const struct label *labels = set ? labelset_labels(set, &n) : NULL;
    for (size_t i = 0; labels && i < n; i++)
        if (strcmp(labels[i].name, "container_id") == 0)
            return true;
    return false;
}

static size_t find(struct container_samples *groups, const struct labelset *set)
{
    size_t at = (size_t)(hash_u64((uintptr_t)set) >> 32) & groups->mask;
    while (groups->slots[at] && groups->slots[at] != set)
        at = (at + 1) & groups->mask;
    return at;
}

static int groups_reserve(struct container_samples *groups, size_t n_samples)
{
    size_t cap = 16;
    while (cap < 2 * n_samples)
        cap *= 2;
    groups->mask = cap - 1;
    groups->slots = calloc(cap, sizeof *groups->slots);
    groups->index = calloc(cap, sizeof *groups->index);
    groups->entries = calloc(n_samples + 1, sizeof *groups->entries);
    groups->sorted = calloc(n_samples + 1, sizeof *groups->sorted);
    groups->sets = calloc(n_samples + 1, sizeof *groups->sets);
    groups->starts = calloc(n_samples + 2, sizeof *groups->starts);
    return groups->slots && groups->index && groups->entries && groups->sorted && groups->sets &&
                   groups->starts
               ? 0
               : -ENOMEM;
}

static void groups_release(struct container_samples *groups)
{
    free(groups->slots);
    free(groups->index);
    free(groups->entries);
    free(groups->sorted);
    free(groups->sets);
    free(groups->starts);
}

static void count_family(struct container_samples *groups, const struct snapshot_family *family)
{
    for (size_t i = 0; i < family->n; i++) {
        const struct labelset *set = family->samples[i].common;
        if (!set)
            continue;
        size_t at = find(groups, set);
        if (!groups->slots[at]) {
            /* A labelset that belongs to no container gets no index, and is looked at once. */
            groups->slots[at] = set;
            groups->index[at] = SIZE_MAX;
            if (is_container(set)) {
                groups->index[at] = groups->n_containers;
                groups->sets[groups->n_containers++] = set;
            }
        }
        if (groups->index[at] == SIZE_MAX)
            continue;
        groups->entries[groups->n_entries++] =
            (struct container_sample){family, &family->samples[i], groups->index[at]};
        groups->starts[groups->index[at] + 1]++;
    }
}

static int group_samples(struct container_samples *groups, const struct snapshot *snapshot)
{
    size_t n, n_samples = 0;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    for (size_t i = 0; i < n; i++)
        n_samples += families[i].n;
    int err = groups_reserve(groups, n_samples);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        count_family(groups, &families[i]);
    for (size_t i = 0; i < groups->n_containers; i++)
        groups->starts[i + 1] += groups->starts[i];
    for (size_t i = groups->n_entries; i-- > 0;) { /* each container's part fills from its end */
        const struct container_sample *entry = &groups->entries[i];
        groups->sorted[--groups->starts[entry->container + 1]] = *entry;
    }
    /* starts[i + 1] now is where container i begins. */
    memmove(groups->starts, groups->starts + 1, groups->n_containers * sizeof *groups->starts);
    groups->starts[groups->n_containers] = groups->n_entries;
    return 0;
}

static json_t *number(const struct container_sample *entry)
{
    const struct metric_desc *desc = entry->family->desc;
    if (desc->type == METRIC_HISTOGRAM)
        return json_pack("{s:f, s:I}", "sum", entry->sample->histogram->sum, "count",
                         (json_int_t)entry->sample->histogram->count);
    if (desc->type == METRIC_INFO)
        return json_integer(1);
    if (desc->number == METRIC_DOUBLE)
        return json_real(entry->sample->number);
    return entry->sample->u64 <= INT64_MAX ? json_integer((json_int_t)entry->sample->u64)
                                           : json_real((double)entry->sample->u64);
}

static json_t *own_labels(const struct sample *sample)
{
    json_t *object = json_object();
    struct textbuf text = TEXTBUF_INIT;
    struct label_slice label;
    const char *at = sample->own, *end = at + sample->own_len;
    while (object && labels_next(&at, end, &label)) {
        textbuf_clear(&text);
        textbuf_add(&text, label.name, label.name_len);
        textbuf_char(&text, '\0');
        size_t value = text.len;
        labels_unescape(label.value, label.value_len, &text);
        if (textbuf_finish(&text) ||
            json_object_set_new(object, text.data,
                                json_stringn(text.data + value, text.len - value))) {
            json_decref(object);
            object = NULL;
        }
    }
    textbuf_release(&text);
    return object;
}

static bool same_family(const struct container_sample *entries, size_t n, size_t i)
{
    return i < n && entries[i].family == entries[0].family;
}

/* All of a container's series of one metric; *used says how many there were. */
static json_t *family_value(const struct container_sample *entries, size_t n, size_t *used)
{
    bool own = false;
    for (*used = 0; same_family(entries, n, *used); ++*used)
        own |= entries[*used].sample->own_len > 0;
    if (!own)
        return number(entries);
    json_t *list = json_array();
    for (size_t i = 0; list && i < *used; i++) {
        json_t *item = json_pack("{s:o, s:o}", "labels", own_labels(entries[i].sample), "value",
                                 number(&entries[i]));
        if (json_array_append_new(list, item)) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static int add_values(json_t *values, const struct container_sample *entries, size_t n)
{
    static const char *const suffixes[] = {
        [METRIC_COUNTER] = "_total", [METRIC_GAUGE] = "", [METRIC_INFO] = "_info",
        [METRIC_HISTOGRAM] = "",     [METRIC_NOTE] = "",
    };
    for (size_t used; n > 0; entries += used, n -= used) {
        const struct metric_desc *desc = entries->family->desc;
        char name[METRIC_NAME_MAX + 16];
        snprintf(name, sizeof name, "%s%s", desc->name, suffixes[desc->type]);
        if (json_object_set_new(values, name, family_value(entries, n, &used)))
            return -ENOMEM;
    }
    return 0;
}

static int append(const char *bytes, size_t n, void *context)
{
    textbuf_add(context, bytes, n);
    return textbuf_finish(context);
}

static int add_container(const struct labelset *set, const struct container_sample *entries,
                         size_t n, struct textbuf *out)
{
    json_t *object = json_object(), *values = json_object();
    size_t n_labels;
    const struct label *labels = labelset_labels(set, &n_labels);
    int err = object && values ? 0 : -ENOMEM;
    for (size_t i = 0; i < n_labels && !err; i++)
        if (json_object_set_new(object, labels[i].name, json_string(labels[i].value)))
            err = -ENOMEM;
    if (!err)
        err = add_values(values, entries, n);
    if (!err && json_object_set(object, "values", values))
        err = -ENOMEM;
    if (!err && json_dump_callback(object, append, out, JSON_COMPACT))
        err = out->error ? out->error : -ENOMEM;
    json_decref(values);
    json_decref(object);
    return err;
}

int expose_containers_json(const struct snapshot *snapshot, struct textbuf *out)
{
    struct container_samples groups = {0};
    int err = group_samples(&groups, snapshot);
    if (!err) {
        textbuf_str(out, "{\"containers\":[");
        for (size_t i = 0; i < groups.n_containers && !err; i++) {
            if (i > 0)
                textbuf_char(out, ',');
            err = add_container(groups.sets[i], groups.sorted + groups.starts[i],
                                groups.starts[i + 1] - groups.starts[i], out);
        }
        textbuf_str(out, "]}\n");
    }
    groups_release(&groups);
    return err ? err : textbuf_finish(out);
}
