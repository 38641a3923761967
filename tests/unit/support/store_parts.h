/*
 * A store's parts for tests, each made in one line. If a part cannot be made, the test fails.
 */
#ifndef IE_TESTS_STORE_PARTS_H
#define IE_TESTS_STORE_PARTS_H

#include "exporter/store/store.h"

/* A counter of whole ones, one of seconds, a gauge, and a histogram with the edges 1, 2 and 5. */
extern const struct metric_desc reads, wait, latency, window;

struct store *new_store(void);
/* Without owner. */
struct family *add_family(struct store *store, const struct metric_desc *desc);
/* With one label of its own, or none where 'name' is NULL. */
struct series *add_series(struct family *family, struct labelset *set, const char *name,
                          const char *value);
/* namespace="" and this container. */
struct labelset *new_set(const char *container);
/* Publishes as this tick, at that many microseconds, and acquires. */
struct snapshot *publish(struct store *store, uint64_t number);
const struct snapshot_family *family_at(const struct snapshot *snapshot, size_t i);
/* The kth of the family's. */
struct sample sample_at(const struct snapshot *snapshot, size_t i, size_t k);

#endif
