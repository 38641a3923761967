#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/store/internal.h"

enum { LARGEST_CHUNK = 256 };

static int family_reserve(struct family *family)
{
    if (family->free)
        return 0;
    size_t n = family->next_chunk;
    struct chunk *chunk = calloc(1, sizeof *chunk + n * sizeof *chunk->series);
    if (!chunk)
        return -ENOMEM;
    chunk->n = n;
    for (size_t i = n; i-- > 0;) {
        chunk->series[i].family = family;
        chunk->series[i].next_free = family->free;
        family->free = &chunk->series[i];
    }
    if (family->last)
        family->last->next = chunk;
    else
        family->first = chunk;
    family->last = chunk;
    family->next_chunk = n * 2 < LARGEST_CHUNK ? n * 2 : LARGEST_CHUNK;
    return 0;
}

static int own_labels_new(const struct label *labels, size_t n, struct own_labels **out)
{
    *out = NULL;
    if (n == 0)
        return 0;
    struct textbuf text = TEXTBUF_INIT;
    int err = labels_render(labels, n, &text);
    if (!err) {
        struct own_labels *own = malloc(sizeof *own + text.len + 1);
        if (own) {
            *own = (struct own_labels){.len = text.len};
            memcpy(own->text, text.data, text.len + 1);
            *out = own;
        } else {
            err = -ENOMEM;
        }
    }
    textbuf_release(&text);
    return err;
}

/* Both parts of a series' labels; either may be NULL. */
static struct label_text labels_of(const struct labelset *common, const struct own_labels *own)
{
    return (struct label_text){{common ? common->text : "", own ? own->text : ""},
                               {common ? common->len : 0, own ? own->len : 0}};
}

/* 'common' belongs to the family's store. */
static uint64_t hash_of(const struct family *family, const struct labelset *common,
                        const struct own_labels *own)
{
    uint64_t sum = labels_hash(own ? own->text : "", own ? own->len : 0, family->store->seed);
    return labels_mix(family->salt, sum + (common ? common->hash : 0));
}

static const struct series *find(const struct family *family, uint64_t hash,
                                 const struct label_text *labels)
{
    const struct series *series;
    size_t at = 0;
    while ((series = hash_table_next(&family->store->index, hash, &at))) {
        struct label_text other = labels_of(series->common, series->own);
        if (series->family == family && labels_equal(labels, &other))
            break;
    }
    return series;
}

/* A labelset's hash is made when a store first uses it. */
static int bind_set(struct store *store, struct labelset *set)
{
    if (!set || set->store == store)
        return 0;
    if (set->store)
        return -EINVAL;
    set->store = store;
    set->hash = labels_hash(set->text, set->len, store->seed);
    return 0;
}

static int check(struct family *family, struct labelset *common, const struct own_labels *own,
                 uint64_t *hash)
{
    struct store *store = family->store;
    struct label_text labels = labels_of(common, own);
    int err = bind_set(store, common);
    if (err)
        return err;
    if (labels_clash(&labels))
        return -EINVAL;
    *hash = hash_of(family, common, own);
    return find(family, *hash, &labels) ? -EEXIST : 0;
}

/* To be called with +1 or -1 around everything that shows or hides a series. */
static void count_shown(const struct series *series, int change)
{
    if (series->present && series->common && series->family->desc->type != METRIC_NOTE)
        series->common->shown += (size_t)change;
}

static void set_present(struct series *series, bool present)
{
    if (series->present == present)
        return;
    count_shown(series, -1);
    series->present = present;
    count_shown(series, +1);
}

static int value_init(const struct family *family, struct series *series)
{
    const struct metric_desc *desc = family->desc;
    series->present = desc->type == METRIC_COUNTER || desc->type == METRIC_HISTOGRAM;
    if (desc->type != METRIC_HISTOGRAM) {
        if (desc->number == METRIC_DOUBLE)
            series->number = 0;
        return 0;
    }
    series->histogram = calloc(1, histogram_size(desc));
    if (!series->histogram)
        return -ENOMEM;
    histogram_init(series->histogram, desc);
    return 0;
}

int series_new(struct family *family, struct labelset *common, const struct label *own,
               size_t n_own, struct series **out)
{
    struct store *store = family->store;
    struct own_labels *own_labels = NULL;
    uint64_t hash = 0;
    int err = own_labels_new(own, n_own, &own_labels);
    if (!err)
        err = check(family, common, own_labels, &hash);
    if (!err)
        err = hash_table_reserve(&store->index, store->index.n + 1);
    if (!err)
        err = family_reserve(family);
    struct series value = {0};
    if (!err)
        err = value_init(family, &value);
    if (err) {
        free(own_labels);
        return err;
    }
    struct series *series = family->free;
    family->free = series->next_free;
    *series = value;
    series->family = family;
    series->common = common;
    series->own = own_labels;
    series->own_len = own_labels ? (uint32_t)own_labels->len : 0;
    series->created_wall_ns = store->published_wall_ns;
    series->used = true;
    if (common)
        labelset_ref(common);
    count_shown(series, +1);
    family->n_used++;
    if (family->desc->type == METRIC_HISTOGRAM)
        store->histogram_bytes += histogram_size(family->desc);
    hash_table_insert(&store->index, hash, series);
    *out = series;
    return 0;
}

void series_free(struct series *series)
{
    if (!series)
        return;
    struct family *family = series->family;
    struct store *store = family->store;
    hash_table_remove(&store->index, hash_of(series->family, series->common, series->own), series);
    retired_add_own(&store->retired, series->own, store->published);
    count_shown(series, -1);
    retired_add_set(&store->retired, series->common, store->published);
    if (family->desc->type == METRIC_HISTOGRAM) {
        store->histogram_bytes -= histogram_size(family->desc);
        free(series->histogram);
    }
    *series = (struct series){.family = family, .next_free = family->free};
    family->free = series;
    family->n_used--;
}

int series_relabel(struct series *series, struct labelset *common)
{
    struct store *store = series->family->store;
    uint64_t hash;
    int err = check(series->family, common, series->own, &hash);
    if (err)
        return err;
    hash_table_remove(&store->index, hash_of(series->family, series->common, series->own), series);
    count_shown(series, -1);
    retired_add_set(&store->retired, series->common, store->published);
    if (common)
        labelset_ref(common);
    series->common = common;
    count_shown(series, +1);
    /* One was just taken out, so there is room. */
    hash_table_insert(&store->index, hash, series);
    return 0;
}

static uint64_t to_u64(double value)
{
    return value <= 0 ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

static bool is_double(const struct series *series)
{
    return series->family->desc->number == METRIC_DOUBLE;
}

void series_set_u64(struct series *series, uint64_t value)
{
    if (series->family->desc->type == METRIC_HISTOGRAM)
        return;
    if (is_double(series))
        series->number = (double)value;
    else
        series->u64 = value;
    set_present(series, true);
}

void series_set(struct series *series, double value)
{
    enum metric_type type = series->family->desc->type;
    if (type == METRIC_HISTOGRAM)
        return;
    if (!isfinite(value)) {
        if (type != METRIC_COUNTER)
            series_clear(series);
        return;
    }
    if (is_double(series))
        series->number = value;
    else
        series->u64 = to_u64(value);
    set_present(series, true);
}

void series_add_u64(struct series *series, uint64_t value)
{
    if (is_double(series))
        series_set(series, series->number + (double)value);
    else
        series_set_u64(series, series->u64 + value);
}

void series_add(struct series *series, double value)
{
    if (series->family->desc->type != METRIC_HISTOGRAM)
        series_set(series, series_double(series) + value);
}

void series_clear(struct series *series)
{
    enum metric_type type = series->family->desc->type;
    set_present(series, false);
    if (type == METRIC_COUNTER || type == METRIC_HISTOGRAM)
        return; /* they continue where they were */
    if (is_double(series))
        series->number = 0;
    else
        series->u64 = 0;
}

void series_show(struct series *series, bool present, double value)
{
    if (present)
        series_set(series, value);
    else
        series_clear(series);
}

void series_show_u64(struct series *series, bool present, uint64_t value)
{
    if (present)
        series_set_u64(series, value);
    else
        series_clear(series);
}

void series_observe(struct series *series, double value)
{
    const struct metric_desc *desc = series->family->desc;
    if (desc->type == METRIC_HISTOGRAM && histogram_observe(series->histogram, desc, value))
        set_present(series, true);
}

bool series_present(const struct series *series)
{
    return series->present;
}

uint64_t series_u64(const struct series *series)
{
    if (series->family->desc->type == METRIC_HISTOGRAM)
        return series->histogram->count;
    return is_double(series) ? to_u64(series->number) : series->u64;
}

double series_double(const struct series *series)
{
    if (series->family->desc->type == METRIC_HISTOGRAM)
        return series->histogram->sum;
    return is_double(series) ? series->number : (double)series->u64;
}
