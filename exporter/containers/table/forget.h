/*
 * Containers that the table does not know any more. Internal to the table.
 */
#ifndef IE_CONTAINERS_TABLE_FORGET_H
#define IE_CONTAINERS_TABLE_FORGET_H

#include "exporter/containers/table/state.h"

/* Its cgroup is gone, or its slot is given up: nobody asks for it by its handle or path. */
void table_forget_handle(struct container_table *table, struct table_entry *entry);
/* Takes a held one out of everything but its slot. Reported unless consumers never saw it. */
void table_forget(struct container_table *table, struct table_entry *entry);

#endif
