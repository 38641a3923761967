#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/store/internal.h"

static struct chunk *chunk_of(const struct series *series)
{
    return (void *)((uintptr_t)(series - series->at) - offsetof(struct chunk, series));
}

static struct identity *identity_of(const struct series *series)
{
    return &chunk_of(series)->identities[series->at];
}

static union value *value_of(const struct series *series)
{
    return &chunk_of(series)->values[series->at];
}

/* Its place is free. */
static void give(struct family *family, struct series *series)
{
    *identity_of(series) = (struct identity){.next = family->free};
    family->free = series;
}

static int family_reserve(struct family *family)
{
    if (family->free)
        return 0;
    size_t n = family->next_chunk, handles = (n + 7) / 8 * 8;
    struct chunk *chunk = calloc(1, sizeof *chunk + handles +
                                        n * (sizeof *chunk->values + sizeof *chunk->identities));
    if (!chunk)
        return -ENOMEM;
    chunk->values = (void *)(chunk->series + handles);
    chunk->identities = (void *)(chunk->values + n);
    chunk->n = (uint32_t)n;
    chunk->type = (uint8_t)family->desc->type;
    chunk->number = (uint8_t)family->desc->number;
    chunk->family = family;
    for (size_t i = n; i-- > 0;) {
        chunk->series[i].at = (uint8_t)i;
        give(family, &chunk->series[i]);
    }
    if (family->last)
        family->last->next = chunk;
    else
        family->first = chunk;
    family->last = chunk;
    family->store->n_chunks++;
    family->store->n_places += n;
    family->next_chunk = n * 2 < LARGEST_CHUNK ? n * 2 : LARGEST_CHUNK;
    return 0;
}

static int render_own(const struct label *labels, size_t n, struct identity *out)
{
    if (n == 0)
        return 0;
    struct textbuf text = TEXTBUF_INIT;
    int err = labels_render(labels, n, &text);
    out->own = err ? NULL : strndup(text.data, text.len);
    out->own_len = (uint32_t)text.len;
    textbuf_release(&text);
    return err || out->own ? err : -ENOMEM;
}

static struct label_text labels_of(const struct identity *identity)
{
    const struct labelset *common = identity->common;
    return (struct label_text){{common ? common->text : "", identity->own ? identity->own : ""},
                               {common ? common->len : 0, identity->own_len}};
}

/* 'common' belongs to the family's store. */
static uint64_t hash_of(const struct family *family, const struct identity *identity)
{
    struct label_text labels = labels_of(identity);
    uint64_t sum = labels_hash(labels.text[1], labels.len[1], family->store->seed);
    return labels_mix(family->salt, sum + (identity->common ? identity->common->hash : 0));
}

static bool exists(const struct family *family, uint64_t hash, const struct label_text *labels,
                   const struct series *except)
{
    const struct series *series;
    size_t at = 0;
    while ((series = hash_table_next(&family->store->index, hash, &at))) {
        struct label_text other = labels_of(identity_of(series));
        if (series != except && chunk_of(series)->family == family && labels_equal(labels, &other))
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

static int check(struct family *family, const struct identity *identity,
                 const struct series *except, uint64_t *hash)
{
    struct label_text labels = labels_of(identity);
    int err = bind_set(family->store, identity->common);
    if (err)
        return err;
    if (labels_clash(&labels))
        return -EINVAL;
    *hash = hash_of(family, identity);
    return exists(family, *hash, &labels, except) ? -EEXIST : 0;
}

static bool is_present(const struct chunk *chunk, const struct series *series)
{
    return chunk->present[series->at / 64] >> series->at % 64 & 1;
}

static void set_present(struct series *series, bool present)
{
    struct chunk *chunk = chunk_of(series);
    if (is_present(chunk, series) == present)
        return;
    chunk->present[series->at / 64] ^= UINT64_C(1) << series->at % 64;
    struct labelset *common = identity_of(series)->common;
    if (common && chunk->type != METRIC_NOTE)
        common->shown = present ? common->shown + 1 : common->shown - 1;
}

/* Takes over the identity's own labels; without value. On failure they are freed. Only of 'except',
 * which may be NULL, it may have the labels. */
static int put(struct family *family, struct identity *identity, const struct series *except,
               struct series **out)
{
    struct store *store = family->store;
    uint64_t hash = 0;
    int err = check(family, identity, except, &hash);
    if (!err)
        err = hash_table_reserve(&store->index, store->index.n + 1);
    if (!err)
        err = family_reserve(family);
    if (err) {
        free(identity->own);
        return err;
    }
    struct series *series = family->free;
    family->free = identity_of(series)->next;
    *identity_of(series) = *identity;
    if (identity->common)
        labelset_ref(identity->common);
    hash_table_insert(&store->index, hash, series);
    *out = series;
    return 0;
}

/* Without value from now on; its labels stay until nobody sees them. */
static void retire(struct series *series)
{
    struct family *family = chunk_of(series)->family;
    struct store *store = family->store;
    struct identity *identity = identity_of(series);
    hash_table_remove(&store->index, hash_of(family, identity), series);
    set_present(series, false);
    value_of(series)->u64 = 0;
    identity->retired_at = store->published;
    if (store->retired_last)
        identity_of(store->retired_last)->next = series;
    else
        store->retired_first = series;
    store->retired_last = series;
}

int series_new(struct family *family, struct labelset *common, const struct label *own,
               size_t n_own, struct series **out)
{
    const struct metric_desc *desc = family->desc;
    struct identity identity = {.common = common,
                                .created_wall_ns = family->store->published_wall_ns};
    struct histogram *histogram = NULL;
    struct series *series;
    int err = render_own(own, n_own, &identity);
    if (!err)
        err = put(family, &identity, NULL, &series);
    if (err)
        return err;
    if (desc->type == METRIC_HISTOGRAM && !(histogram = calloc(1, histogram_size(desc)))) {
        retire(series);
        return -ENOMEM;
    }
    if (histogram) {
        histogram_init(histogram, desc);
        value_of(series)->histogram = histogram;
        family->store->histogram_bytes += histogram_size(desc);
    }
    set_present(series, desc->type == METRIC_COUNTER || desc->type == METRIC_HISTOGRAM);
    *out = series;
    return 0;
}

void series_recycle(struct store *store, uint64_t oldest)
{
    struct series *series;
    while ((series = store->retired_first) && identity_of(series)->retired_at < oldest) {
        struct identity *identity = identity_of(series);
        store->retired_first = identity->next;
        if (!identity->next)
            store->retired_last = NULL;
        labelset_unref(identity->common);
        free(identity->own);
        give(chunk_of(series)->family, series);
    }
}

void series_free(struct series *series)
{
    if (!series)
        return;
    const struct chunk *chunk = chunk_of(series);
    if (chunk->type == METRIC_HISTOGRAM) {
        chunk->family->store->histogram_bytes -= histogram_size(chunk->family->desc);
        free(value_of(series)->histogram);
    }
    retire(series);
}

int series_relabel(struct series **series, struct labelset *common)
{
    struct chunk *chunk = chunk_of(*series);
    const struct identity *before = identity_of(*series);
    struct identity identity = {.common = common,
                                .own = before->own ? strdup(before->own) : NULL,
                                .own_len = before->own_len,
                                .created_wall_ns = before->created_wall_ns};
    struct series *after;
    if (before->own && !identity.own)
        return -ENOMEM;
    int err = put(chunk->family, &identity, *series, &after);
    if (err)
        return err;
    *value_of(after) = *value_of(*series);
    set_present(after, is_present(chunk, *series));
    retire(*series);
    *series = after;
    return 0;
}

static uint64_t to_u64(double value)
{
    return value <= 0 ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

void series_set_u64(struct series *series, uint64_t value)
{
    const struct chunk *chunk = chunk_of(series);
    if (chunk->type == METRIC_HISTOGRAM)
        return;
    if (chunk->number == METRIC_DOUBLE)
        value_of(series)->number = (double)value;
    else
        value_of(series)->u64 = value;
    set_present(series, true);
}

void series_set(struct series *series, double value)
{
    const struct chunk *chunk = chunk_of(series);
    if (chunk->type == METRIC_HISTOGRAM)
        return;
    if (!isfinite(value)) {
        if (chunk->type != METRIC_COUNTER)
            series_clear(series);
        return;
    }
    if (chunk->number == METRIC_DOUBLE)
        value_of(series)->number = value;
    else
        value_of(series)->u64 = to_u64(value);
    set_present(series, true);
}

void series_add_u64(struct series *series, uint64_t value)
{
    if (chunk_of(series)->number == METRIC_DOUBLE)
        series_set(series, value_of(series)->number + (double)value);
    else
        series_set_u64(series, value_of(series)->u64 + value);
}

void series_add(struct series *series, double value)
{
    if (chunk_of(series)->type != METRIC_HISTOGRAM)
        series_set(series, series_double(series) + value);
}

void series_clear(struct series *series)
{
    const struct chunk *chunk = chunk_of(series);
    if (!is_present(chunk, series))
        return;
    set_present(series, false);
    if (chunk->type != METRIC_COUNTER && chunk->type != METRIC_HISTOGRAM)
        value_of(series)->u64 = 0; /* the others continue where they were; 0.0 is this, too */
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
    const struct metric_desc *desc = chunk_of(series)->family->desc;
    if (desc->type == METRIC_HISTOGRAM &&
        histogram_observe(value_of(series)->histogram, desc, value))
        set_present(series, true);
}

bool series_present(const struct series *series)
{
    return is_present(chunk_of(series), series);
}

uint64_t series_u64(const struct series *series)
{
    const struct chunk *chunk = chunk_of(series);
    const union value *value = value_of(series);
    if (chunk->type == METRIC_HISTOGRAM)
        return value->histogram->count;
    return chunk->number == METRIC_DOUBLE ? to_u64(value->number) : value->u64;
}

double series_double(const struct series *series)
{
    const struct chunk *chunk = chunk_of(series);
    const union value *value = value_of(series);
    if (chunk->type == METRIC_HISTOGRAM)
        return value->histogram->sum;
    return chunk->number == METRIC_DOUBLE ? value->number : (double)value->u64;
}
