/*
 * The slot table: which containers are counted, which wait, which linger.
 *
 * Fed by discovery (live) or by a recording (replay); knows the limits and the filters. Time comes
 * in as arguments, so that replay and tests are deterministic. Loop thread only.
 */
#ifndef IE_CONTAINERS_TABLE_H
#define IE_CONTAINERS_TABLE_H

#include "exporter/base/log.h"
#include "exporter/containers/container.h"

struct container_limits {
    const char
        *include; /* POSIX extended regex on namespace/pod/container, whole match; NULL: all */
    const char *exclude; /* NULL: none */
    size_t max;          /* live ones; the rest waits as over_limit */
    uint64_t linger_ns;
    size_t linger_max;
    uint64_t name_patience_ns; /* after this a container is named by what is known (2 s) */
};

/* Everything that is known when a container appears; strings are copied. NULL means "". */
struct container_spec {
    const char *key; /* NULL: the table makes one */
    uint64_t cgroup_id;
    int cgroup_fd; /* ownership passes to the table (also on failure); -1: none */
    const char *path, *id, *namespace_, *pod, *name, *image, *pod_uid, *runtime, *qos_class;
    bool resolved; /* the names are final as far as anyone knows */
};

enum container_count {
    CONTAINERS_MONITORED,
    CONTAINERS_LINGERING,
    CONTAINERS_EXCLUDED,
    CONTAINERS_OVER_LIMIT,
    CONTAINER_COUNTS
};

struct container_table;

/* -EINVAL with the message in error when a regex does not compile. */
int container_table_new(const struct container_limits *limits, const struct log *log,
                        struct container_table **out, char *error, size_t error_size);
void container_table_free(struct container_table *table);

/* *handle identifies it in end and rename, also while it is excluded or over the limit. -EEXIST
 * when a live container has the same path (live) or key (replay). */
int container_table_add(struct container_table *table, const struct container_spec *spec,
                        uint64_t now_ns, uint64_t *handle);
/* New names for a known container, or the same names now resolved. */
int container_table_rename(struct container_table *table, uint64_t handle,
                           const struct container_spec *spec, uint64_t now_ns);
void container_table_end(struct container_table *table, uint64_t handle, uint64_t now_ns);

/* Moves time: names what has waited long enough, forgets what has lingered long enough, promotes
 * those over the limit when there is room. */
void container_table_advance(struct container_table *table, uint64_t now_ns);
/* When advance is due next, for a timer; UINT64_MAX: nothing waits. */
uint64_t container_table_deadline(const struct container_table *table);

/*
 * Hands out what has changed and starts a new diff; the lists are valid until the next call. What
 * an earlier diff reported as forgotten is freed here.
 */
void container_table_take_diff(struct container_table *table, struct container_diff *diff);

/* The container was read for the last time: ended becomes lingering. */
void container_table_last_read(struct container_table *table, struct container *container);

/* Walks those that have a slot (live, ended, lingering); start with cursor 0, NULL at the end. */
struct container *container_table_next(const struct container_table *table, size_t *cursor);
/* One more than the largest slot ever used: for sizing arrays beside the table. */
size_t container_table_slots(const struct container_table *table);
size_t container_table_count(const struct container_table *table, enum container_count what);

#endif
