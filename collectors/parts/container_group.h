/*
 * Opens a group of counts for a container, and says in the collector's status what came of it. For
 * any group; core_lane.h does more for the core's. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_CONTAINER_GROUP_H
#define IE_COLLECTORS_PARTS_CONTAINER_GROUP_H

#include "collectors/contract/collector.h"

/* 0 with *handle; otherwise an error of source_set_open(), *why, and one more of the status's
 * open_failures. 'owner' is what the group's samples carry; 0: it has none. */
int container_group_open(struct source_set *sources, struct collector_status *status,
                         const struct container *container, enum group group, uint64_t owner,
                         group_handle *handle, struct verdict *why);

/* The verdict is now that a container is not counted. True if the reason is a new one, which is
 * worth a line in the log: a thousand containers may lack descriptors, and all for one reason.
 * False, with the verdict unchanged, for -ESRCH: the container is gone already. */
bool container_group_lacking(struct collector_status *status, int err, const struct verdict *why);

#endif
