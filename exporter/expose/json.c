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
    size_t at; /* in the family */
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
    struct sample sample;
    for (size_t next = 0; snapshot_next(family, &next, &sample);) {
        const struct labelset *set = sample.common;
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
            (struct container_sample){family, next - 1, groups->index[at]};
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

/* Of a histogram its sum, or how many observations there were. */
static json_t *number(const struct metric_desc *desc, const struct sample *sample, bool counted)
{
    uint64_t value = 1;
    if (desc->type == METRIC_HISTOGRAM && !counted)
        return json_real(sample->histogram->sum);
    if (desc->type == METRIC_HISTOGRAM)
        value = sample->histogram->count;
    else if (desc->type != METRIC_INFO && desc->number == METRIC_DOUBLE)
        return json_real(sample->number);
    else if (desc->type != METRIC_INFO)
        value = sample->u64;
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
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
static json_t *family_value(const struct container_sample *entries, size_t n, bool counted,
                            size_t *used)
{
    json_t *list = json_array();
    for (*used = 0; same_family(entries, n, *used); ++*used) {
        struct sample sample;
        snapshot_next(entries->family, &(size_t){entries[*used].at}, &sample);
        json_t *item = json_pack("{s:o, s:o}", "labels", own_labels(&sample), "value",
                                 number(entries->family->desc, &sample, counted));
        if (list && json_array_append_new(list, item)) {
            json_decref(list);
            list = NULL;
        } else if (!list) {
            json_decref(item);
        }
    }
    return list;
}

static int add_values(json_t *values, const struct container_sample *entries, size_t n)
{
    static const char *const suffixes[] = {
        [METRIC_COUNTER] = "_total", [METRIC_GAUGE] = "", [METRIC_INFO] = "_info",
        [METRIC_HISTOGRAM] = "_sum", [METRIC_NOTE] = "",
    };
    int err = 0;
    for (size_t used; n > 0 && !err; entries += used, n -= used) {
        const struct metric_desc *desc = entries->family->desc;
        char name[METRIC_NAME_MAX + 16];
        snprintf(name, sizeof name, "%s%s", desc->name, suffixes[desc->type]);
        err = json_object_set_new(values, name, family_value(entries, n, false, &used));
        if (desc->type != METRIC_HISTOGRAM || err)
            continue;
        snprintf(name, sizeof name, "%s_count", desc->name);
        err = json_object_set_new(values, name, family_value(entries, n, true, &used));
    }
    return err ? -ENOMEM : 0;
}

static int append(const char *bytes, size_t n, void *context)
{
    textbuf_add(context, bytes, n);
    return textbuf_finish(context);
}

/* A container of the document: where it stands, and which of the snapshot's it is. */
struct listed {
    size_t rank, container;
};

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->container < y->container ? -1 : x->container > y->container;
}

static int fill_container(const struct containers_listing *listing, size_t rank,
                          const struct labelset *set, const struct container_sample *entries,
                          size_t n, json_t *object)
{
    size_t n_labels;
    const struct label *labels = labelset_labels(set, &n_labels);
    for (size_t i = 0; i < n_labels; i++)
        if (json_object_set_new(object, labels[i].name, json_string(labels[i].value)))
            return -ENOMEM;
    int err = listing->describe ? listing->describe(listing->context, rank, object) : 0;
    json_t *values = json_object();
    if (!err)
        err = values ? add_values(values, entries, n) : -ENOMEM;
    if (!err && json_object_set(object, "values", values))
        err = -ENOMEM;
    json_decref(values);
    return err;
}

static int add_container(const struct containers_listing *listing, const struct listed *listed,
                         const struct container_samples *groups, struct textbuf *out)
{
    size_t at = listed->container, begin = groups->starts[at];
    json_t *object = json_object();
    int err = object
                  ? fill_container(listing, listed->rank, groups->sets[at], groups->sorted + begin,
                                   groups->starts[at + 1] - begin, object)
                  : -ENOMEM;
    if (!err &&
        json_dump_callback(object, append, out, listing->pretty ? JSON_INDENT(2) : JSON_COMPACT))
        err = out->error ? out->error : -ENOMEM;
    json_decref(object);
    return err;
}

static int add_listed(const struct containers_listing *listing,
                      const struct container_samples *groups, struct listed *order,
                      struct textbuf *out)
{
    size_t n = groups->n_containers, end = n;
    int err = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_labels;
        const struct label *labels = labelset_labels(groups->sets[i], &n_labels);
        order[i].rank =
            listing->rank ? listing->rank(listing->context, labels, n_labels) : SIZE_MAX;
        order[i].container = i;
    }
    qsort(order, n, sizeof *order, compare_listed);
    if (listing->limit > 0 && listing->offset < n && listing->limit < n - listing->offset)
        end = listing->offset + listing->limit;
    textbuf_char(out, '[');
    for (size_t i = listing->offset; i < end && !err; i++) {
        if (i > listing->offset)
            textbuf_str(out, listing->pretty ? ",\n" : ",");
        err = add_container(listing, &order[i], groups, out);
    }
    textbuf_char(out, ']');
    return err;
}

int expose_containers_json(const struct snapshot *snapshot,
                           const struct containers_listing *listing, struct textbuf *out,
                           size_t *total)
{
    struct container_samples groups = {0};
    int err = group_samples(&groups, snapshot);
    struct listed *order = err ? NULL : calloc(groups.n_containers + 1, sizeof *order);
    if (!err)
        err = order ? add_listed(listing, &groups, order, out) : -ENOMEM;
    *total = groups.n_containers;
    free(order);
    groups_release(&groups);
    return err ? err : textbuf_finish(out);
}
