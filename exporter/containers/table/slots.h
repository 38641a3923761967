/*
 * Slots and labels: which container has which, whom the names are wanted of, and what consumers are
 * told. No two that may have series carry the same labels. Nothing moves here, but that what is
 * forgotten is taken out of everything. Internal to the table.
 */
#ifndef IE_CONTAINERS_TABLE_SLOTS_H
#define IE_CONTAINERS_TABLE_SLOTS_H

#include "exporter/containers/table/state.h"

/* ---- labels ---- */

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

/* ---- what consumers see ---- */

/* Gives the entry a slot, and makes room for whatever may happen to it. 0 or -ENOMEM. */
int table_take_slot(struct container_table *table, struct table_entry *entry);
/* Notes a change of an entry that has a slot; cannot fail. */
void table_change(struct container_table *table, enum change change, struct table_entry *entry);
/* Frees the slots with the entries in them, and the lists. */
void table_release_diffs(struct container_table *table);

/* ---- not known any more ---- */

/* Its cgroup is gone, or its slot is given up: nobody asks for it by its handle or path. */
void table_forget_handle(struct container_table *table, struct table_entry *entry);
/* Takes a held one out of everything but its slot. Reported unless consumers never saw it. */
void table_forget(struct container_table *table, struct table_entry *entry);

#endif
