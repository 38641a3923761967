/*
 * The inside of the table, shared by its files: table.c moves containers between their places
 * (waiting, excluded, held, gone), table_names.c decides when one may carry its labels,
 * table_diff.c tells consumers.
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

/* Labels that were given up in the coming diff. Nobody may take them before consumers have seen
 * that: consumers would have two containers of the same labels for a moment. */
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
    bool labels_freed; /* someone blocked may be named now */

    uint64_t promote_ns; /* no promotion before: the last try failed */
    size_t logged_waiting, logged_excluded;
    uint64_t log_ns; /* no line about unmonitored containers before */
};

/* table_diff.c */
/* Gives the entry a slot, and everything room for what may happen to one more of them. 0 or
 * -ENOMEM. */
int table_take_slot(struct container_table *table, struct table_entry *entry);
/* Notes a change of an entry that has a slot; cannot fail. */
void table_change(struct container_table *table, enum change change, struct table_entry *entry);
/* Takes back what consumers have not seen. */
void table_withdraw(struct container_table *table, struct table_entry *entry);
/* Frees the slots with those in them, and the lists. */
void table_release_diffs(struct container_table *table);

/* table.c */
/* Takes it out of everything but its slot. Reported unless consumers never saw it. */
void table_forget(struct container_table *table, struct table_entry *entry);
/* Its names are known and not wanted. A live one stays known as excluded. */
void table_exclude(struct container_table *table, struct table_entry *entry,
                   const struct container_spec *spec);
/* Looks at whether it may be held: excluded ones whose new names pass. */
void table_enqueue(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
struct table_entry *table_find(const struct container_table *table, uint64_t handle);

/* start + length, which may be "never"; due times are compared with now like this, since a clock of
 * ticks may be a little behind the one by which a container was found. */
uint64_t table_after(uint64_t start_ns, uint64_t length_ns);
bool table_patience_is_over(const struct container_table *table, const struct table_entry *entry,
                            uint64_t now_ns);

/* table_names.c */
bool table_passes(const struct container_table *table, const struct container *container);
/* Puts a held one among those that wait for their names, or names it. */
void table_await_name(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* Patience is over or the names are final: names, excludes, or blocks it. */
void table_name(struct container_table *table, struct table_entry *entry);
/* Out of the naming lists and the index of labels. */
void table_unname(struct container_table *table, struct table_entry *entry);
/* Names those that waited for labels which are free now. */
void table_settle_blocked(struct container_table *table);
void table_drop_retired(struct container_table *table);

#endif
