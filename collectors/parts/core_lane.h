/*
 * What every collector of the core group keeps of a container: the container's lane. A lane is what
 * one collector keeps of one container, from its discovery until it is forgotten (lanes.h).
 *
 * Embedded first in the collector's own lane, so that a pointer to the one is a pointer to the
 * other. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_CORE_LANE_H
#define IE_COLLECTORS_PARTS_CORE_LANE_H

#include "collectors/contract/collector.h"
#include "collectors/learned/calm.h"
#include "collectors/parts/node_peak.h"
#include "exporter/source/window.h"

struct core_lane {
    const struct container *container;
    group_handle handle; /* of the core group; 0: not open */
    bool opened;         /* it was open once: totals are true, 0 included */
    bool ending;         /* its next reading is its last */

    bool read_once;
    uint64_t last_mono_ns; /* where the current window began */
    double window_seconds; /* of the window that was read last */

    struct calm calm;
};

void core_lane_init(struct core_lane *lane, const struct container *container);

/* Opens the group; 0 or the error, which is in the status then, and in the log: "PATH lacks: why".
 */
int core_lane_open(struct core_lane *lane, const struct collector_env *env,
                   struct collector_status *status, const char *collector, const char *lacks);
void core_lane_close(struct core_lane *lane, struct source_set *sources);

/* Fit for struct lane_ops as they are. */
bool core_lane_is_open(const void *lane);
void core_lane_end(void *lane);

/*
 * As window_read(), and -ENODATA where the group is not open. After 0, window_seconds is what the
 * window spans: the time since the last reading, or, for the first one, since the container was
 * found, but at most one interval. After a failed read the next window reaches back to where this
 * one began.
 */
int core_lane_read(struct core_lane *lane, struct source_set *sources,
                   struct collector_status *status, const struct tick *tick, struct window_sum *sum,
                   enum window_status *window);

/* Whether the window just read was calm: to be asked once for each window, of which the container
 * made own_reads of the node_reads. */
bool core_lane_calm(struct core_lane *lane, const struct tick *tick, uint64_t own_reads,
                    uint64_t node_reads, const struct node_peak *peak);

/* The verdict on every collector of the group once its counter of memory reads proved dead. */
void core_group_is_filtered(struct verdict *verdict);

#endif
