/*
 * The container table, with a model of its consumers: what they would know from the diffs alone is
 * held against the table at every look, and no two containers that have series share their labels.
 */
#ifndef IE_TESTS_OBSERVED_TABLE_H
#define IE_TESTS_OBSERVED_TABLE_H

#include "exporter/containers/table/table.h"
#include "tests/unit/support/fixture.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

enum { OBSERVED_SLOTS = 4096 };

struct observed_table {
    struct container_table *table;
    size_t forgotten, added, named, renamed, ended; /* of the last diff */
    struct observed_slot {
        const struct container *c;
        uint32_t gen;
        bool named, ended;
        char labels[1024];
    } slots[OBSERVED_SLOTS];
};

/* 512 containers, 2048 lingering ones for two minutes, two seconds of patience, no filters. */
extern const struct container_limits observed_limits;

/* log: NULL: none. */
struct observed_table *observed_table_new(const struct container_limits *limits,
                                          const struct log *log);
void observed_table_free(struct observed_table *f);
/* For cmocka: a table with the usual limits in *state. */
int observed_table_setup(void **state);
int observed_table_teardown(void **state);
#define TABLE_TEST(name)                                                                           \
    TEST_ON(name, struct observed_table *f, observed_table_setup, observed_table_teardown)

/* Takes the diff and checks it. */
void observed_look(struct observed_table *f);

#define assert_diff(t, f, a, n, r, e)                                                              \
    do {                                                                                           \
        assert_int_equal((t)->forgotten, f);                                                       \
        assert_int_equal((t)->added, a);                                                           \
        assert_int_equal((t)->named, n);                                                           \
        assert_int_equal((t)->renamed, r);                                                         \
        assert_int_equal((t)->ended, e);                                                           \
    } while (0)

#define assert_counts(t, m, l, x, o)                                                               \
    do {                                                                                           \
        assert_int_equal(container_table_count((t)->table, CONTAINERS_MONITORED), m);              \
        assert_int_equal(container_table_count((t)->table, CONTAINERS_LINGERING), l);              \
        assert_int_equal(container_table_count((t)->table, CONTAINERS_EXCLUDED), x);               \
        assert_int_equal(container_table_count((t)->table, CONTAINERS_OVER_LIMIT), o);             \
    } while (0)

/* The names are final; namespace "shop", the same id and cgroup for all. */
uint64_t observed_add_named(struct observed_table *f, const char *path, const char *pod,
                            const char *name, uint64_t now);
/* The same in pod "p", each in a cgroup of its own. */
uint64_t observed_add_in_cgroup(struct observed_table *f, const char *path, uint64_t cgroup_id,
                                const char *name, uint64_t now);
uint64_t observed_add_unresolved(struct observed_table *f, const char *path, const char *id,
                                 uint64_t now);
int observed_rename(struct observed_table *f, uint64_t handle, const char *pod, const char *name,
                    uint64_t now);
/* The only one with a slot that has this path; NULL: none. */
struct container *observed_find(struct observed_table *f, const char *path);
/* The loop's tick: what ended is read for the last time. */
void observed_read_all(struct observed_table *f);

/* Stands for discovery behind the table's hooks. The owner of every container, too. */
struct opener {
    int answer; /* 0: a real descriptor */
    int calls, held, dropped;
};
void opener_install(struct opener *opener, struct container_table *table);

#endif
