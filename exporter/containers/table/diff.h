/*
 * What consumers see of the table: slots, and what changed. Internal to the table.
 */
#ifndef IE_CONTAINERS_TABLE_DIFF_H
#define IE_CONTAINERS_TABLE_DIFF_H

#include "exporter/containers/table/state.h"

/* Gives the entry a slot, and makes room for whatever may happen to it. 0 or -ENOMEM. */
int table_take_slot(struct container_table *table, struct table_entry *entry);
/* Notes a change of an entry that has a slot; cannot fail. */
void table_change(struct container_table *table, enum change change, struct table_entry *entry);
/* Takes back what consumers have not seen. */
void table_withdraw(struct container_table *table, struct table_entry *entry);
/* Frees the slots with the entries in them, and the lists. */
void table_release_diffs(struct container_table *table);

#endif
