#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/store/internal.h"

int snapshot_pool_init(struct snapshot_pool *pool)
{
    return -pthread_mutex_init(&pool->lock, NULL);
}

static void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    free(snapshot->families);
    free(snapshot->samples);
    free(snapshot->histograms);
    free(snapshot);
}

static void free_list(struct snapshot *list)
{
    for (struct snapshot *next; list; list = next) {
        next = list->next;
        snapshot_free(list);
    }
}

void snapshot_pool_release(struct snapshot_pool *pool)
{
    free_list(pool->held);
    free_list(pool->free);
    pthread_mutex_destroy(&pool->lock);
}

/* Takes back an unused snapshot; returns a surplus one, to be freed without the lock. */
static struct snapshot *put_free(struct snapshot_pool *pool, struct snapshot *snapshot)
{
    if (pool->n_free == POOL_SPARE)
        return snapshot;
    snapshot->next = pool->free;
    pool->free = snapshot;
    pool->n_free++;
    return NULL;
}

/* With the lock held. */
static struct snapshot *drop(struct snapshot_pool *pool, struct snapshot *snapshot)
{
    if (--snapshot->refs > 0)
        return NULL;
    struct snapshot **at = &pool->held;
    while (*at != snapshot)
        at = &(*at)->next;
    *at = snapshot->next;
    return put_free(pool, snapshot);
}

struct snapshot *store_acquire(struct store *store)
{
    struct snapshot_pool *pool = &store->pool;
    pthread_mutex_lock(&pool->lock);
    struct snapshot *snapshot = pool->current;
    if (snapshot)
        snapshot->refs++;
    pthread_mutex_unlock(&pool->lock);
    return snapshot;
}

void snapshot_release(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    struct snapshot_pool *pool = &snapshot->store->pool;
    pthread_mutex_lock(&pool->lock);
    struct snapshot *surplus = drop(pool, snapshot);
    pthread_mutex_unlock(&pool->lock);
    snapshot_free(surplus);
}

/* Room for n elements and some growth; shrinks what became four times too large. */
static int resize(void **array, size_t *cap, size_t n, size_t size)
{
    if (*array && n <= *cap && *cap / 4 <= n + 256)
        return 0;
    size_t wanted = n + n / 8 + 16;
    void *larger = reallocarray(*array, wanted, size);
    if (!larger)
        return *array && n <= *cap ? 0 : -ENOMEM;
    *array = larger;
    *cap = wanted;
    return 0;
}

static int snapshot_reserve(struct snapshot *snapshot, const struct store *store)
{
    int err = resize((void **)&snapshot->families, &snapshot->families_cap, store->n_families,
                     sizeof *snapshot->families);
    if (!err)
        err = resize((void **)&snapshot->samples, &snapshot->samples_cap, store->index.n,
                     sizeof *snapshot->samples);
    if (!err)
        err = resize((void **)&snapshot->histograms, &snapshot->histograms_cap,
                     store->histogram_bytes, 1);
    return err;
}

static void copy_histogram(struct sample *sample, const struct series *series, char **histograms)
{
    size_t size = histogram_size(series->family->desc);
    sample->histogram = memcpy(*histograms, series->histogram, size);
    *histograms += size;
}

static size_t copy_family(struct sample *out, const struct family *family, uint64_t wall_ns,
                          char **histograms)
{
    size_t n = 0;
    bool histogram = family->desc->type == METRIC_HISTOGRAM;
    for (struct chunk *chunk = family->first; chunk; chunk = chunk->next) {
        for (size_t i = 0; i < chunk->n; i++) {
            struct series *series = &chunk->series[i];
            if (!series->used)
                continue;
            if (!series->created_wall_ns)
                series->created_wall_ns = wall_ns;
            if (!series->present)
                continue;
            struct sample *sample = &out[n++];
            sample->common = series->common;
            sample->own = series->own ? series->own->text : "";
            sample->own_len = series->own_len;
            sample->created_wall_ns = series->created_wall_ns;
            if (histogram)
                copy_histogram(sample, series, histograms);
            else
                sample->u64 = series->u64; /* either kind of number */
        }
    }
    return n;
}

static void snapshot_fill(struct snapshot *snapshot, const struct store *store,
                          const struct tick *tick)
{
    struct sample *samples = snapshot->samples;
    char *histograms = snapshot->histograms;
    for (size_t i = 0; i < store->n_families; i++) {
        const struct family *family = store->families[i];
        size_t n = copy_family(samples, family, tick->wall_ns, &histograms);
        snapshot->families[i] = (struct snapshot_family){
            .desc = family->desc, .owner = family->owner, .samples = samples, .n = n};
        samples += n;
    }
    snapshot->n_families = store->n_families;
}

static struct snapshot *take_free(struct store *store)
{
    struct snapshot_pool *pool = &store->pool;
    pthread_mutex_lock(&pool->lock);
    struct snapshot *snapshot = pool->free;
    if (snapshot) {
        pool->free = snapshot->next;
        pool->n_free--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!snapshot)
        snapshot = calloc(1, sizeof *snapshot);
    if (snapshot)
        snapshot->store = store;
    return snapshot;
}

/* Makes it the current one; returns the number of the oldest that is still in use. */
static uint64_t make_current(struct snapshot_pool *pool, struct snapshot *snapshot)
{
    struct snapshot *surplus = NULL;
    pthread_mutex_lock(&pool->lock);
    snapshot->refs = 1;
    snapshot->next = pool->held;
    pool->held = snapshot;
    if (pool->current)
        surplus = drop(pool, pool->current);
    pool->current = snapshot;
    uint64_t oldest = snapshot->number;
    for (struct snapshot *held = pool->held; held; held = held->next)
        oldest = held->number < oldest ? held->number : oldest;
    pthread_mutex_unlock(&pool->lock);
    snapshot_free(surplus);
    return oldest;
}

void store_set_origin(struct store *store, const char *source, bool replay_ended)
{
    store->origin.source = source;
    store->origin.replay_ended = replay_ended;
}

int store_publish(struct store *store, const struct tick *tick)
{
    struct snapshot *snapshot = take_free(store);
    if (!snapshot)
        return -ENOMEM;
    int err = snapshot_reserve(snapshot, store);
    if (err) {
        snapshot_free(snapshot);
        return err;
    }
    snapshot_fill(snapshot, store, tick);
    snapshot->number = ++store->published;
    snapshot->origin = store->origin;
    snapshot->origin.tick = *tick;
    store->published_wall_ns = tick->wall_ns;
    uint64_t oldest = make_current(&store->pool, snapshot);
    retired_free(&store->retired, oldest);
    return 0;
}

uint64_t snapshot_number(const struct snapshot *snapshot)
{
    return snapshot->number;
}

const struct snapshot_origin *snapshot_origin(const struct snapshot *snapshot)
{
    return &snapshot->origin;
}

const struct snapshot_family *snapshot_families(const struct snapshot *snapshot, size_t *n)
{
    *n = snapshot->n_families;
    return snapshot->families;
}
