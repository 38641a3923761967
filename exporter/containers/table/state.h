/*
 * The inside of the table, for its files. table.c is the interface; places.c moves containers
 * (waiting, excluded, held) and decides between those that ask for the same labels; slots.c knows
 * who has which slot and labels, and tells consumers.
 */
#ifndef IE_CONTAINERS_TABLE_STATE_H
#define IE_CONTAINERS_TABLE_STATE_H

#include "exporter/containers/table/entry.h"
#include "exporter/containers/table/filter.h"

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
    struct entry_index index[ENTRY_INDEXES];
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
    const struct entry_index *index = &table->index[INDEX_HANDLE];
    return handle ? entry_index_find(index, entry_hash_handle(handle), NULL) : NULL;
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

#endif
