/*
 * Which containers are wanted by their names, and who carries which labels: no two that may have
 * series carry the same. Nothing moves here. Internal to the table.
 */
#ifndef IE_CONTAINERS_TABLE_LABELS_H
#define IE_CONTAINERS_TABLE_LABELS_H

#include "exporter/containers/table/state.h"

/* Whether the filters let it pass by its names. */
bool table_passes(const struct container_table *table, const struct container *container);

/* The named one that carries the labels of 'container', or NULL. */
struct table_entry *table_labels_holder(const struct container_table *table,
                                        const struct container *container);
/* Whether they were given up in the coming diff. */
bool table_labels_retired(const struct container_table *table, const struct container *container);

/* Neither waits for names nor for labels any more. */
void table_leave_naming_lists(struct container_table *table, struct table_entry *entry);
/* Out of those lists and the index of labels. */
void table_unname(struct container_table *table, struct table_entry *entry);

/* Its labels are given up in the coming diff; takes over its strings. 0 or -ENOMEM. */
int table_retire_labels(struct container_table *table, struct table_entry *entry);
/* Consumers have seen that. */
void table_drop_retired(struct container_table *table);

#endif
