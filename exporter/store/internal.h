/*
 * The store's own view of itself; for the files of this folder only.
 *
 * Series live in chunks of their family and never move, so that a handle stays good and a walk
 * over a family is a walk through memory. One index over all series refuses duplicates. What a
 * removed series leaves behind (its own labels, its reference to a labelset) is retired, and freed
 * once no snapshot that could show it is alive. The index, the chunks and what is retired belong to
 * the loop's thread; only the pool of snapshots is shared.
 */
#ifndef IE_STORE_INTERNAL_H
#define IE_STORE_INTERNAL_H

#include <pthread.h>

#include "exporter/base/hash_table.h"
#include "exporter/store/labels.h"
#include "exporter/store/store.h"

struct own_labels {
    struct own_labels *next; /* among the retired */
    uint64_t retired_at;
    size_t len;
    char text[];
};

/* What setting touches comes first: it is in one line of the cache, for three of four series. */
struct series {
    struct family *family;
    union {
        uint64_t u64;
        double number;
        struct histogram *histogram;
    };
    bool used, present;
    uint32_t own_len; /* of own; here, so that publishing need not look there */
    union {
        struct labelset *common;
        struct series *next_free;
    };
    struct own_labels *own;   /* NULL: none */
    uint64_t created_wall_ns; /* 0: at the next publication */
};

struct chunk {
    struct chunk *next;
    size_t n;
    struct series series[];
};

struct family {
    struct store *store;
    const struct metric_desc *desc;
    const char *owner;
    uint64_t salt; /* sets its series' hashes apart */
    size_t n_used;
    size_t next_chunk; /* series in the next chunk */
    struct chunk *first, *last;
    struct series *free;
};

struct labelset {
    size_t refs;
    size_t shown;              /* see labelset_shown */
    const struct store *store; /* the only store it may be used in; NULL: not yet used */
    uint64_t hash;             /* with that store's seed */
    struct label *labels;
    size_t n;
    const char *text;
    size_t len;
    /* While retired: references that removed series still hold. */
    struct labelset *previous, *next;
    uint64_t retired_at;
    size_t retired_refs;
    char bytes[];
};

/* Both lists in order of time. */
struct retired {
    struct own_labels *own_first, *own_last;
    struct labelset *set_first, *set_last;
};

struct snapshot {
    struct store *store;
    size_t refs; /* under the pool's lock */
    uint64_t number;
    struct snapshot_origin origin;
    struct snapshot_family *families;
    size_t families_cap, n_families;
    struct sample *samples;
    size_t samples_cap;
    char *histograms; /* one after another */
    size_t histograms_cap;
    struct snapshot *next; /* in the pool's list of all, or of free ones */
};

/* At most this many unused snapshots are kept: one for the next publication, one for the time in
 * which a reader still holds the last but one. */
enum { POOL_SPARE = 2 };

struct snapshot_pool {
    pthread_mutex_t lock; /* never held while numbers are copied */
    struct snapshot *current;
    struct snapshot *held; /* those with references, the current one included */
    struct snapshot *free;
    size_t n_free;
};

struct store {
    uint64_t seed;
    struct family **families;
    size_t n_families, families_cap;
    struct hash_table index; /* of all series */
    size_t histogram_bytes;  /* of all series */
    uint64_t published;
    uint64_t published_wall_ns;
    struct snapshot_origin origin; /* without the tick */
    struct retired retired;
    struct snapshot_pool pool;
};

int snapshot_pool_init(struct snapshot_pool *pool);
void snapshot_pool_release(struct snapshot_pool *pool);

/* 'now' is the number of publications so far. */
void retired_add_own(struct retired *retired, struct own_labels *own, uint64_t now);
/* Takes over one reference. */
void retired_add_set(struct retired *retired, struct labelset *set, uint64_t now);
/* Frees what was retired before publication 'oldest'. */
void retired_free(struct retired *retired, uint64_t oldest);

#endif
