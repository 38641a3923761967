/*
 * Opens a group of counts for a container, and says in the collector's status what came of it; and
 * what the lanes (lanes.h) of all such collectors begin with. For any group; core_lane.h does more
 * for the core's. Loop thread only.
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

/*
 * What a collector's lane begins with, so that a pointer to the one is a pointer to the other. A
 * lane with several groups leaves 'group', 'handle' and 'opened' alone.
 */
struct lane_base {
    const struct container *container;
    enum group group;
    group_handle handle; /* of that group; 0: not open */
    bool opened;         /* it was open once: totals are true, 0 included */
    bool ending;         /* its next reading is its last */
};

/* A lane of so many bytes, from malloc, all zero but for what is given. NULL: out of memory. */
void *lane_base_new(size_t bytes, const struct container *container, enum group group);

/* Opens the group; 0 or the error, which is in the status then, and in the log: "PATH lacks: why".
 */
int lane_base_open(struct lane_base *lane, const struct collector_env *env,
                   struct collector_status *status, const char *collector, const char *lacks);
void lane_base_close(struct lane_base *lane, struct source_set *sources);

/* Logs what making its series gave, unless that is 0. Returns it. */
int lane_base_named(const struct lane_base *lane, const struct collector_env *env,
                    const char *collector, int err);

/* Fit for struct lane_ops as they are. */
bool lane_base_is_open(const void *lane);
void lane_base_end(void *lane);

#endif
