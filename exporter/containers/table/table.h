/*
 * The slot table: which containers are counted, which wait, which linger.
 *
 * Discovery (live) or a recording (replay) feeds it; it knows the limits and the filters. Time
 * comes in as an argument, so that replay and tests are deterministic. Loop thread only.
 */
#ifndef IE_CONTAINERS_TABLE_TABLE_H
#define IE_CONTAINERS_TABLE_TABLE_H

#include "exporter/base/log.h"
#include "exporter/containers/container.h"

struct container_limits {
    const char
        *include; /* POSIX extended regex on namespace/pod/container, whole match; NULL: all */
    const char *exclude; /* NULL: none */
    size_t max;          /* live ones; the others wait as over_limit */
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
    bool resolved; /* the names are final */
    /* A tenant may have made its cgroup, as often as he likes: no series are kept of one that ends
     * before it was read once. */
    bool fleeting;
    void *owner; /* handed to the hooks; the table does not look at it */
};

/*
 * How a live table reaches back to discovery; replay has none. The functions below call them; they
 * must not call the table.
 */
struct container_hooks {
    void *arg;
    /* Opens the directory of a container that had to wait: waiting costs no descriptor. A
     * descriptor, which the table owns from then on, or -errno; -ENOENT when the cgroup is gone. */
    int (*open)(void *arg, void *owner);
    /* It got a slot; it lost its slot while it lives (excluded once its names were known). */
    void (*held)(void *arg, void *owner, const struct container *container);
    void (*dropped)(void *arg, void *owner, const struct container *container);
};

struct container_table;

/* -EINVAL with the message in error when a regex does not compile. */
int container_table_new(const struct container_limits *limits, const struct log *log,
                        struct container_table **out, char *error, size_t error_size);
void container_table_free(struct container_table *table);

/* The hooks are copied; NULL: no hooks any more. */
void container_table_set_hooks(struct container_table *table, const struct container_hooks *hooks);

/*
 * *handle (never 0) identifies it in rename, end and discard, also while it is excluded or over
 * the limit. Until its names are resolved or patience is over the filters let it pass, so that no
 * count of a wanted one is lost. -EEXIST when a live container has the same path (live) or key
 * (replay).
 */
int container_table_add(struct container_table *table, const struct container_spec *spec,
                        uint64_t now_ns, uint64_t *handle);

/*
 * New names for a known container, or the same names now resolved; key, path, cgroup_id and
 * cgroup_fd of the spec are not looked at, nor is its id if that is NULL. A container that the
 * filters now exclude is forgotten and counted as excluded. One that is refused the new labels,
 * since other live ones have or ask for them, goes by its cgroup. -EEXIST, with nothing changed,
 * when they are free soon: try again later. -ENOENT for a handle that is not known (any more).
 */
int container_table_rename(struct container_table *table, uint64_t handle,
                           const struct container_spec *spec, uint64_t now_ns);
/* Its cgroup is gone. The handle is not known from here on. */
void container_table_end(struct container_table *table, uint64_t handle, uint64_t now_ns);
/* It turned out to be no container but a sandbox: forgotten at once, counted nowhere. */
void container_table_discard(struct container_table *table, uint64_t handle);

/* Moves time: names what has waited long enough, forgets what has lingered long enough, promotes
 * those over the limit when there is room. */
void container_table_advance(struct container_table *table, uint64_t now_ns);
/* When container_table_advance is due next, for a timer; UINT64_MAX: nothing waits. */
uint64_t container_table_deadline(const struct container_table *table);

/*
 * Hands out what has changed and starts a new diff; the lists are valid until the next call.
 * Containers that an earlier diff reported as forgotten are freed here, and their slots may be used
 * again.
 */
void container_table_take_diff(struct container_table *table, struct container_diff *diff);

/*
 * The container was read in a tick. If it has ended, for the last time: it lingers from here on,
 * and its cgroup_fd is closed; a fleeting one that was never read while it lived is forgotten. Does
 * nothing to an ended one before its end was handed out in a diff. Allocates nothing.
 */
void container_table_read(struct container_table *table, struct container *container);

/* Walks those that have a slot (live, ended, lingering); start with cursor 0, NULL at the end. */
struct container *container_table_next(const struct container_table *table, size_t *cursor);
size_t container_table_count(const struct container_table *table, enum container_count what);
/* One more than the largest slot ever used, for tests. */
size_t container_table_slots(const struct container_table *table);

#endif
