/*
 * Families and series: staged by the loop's thread, then published as one consistent snapshot.
 *
 * Numbers are kept here; labels are rendered once, when a series is made. Setting values touches
 * memory only. Publishing in a steady state (no series came or went) allocates nothing. Readers
 * take a snapshot and never wait for the writer, nor does the writer wait for them. All functions
 * are for the loop's thread, except those of a snapshot.
 */
#ifndef IE_STORE_STORE_H
#define IE_STORE_STORE_H

#include <stdbool.h>

#include "exporter/base/clock.h"
#include "exporter/store/histogram.h"
#include "exporter/store/labels.h"
#include "exporter/store/metric.h"

/* Labels rendered once (namespace="a",pod="b") and shared by all series of a container. References
 * are counted; published snapshots keep alive what they need. A labelset belongs to the first store
 * whose series uses it. new: -EINVAL for a bad name, see labels.h; -ENOMEM. */
struct labelset;
int labelset_new(const struct label *labels, size_t n, struct labelset **out);
struct labelset *labelset_ref(struct labelset *set);
void labelset_unref(struct labelset *set);
/* How many series use it and would be in the exposition now: present, and no notes. */
size_t labelset_shown(const struct labelset *set);

struct store;
struct family;
struct series;

int store_new(struct store **out);
/* Frees all series as well. Every snapshot must have been released. */
void store_free(struct store *store);

/*
 * Registers a family; its series appear in this order of families. 'owner' is the collector's name
 * for collect[] (constant string), or NULL for the exporter's own, which are always served.
 * -EEXIST when a name of its samples is taken (foo_total by the counter foo and by a gauge
 * foo_total), -EINVAL unless metric_valid(). 'desc' must outlive the store.
 */
int store_family(struct store *store, const struct metric_desc *desc, const char *owner,
                 struct family **out);

/*
 * A new series; no value yet (absent) for gauges and info, 0 for counters, no observations for
 * histograms. common (may be NULL) is shared and referenced; 'own' labels are copied.
 * -EEXIST when the family has a series with these labels in any order, -EINVAL for a bad or
 * repeated label name or a labelset of another store; -ENOMEM.
 */
int series_new(struct family *family, struct labelset *common, const struct label *own,
               size_t n_own, struct series **out);
/* Accepts NULL. */
void series_free(struct series *series);

/* u64 for METRIC_U64 families, double for METRIC_DOUBLE; the other kind is converted. set makes the
 * series present. An info's value is always shown as 1. Not finite: a gauge becomes absent, a
 * counter keeps its value. */
void series_set_u64(struct series *series, uint64_t value);
void series_set(struct series *series, double value);
void series_add_u64(struct series *series, uint64_t value);
void series_add(struct series *series, double value);
/* Absent until the next set: never zero, never a stale number. Counters and histograms continue
 * from where they were. */
void series_clear(struct series *series);
/* Sets it where there is a value ('present'), clears it otherwise. */
void series_show(struct series *series, bool present, double value);
void series_show_u64(struct series *series, bool present, uint64_t value);
/* One observation of a histogram; ignored unless finite and not negative. */
void series_observe(struct series *series, double value);

bool series_present(const struct series *series);
/* The staged value, for tests; of a histogram its count, and its sum. */
uint64_t series_u64(const struct series *series);
double series_double(const struct series *series);

/* Its values under other common labels, or equal ones, as a new series, in its place. -EEXIST
 * (another series has these), -ENOMEM: unchanged. */
int series_relabel(struct series **series, struct labelset *common);

/* Where what is published from now on comes from; the text is static. Until then "" and false. */
void store_set_origin(struct store *store, const char *source, bool replay_ended);

/* Makes the staged state the current snapshot. 0, or -ENOMEM: the earlier snapshot stays. */
int store_publish(struct store *store, const struct tick *tick);

/*
 * Snapshots: immutable, from any thread. acquire returns NULL before the first publication.
 */
struct snapshot;
struct snapshot *store_acquire(struct store *store);
void snapshot_release(struct snapshot *snapshot);

struct snapshot_origin {
    const char *source; /* "perf", "replay", ... */
    bool replay_ended;  /* nothing new will come */
    struct tick tick;   /* with which it was published */
};
const struct snapshot_origin *snapshot_origin(const struct snapshot *snapshot);

struct sample {
    const struct labelset *common; /* or NULL */
    const char *own;               /* rendered own labels, or "" */
    size_t own_len;
    uint64_t created_wall_ns; /* of the last tick published before the series was made (the first
                                 that had a time, if it was made earlier): for _created */
    union {
        uint64_t u64;
        double number;
        const struct histogram *histogram;
    };
};

struct snapshot_family {
    const struct metric_desc *desc;
    const char *owner;
    size_t n;               /* samples, of what is present */
    uint64_t first_wall_ns; /* the first time published, 0: none yet: of what was made earlier */
    const struct snapshot_part *parts;
    size_t n_parts;
};

/* The sample at *at, 0 at first, or behind; *at is behind it then. False: there is none. */
bool snapshot_next(const struct snapshot_family *family, size_t *at, struct sample *out);

uint64_t snapshot_number(const struct snapshot *snapshot); /* 1 for the first publication */
const struct snapshot_family *snapshot_families(const struct snapshot *snapshot, size_t *n);

const char *labelset_text(const struct labelset *set, size_t *len);
/* The labels as they were given, for JSON. */
const struct label *labelset_labels(const struct labelset *set, size_t *n);

#endif
