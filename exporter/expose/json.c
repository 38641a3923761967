/*
 * Series by container, as JSON. One container's document is in memory at a time, so that a node
 * with ten thousand of them needs no more than the text.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/expose/page.h"

/* A sample of a container: 'container' is an index by order of appearance. */
struct entry {
    const struct snapshot_family *family;
    const struct sample *sample;
    size_t container;
};

/* Which containers there are: a hash table from labelset to index. */
struct census {
    const struct labelset **slots;
    size_t *index;
    size_t mask;
    struct entry *entries; /* by family */
    size_t n_entries;
    const struct labelset **sets; /* by container */
    size_t *starts;               /* by container, n_containers + 1, into sorted */
    struct entry *sorted;         /* by container, then by family */
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

static size_t find(struct census *census, const struct labelset *set)
{
    size_t at = (size_t)((uintptr_t)set >> 4) * 0x9e3779b1u & census->mask;
    while (census->slots[at] && census->slots[at] != set)
        at = (at + 1) & census->mask;
    return at;
}

static int census_reserve(struct census *census, size_t n_samples)
{
    size_t cap = 16;
    while (cap < 2 * n_samples)
        cap *= 2;
    census->mask = cap - 1;
    census->slots = calloc(cap, sizeof *census->slots);
    census->index = calloc(cap, sizeof *census->index);
    census->entries = calloc(n_samples + 1, sizeof *census->entries);
    census->sorted = calloc(n_samples + 1, sizeof *census->sorted);
    census->sets = calloc(n_samples + 1, sizeof *census->sets);
    census->starts = calloc(n_samples + 2, sizeof *census->starts);
    return census->slots && census->index && census->entries && census->sorted && census->sets &&
                   census->starts
               ? 0
               : -ENOMEM;
}

static void census_release(struct census *census)
{
    free(census->slots);
    free(census->index);
    free(census->entries);
    free(census->sorted);
    free(census->sets);
    free(census->starts);
}

static void count_family(struct census *census, const struct snapshot_family *family)
{
    for (size_t i = 0; i < family->n; i++) {
        const struct labelset *set = family->samples[i].common;
        if (!set)
            continue;
        size_t at = find(census, set);
        if (!census->slots[at]) {
            /* Labelsets that are no container's get no index, and are looked at once. */
            census->slots[at] = set;
            census->index[at] = SIZE_MAX;
            if (is_container(set)) {
                census->index[at] = census->n_containers;
                census->sets[census->n_containers++] = set;
            }
        }
        if (census->index[at] == SIZE_MAX)
            continue;
        census->entries[census->n_entries++] =
            (struct entry){family, &family->samples[i], census->index[at]};
        census->starts[census->index[at] + 1]++;
    }
}

static int census_take(struct census *census, const struct snapshot *snapshot)
{
    size_t n, n_samples = 0;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    for (size_t i = 0; i < n; i++)
        n_samples += families[i].n;
    int err = census_reserve(census, n_samples);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        count_family(census, &families[i]);
    for (size_t i = 0; i < census->n_containers; i++)
        census->starts[i + 1] += census->starts[i];
    for (size_t i = census->n_entries; i-- > 0;) { /* each container's part fills from its end */
        const struct entry *entry = &census->entries[i];
        census->sorted[--census->starts[entry->container + 1]] = *entry;
    }
    /* starts[i + 1] now is where container i begins. */
    memmove(census->starts, census->starts + 1, census->n_containers * sizeof *census->starts);
    census->starts[census->n_containers] = census->n_entries;
    return 0;
}

static json_t *number(const struct entry *entry)
{
    const struct metric_desc *desc = entry->family->desc;
    if (desc->type == METRIC_HISTOGRAM)
        return json_pack("{s:f, s:I}", "sum", entry->sample->histogram.sum, "count",
                         (json_int_t)entry->sample->histogram.count);
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

static bool same_family(const struct entry *entries, size_t n, size_t i)
{
    return i < n && entries[i].family == entries[0].family;
}

/* All of a container's series of one metric; *used says how many there were. */
static json_t *family_value(const struct entry *entries, size_t n, size_t *used)
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

static int add_values(json_t *values, const struct entry *entries, size_t n)
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

static int add_container(const struct labelset *set, const struct entry *entries, size_t n,
                         struct textbuf *out)
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

int expose_containers_json(const struct snapshot *snapshot, struct page **out)
{
    struct census census = {0};
    struct page *page = NULL;
    int err = page_new(NULL, &page);
    if (!err)
        err = census_take(&census, snapshot);
    if (!err) {
        textbuf_str(&page->text, "{\"containers\":[");
        for (size_t i = 0; i < census.n_containers && !err; i++) {
            if (i > 0)
                textbuf_char(&page->text, ',');
            err = add_container(census.sets[i], census.sorted + census.starts[i],
                                census.starts[i + 1] - census.starts[i], &page->text);
        }
        textbuf_str(&page->text, "]}\n");
        if (!err)
            err = textbuf_finish(&page->text);
    }
    census_release(&census);
    if (err) {
        page_unref(page);
        return err;
    }
    page->number = snapshot_number(snapshot);
    *out = page;
    return 0;
}
