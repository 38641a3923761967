/*
 * A source with arbitrary totals that are the same in every run: for tests that compare readings
 * with a recording.
 */
#ifndef IE_TESTS_WANDERER_H
#define IE_TESTS_WANDERER_H

#include "exporter/source/source_set.h"

enum { WANDERER_CPUS = 4, WANDERER_MAX_OPEN = 16 };

struct wanderer {
    struct source source;
    enum group group[WANDERER_MAX_OPEN];
    size_t opened, cpus;
    uint64_t tick;
    bool frozen; /* the totals stand still, every read has a reading */
};

extern const struct source_ops wanderer_ops;
struct source *wanderer_new(void);

/* A set that asks this one source for everything; each fails the running cmocka test. */
struct source_set *set_over(struct source *source);
group_handle open_key(struct source_set *set, enum scope_kind kind, const char *key,
                      enum group group);

#endif
