/*
 * Asks where each container's memory is: the kernel (group pages) or, with a flag, counted loads
 * (group stalls). Loop thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_WHERE_H
#define IE_COLLECTORS_PLACEMENT_WHERE_H

#include "collectors/contract/collector.h"
#include "collectors/formulas/placement.h"
#include "collectors/placement/latencies.h"

/* Where a container's reads go now: by where its memory is, or by loads that were counted. All
 * zero: nothing is known. What is known holds until there is something newer. */
struct placement_mix {
    bool by_pages, by_loads;
    double bytes[PLACEMENT_NODES + 1]; /* of each node; the last: of nodes beyond */
    double local, remote, pmm;         /* loads of the last window that had some */
};

/* A reading of the group pages. */
void placement_mix_pages(struct placement_mix *mix, const struct reading *reading);
/* A window's sum of the group stalls. */
void placement_mix_loads(struct placement_mix *mix, const struct window_sum *sum);

/*
 * What a read of this initiator takes now, in seconds. Where there is one NUMA node, all memory is
 * there. Otherwise by the loads, if they are known: local ones are of the initiator's own node,
 * remote ones of the other nodes with CPUs (of several: their mean), those of persistent memory of
 * the nodes without. Otherwise by the pages. PLACEMENT_UNKNOWN: by none, or the probe has no
 * reading of a node that has a share.
 */
enum placement_status placement_mix_now(const struct placement_mix *mix,
                                        const struct placement_latencies *latencies,
                                        const struct machine *machine, int initiator,
                                        double *seconds);

/* For all containers. */
struct placement_where {
    struct source_set *sources;
    struct collector_status *status;
    const struct log *log;
    const struct machine *machine;
    enum group group;
    struct verdict why; /* it is not known of some container */
    uint32_t said;      /* bit r: the log has reason r for that */
};

/* Of one container; all zero: not asked. */
struct placement_asked {
    group_handle group; /* 0: not open, or not needed */
    struct placement_mix mix;
};

/* Whether there is anything to ask: several NUMA nodes. */
bool placement_where_asks(const struct placement_where *where);

/* Opens the group unless it is open. Without it there is no prediction where there are several
 * nodes, but the rest works; 'why' has the reason. */
void placement_where_open(struct placement_where *where, struct placement_asked *asked,
                          const struct container *container);
void placement_where_close(struct placement_where *where, struct placement_asked *asked);

/* Reads it. What was known before holds until there is a newer reading. A reading that fails drops
 * it, unless the cgroup is gone. */
void placement_where_read(struct placement_where *where, struct placement_asked *asked);

/* Nobody lacks anything: the next failure is worth a line in the log again. */
void placement_where_clear(struct placement_where *where);

#endif
