/*
 * What the table keeps for one container, and the hash chains to find it. Internal to the table.
 */
#ifndef IE_CONTAINERS_TABLE_ENTRY_H
#define IE_CONTAINERS_TABLE_ENTRY_H

#include <sys/queue.h>

#include "exporter/base/siphash.h"
#include "exporter/containers/table/table.h"

enum entry_place {
    ENTRY_WAITING,  /* over the limit */
    ENTRY_EXCLUDED, /* by the filters */
    ENTRY_HELD,     /* has a slot: live, ended or lingering */
    ENTRY_GONE,     /* forgotten; keeps its slot until the diff that says so was consumed */
};

enum entry_index_kind {
    INDEX_HANDLE, /* every handle that is known */
    INDEX_PATH,   /* the same, by key (replay) or path (live) */
    INDEX_LABELS, /* those that may have series, by namespace, pod, name, short_id */
    /* Live ones that go by their cgroups, by the labels that they were refused. Only their hash is
     * kept: it has a key that nobody knows. */
    INDEX_REFUSED,
    ENTRY_INDEXES
};

TAILQ_HEAD(entry_list, table_entry);

struct table_entry {
    struct container c; /* first: a container that the table handed out is its entry */
    enum entry_place place;
    bool resolved;
    bool fleeting;   /* does not linger before it was read once */
    bool own_key;    /* the key was given, not made from the slot */
    bool is_unnamed; /* in the table's list of those whose patience runs */
    bool is_blocked; /* in the table's list of those whose labels another one has */
    uint8_t pending; /* bit i: it is in list i of the coming diff */
    uint64_t handle; /* 0 once the handle is not known any more */
    void *owner;
    char *strings;                   /* one block that the container's strings point into */
    TAILQ_ENTRY(table_entry) queue;  /* of its place: waiting, lingering */
    TAILQ_ENTRY(table_entry) naming; /* unnamed or blocked */
    struct {
        struct table_entry *next;
        uint64_t hash;
        bool in;
    } chain[ENTRY_INDEXES];
};

/* A copy of everything in the spec. place is ENTRY_WAITING; the descriptor is not taken. */
int entry_new(const struct container_spec *spec, uint64_t now_ns, struct table_entry **out);
/* Closes the descriptor. Must be in no list or index. Accepts NULL. */
void entry_free(struct table_entry *entry);
void entry_close(struct table_entry *entry);

/*
 * New names from the spec with this path and id, in a block of its own: on success *strings is the
 * caller's and 'container' points into it.
 */
int entry_set_strings(struct container *container, const struct container_spec *spec,
                      const char *path, const char *id, char **strings);
/* The names of one that goes by its cgroup, likewise: no id, no pod, the cgroup's name and inode.
 */
int entry_set_cgroup_strings(struct container *container, char **strings);
/* The strings' owner is the entry from here on; its former ones are the caller's. */
void entry_take_strings(struct table_entry *entry, const struct container *from, char *strings);
bool entry_same_strings(const struct container *a, const struct container *b);

bool entry_same_labels(const struct container *a, const struct container *b);
uint64_t entry_hash_labels(const struct siphash_key *key, const struct container *container);
uint64_t entry_hash_handle(uint64_t handle);
uint64_t entry_hash_path(const struct siphash_key *key, const char *own_key, const char *path);

struct entry_index {
    enum entry_index_kind kind;
    struct table_entry **buckets;
    size_t n_buckets; /* a power of two, or 0 */
    size_t n;
};

/* Room for n entries, so that insert cannot fail. 0 or -ENOMEM. */
int entry_index_reserve(struct entry_index *index, size_t n);
void entry_index_release(struct entry_index *index);
void entry_index_insert(struct entry_index *index, struct table_entry *entry, uint64_t hash);
/* Does nothing for an entry that is not in it. */
void entry_index_remove(struct entry_index *index, struct table_entry *entry);
/* The first entry with this hash after 'after' (NULL: from the start), or NULL. */
struct table_entry *entry_index_find(const struct entry_index *index, uint64_t hash,
                                     const struct table_entry *after);

#endif
