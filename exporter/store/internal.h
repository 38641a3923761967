/*
 * The store's own view of itself; for the files of this folder only.
 *
 * What a tick writes, the values, stands apart from what it does not, the identities: in chunks of
 * their family, which never move, so that a handle stays good, and a snapshot copies the values of
 * a chunk at once and borrows its identities. Therefore the identity of a removed series stays as
 * it is until no snapshot that could show it is alive; only then is its place free for another. One
 * index over all series refuses duplicates. The index, the chunks and what is retired belong to the
 * loop's thread; only the pool of snapshots is shared, and, to be read, the identities.
 */
#ifndef IE_STORE_INTERNAL_H
#define IE_STORE_INTERNAL_H

#include <pthread.h>

#include "exporter/base/hash_table.h"
#include "exporter/store/labels.h"
#include "exporter/store/store.h"

/* A handle: which of its chunk it is, whose other arrays have it at the same place. */
struct series {
    uint8_t at;
};

enum { LARGEST_CHUNK = 256 };

struct identity {
    struct labelset *common; /* NULL: none */
    char *own;               /* rendered; NULL: none */
    uint32_t own_len;
    uint64_t created_wall_ns; /* 0: before any time was published */
    uint64_t retired_at;
    struct series *next; /* among the retired, or the free */
};

union value {
    uint64_t u64;
    double number;
    struct histogram *histogram;
};

/* What setting touches comes first. A bit of 'present' is 0 where there is no value; a gauge's is 0
 * then. */
struct chunk {
    uint64_t present[LARGEST_CHUNK / 64];
    union value *values;
    uint32_t n;
    uint8_t type, number; /* of the family's metric */
    struct identity *identities;
    struct family *family;
    struct chunk *next;
    struct series series[];
};

/* A chunk as it was published. */
struct snapshot_part {
    uint64_t present[LARGEST_CHUNK / 64];
    const union value *values;
    const struct identity *identities;
};

struct family {
    struct store *store;
    const struct metric_desc *desc;
    const char *owner;
    uint64_t salt;     /* sets its series' hashes apart */
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
    char bytes[];
};

struct snapshot {
    struct store *store;
    size_t refs; /* under the pool's lock */
    uint64_t number;
    struct snapshot_origin origin;
    struct snapshot_family *families;
    size_t families_cap, n_families;
    struct snapshot_part *parts; /* by family */
    size_t parts_cap;
    union value *values; /* by part */
    size_t values_cap;
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
    size_t n_chunks, n_places;
    size_t histogram_bytes; /* of all series */
    uint64_t published;
    uint64_t published_wall_ns;                  /* of the last */
    uint64_t first_wall_ns;                      /* of the first with a time */
    struct snapshot_origin origin;               /* without the tick */
    struct series *retired_first, *retired_last; /* in order of time */
    struct snapshot_pool pool;
};

int snapshot_pool_init(struct snapshot_pool *pool);
void snapshot_pool_release(struct snapshot_pool *pool);

/* Frees what is left of series that were freed before publication 'oldest', and their places. */
void series_recycle(struct store *store, uint64_t oldest);

#endif
