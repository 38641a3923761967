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
    free(snapshot->parts);
    free(snapshot->values);
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
        err = resize((void **)&snapshot->parts, &snapshot->parts_cap, store->n_chunks,
                     sizeof *snapshot->parts);
    if (!err)
        err = resize((void **)&snapshot->values, &snapshot->values_cap, store->n_places,
                     sizeof *snapshot->values);
    if (!err)
        err = resize((void **)&snapshot->histograms, &snapshot->histograms_cap,
                     store->histogram_bytes, 1);
    return err;
}

bool snapshot_next(const struct snapshot_family *family, size_t *at, struct sample *out)
{
    for (size_t i = *at; i < family->n_parts * LARGEST_CHUNK; i = (i | 63) + 1) {
        const struct snapshot_part *part = &family->parts[i / LARGEST_CHUNK];
        uint64_t left = part->present[i % LARGEST_CHUNK / 64] >> i % 64;
        if (!left)
            continue;
        i += (size_t)__builtin_ctzll(left);
        const struct identity *identity = &part->identities[i % LARGEST_CHUNK];
        uint64_t created = identity->created_wall_ns;
        *out = (struct sample){.common = identity->common,
                               .own = identity->own ? identity->own : "",
                               .own_len = identity->own_len,
                               .created_wall_ns = created ? created : family->first_wall_ns,
                               .u64 = part->values[i % LARGEST_CHUNK].u64}; /* whichever it is */
        *at = i + 1;
        return true;
    }
    return false;
}

static void copy_histograms(const struct chunk *chunk, union value *values, char **histograms)
{
    size_t size = histogram_size(chunk->family->desc);
    for (size_t i = 0; i < chunk->n; i++) {
        if (!(chunk->present[i / 64] >> i % 64 & 1))
            continue;
        values[i].histogram = memcpy(*histograms, chunk->values[i].histogram, size);
        *histograms += size;
    }
}

static void snapshot_fill(struct snapshot *snapshot, const struct store *store)
{
    struct snapshot_part *part = snapshot->parts;
    union value *values = snapshot->values;
    char *histograms = snapshot->histograms;
    for (size_t i = 0; i < store->n_families; i++) {
        const struct family *family = store->families[i];
        struct snapshot_family *out = &snapshot->families[i];
        *out = (struct snapshot_family){.desc = family->desc,
                                        .owner = family->owner,
                                        .first_wall_ns = store->first_wall_ns,
                                        .parts = part};
        for (const struct chunk *chunk = family->first; chunk; chunk = chunk->next, part++) {
            part->values = values;
            part->identities = chunk->identities;
            memcpy(part->present, chunk->present, sizeof part->present);
            for (size_t word = 0; word < LARGEST_CHUNK / 64; word++)
                out->n += (size_t)__builtin_popcountll(chunk->present[word]);
            if (chunk->type == METRIC_HISTOGRAM)
                copy_histograms(chunk, values, &histograms);
            else
                memcpy(values, chunk->values, chunk->n * sizeof *values);
            values += chunk->n;
        }
        out->n_parts = (size_t)(part - out->parts);
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
    if (store->first_wall_ns == 0)
        store->first_wall_ns = tick->wall_ns;
    snapshot_fill(snapshot, store);
    snapshot->number = ++store->published;
    snapshot->origin = store->origin;
    snapshot->origin.tick = *tick;
    store->published_wall_ns = tick->wall_ns;
    uint64_t oldest = make_current(&store->pool, snapshot);
    series_recycle(store, oldest);
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
