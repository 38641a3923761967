/*
 * The inside of the table, for its files. table.c is the interface; admission.c moves containers
 * (waiting, excluded, held) and decides between those that ask for the same labels; slots.c knows
 * who has which slot and labels, and tells consumers; entry.c keeps one container, and knows whom
 * the filters let pass.
 */
#ifndef IE_CONTAINERS_TABLE_INTERNAL_H
#define IE_CONTAINERS_TABLE_INTERNAL_H

#include <regex.h>
#include <sys/queue.h>

#include "exporter/base/hash.h"
#include "exporter/base/hash_table.h"
#include "exporter/containers/table/table.h"

/* ---- entry.c: one container ---- */

enum entry_admission {
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
    enum entry_admission admission;
    bool resolved;
    bool fleeting;   /* does not linger before it was read once */
    bool own_key;    /* the key was given, not made from the slot */
    bool is_unnamed; /* in the table's list of those whose patience runs */
    bool is_blocked; /* in the table's list of those whose labels another one has */
    uint8_t pending; /* bit i: it is in list i of the coming diff */
    uint64_t handle; /* 0 once the handle is not known any more */
    void *owner;
    char *strings;                   /* one block that the container's strings point into */
    TAILQ_ENTRY(table_entry) queue;  /* of its list: waiting, lingering */
    TAILQ_ENTRY(table_entry) naming; /* unnamed or blocked */
    struct {
        uint64_t hash;
        bool in;
    } index[ENTRY_INDEXES];
};

/* A copy of everything in the spec. admission is ENTRY_WAITING; the descriptor is not taken. */
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

/* --containers.include and --containers.exclude. */
struct container_filter {
    bool has_include, has_exclude;
    regex_t include, exclude;
};

/* POSIX extended regexes that must match the whole of namespace/pod/container; NULL: none.
 * -EINVAL with the message in error; then there is nothing to release. */
int container_filter_init(struct container_filter *filter, const char *include, const char *exclude,
                          char *error, size_t error_size);
void container_filter_release(struct container_filter *filter);

bool container_filter_passes(const struct container_filter *filter, const char *namespace_,
                             const char *pod, const char *name);

/* ---- the table ---- */

/* The lists of a diff, in the order of its members. */
enum change { CHANGE_FORGOTTEN, CHANGE_ADDED, CHANGE_NAMED, CHANGE_RENAMED, CHANGE_ENDED, CHANGES };

struct change_list {
    struct container **at;
    size_t n, cap;
};

/* Labels that were given up in the coming diff. No other container may take them before consumers
 * have seen that; otherwise they would have two containers with the same labels for a moment. */
struct retired_labels {
    struct retired_labels *next;
    struct container labels; /* only what entry_same_labels looks at */
    char *strings;
};

struct container_table {
    struct container_limits limits; /* without the regexes, which are in filter */
    struct container_filter filter;
    const struct log *log;
    struct container_hooks hooks;

    struct siphash_key key; /* names and paths are tenants' texts */
    struct hash_table index[ENTRY_INDEXES];
    uint64_t last_handle;

    struct table_entry **slots; /* NULL: free */
    uint32_t *gens;             /* of the slot's last user */
    uint32_t *free_slots;       /* a stack */
    size_t n_slots, cap_slots, n_free;

    struct entry_list waiting;   /* oldest first */
    struct entry_list lingering; /* by ended_mono_ns; read for the last time */
    struct entry_list unnamed;   /* by found_mono_ns; held, patience runs */
    struct entry_list blocked;   /* held; may be named when their labels are free */
    struct entry_list gone;      /* to be freed by the next take_diff but one */
    struct entry_list delivered; /* to be freed by the next take_diff */
    size_t count[CONTAINER_COUNTS];
    size_t n_linger_list;

    struct change_list pending[CHANGES], taken[CHANGES];
    struct retired_labels *retired;
    bool labels_freed; /* a blocked one may be named now */

    uint64_t promote_ns; /* no promotion before this time: the last try failed */
    size_t logged_waiting, logged_excluded;
    uint64_t log_ns; /* no line about unmonitored containers before this time */
};

static inline struct table_entry *table_find(const struct container_table *table, uint64_t handle)
{
    size_t at = 0;
    return handle ? hash_table_next(&table->index[INDEX_HANDLE], entry_hash_handle(handle), &at)
                  : NULL;
}

/* There is room in the index. */
static inline void table_index(struct container_table *table, enum entry_index_kind kind,
                               struct table_entry *entry, uint64_t hash)
{
    entry->index[kind].hash = hash;
    entry->index[kind].in = true;
    hash_table_insert(&table->index[kind], hash, entry);
}

/* Does nothing for an entry that is not in it. */
static inline void table_unindex(struct container_table *table, enum entry_index_kind kind,
                                 struct table_entry *entry)
{
    if (entry->index[kind].in)
        hash_table_remove(&table->index[kind], entry->index[kind].hash, entry);
    entry->index[kind].in = false;
}

/* start + length, which may be "never". Due times are compared with now like this, since a clock of
 * ticks may be a little behind the one by which a container was found. */
static inline uint64_t table_after(uint64_t start_ns, uint64_t length_ns)
{
    return start_ns > UINT64_MAX - length_ns ? UINT64_MAX : start_ns + length_ns;
}

static inline bool table_patience_is_over(const struct container_table *table,
                                          const struct table_entry *entry, uint64_t now_ns)
{
    return table_after(entry->c.found_mono_ns, table->limits.name_patience_ns) <= now_ns;
}

/* ---- slots.c ---- */

/*
 * Slots and labels: which container has which, whom the names are wanted of, and what consumers are
 * told. No two that may have series carry the same labels. Nothing moves here, but that what is
 * forgotten is taken out of everything.
 */

/* Whether the filters let it pass by its names. */
bool table_passes(const struct container_table *table, const struct container *container);

/* The named one that carries the labels of 'container', or NULL. */
struct table_entry *table_labels_holder(const struct container_table *table,
                                        const struct container *container);
/* Whether they were given up in the coming diff. */
bool table_labels_retired(const struct container_table *table, const struct container *container);

/* Neither waits for names nor for labels any more. */
void table_leave_naming_lists(struct container_table *table, struct table_entry *entry);

/* Its labels are given up in the coming diff; takes over its strings. 0 or -ENOMEM. */
int table_retire_labels(struct container_table *table, struct table_entry *entry);
/* Consumers have seen that. */
void table_drop_retired(struct container_table *table);

/* Gives the entry a slot, and makes room for whatever may happen to it. 0 or -ENOMEM. */
int table_take_slot(struct container_table *table, struct table_entry *entry);
/* Notes a change of an entry that has a slot; cannot fail. */
void table_change(struct container_table *table, enum change change, struct table_entry *entry);
/* Frees the slots with the entries in them, and the lists. */
void table_release_diffs(struct container_table *table);

/* Its cgroup is gone, or its slot is given up: nobody asks for it by its handle or path. */
void table_forget_handle(struct container_table *table, struct table_entry *entry);
/* Takes a held one out of everything but its slot. Reported unless consumers never saw it. */
void table_forget(struct container_table *table, struct table_entry *entry);

/* ---- admission.c ---- */

/*
 * Every move of a container between its states: waiting for room, excluded, held (live, ended,
 * lingering; named or not), gone.
 *
 * Moves may free labels; whoever calls table_end(), table_discard(), table_linger() or
 * table_forget() has those that wait for labels looked at afterwards (table_settle_blocked).
 */

/* A new one gets the next handle, and is excluded, waits or is held. */
void table_enter(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* Waits, or is held if there is room: a new one, or an excluded one whose new names pass. */
void table_enqueue(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* Those over the limit get the free slots, the oldest first. */
void table_promote(struct container_table *table, uint64_t now_ns);

/* Patience is over or the names are final: names, excludes, or blocks it. */
void table_name(struct container_table *table, struct table_entry *entry);
/* Names those that waited for labels which are free now. */
void table_settle_blocked(struct container_table *table);
/* Its names are known and not wanted: they are those of 'spec', or its own if that is NULL. A live
 * one stays known as excluded. */
void table_exclude(struct container_table *table, struct table_entry *entry,
                   const struct container_spec *spec);

/* The cgroup of a held one is gone. */
void table_end(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* It was read for the last time. May forget the one that has lingered longest. */
void table_linger(struct container_table *table, struct table_entry *entry);
/* A held one is forgotten; any other, which consumers have not seen, is freed. */
void table_discard(struct container_table *table, struct table_entry *entry);

/*
 * Several that ask for the same labels. A container that only lingers gives them up. Of live ones
 * the outermost has them, whoever came first; if none of them is around the others, nobody has:
 * those without go by their cgroups for the rest of their lives.
 */
enum labels_answer {
    LABELS_GRANTED, /* nobody has them */
    LABELS_LATER,   /* the one that had them is still to be read, or consumers to be told */
    LABELS_REFUSED, /* others ask for them, too */
};

/* May the entry have the labels of 'wanted'? Takes them from whoever may not keep them. */
enum labels_answer table_ask_labels(struct container_table *table, struct table_entry *entry,
                                    const struct container *wanted);

/*
 * After a refusal: from here on the entry goes by its cgroup's name and id, and nobody who lies
 * outside of it gets the labels of 'wanted'. 0; -EEXIST if even its cgroup's labels are taken;
 * -ENOMEM. On failure nothing has changed.
 */
int table_go_by_cgroup(struct container_table *table, struct table_entry *entry,
                       const struct container *wanted);

#endif
