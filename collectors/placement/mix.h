/*
 * Where a container's reads go now: by where its memory is, or by loads that were counted. Loop
 * thread.
 */
#ifndef IE_COLLECTORS_PLACEMENT_MIX_H
#define IE_COLLECTORS_PLACEMENT_MIX_H

#include "collectors/contract/facts.h"
#include "collectors/formulas/placement.h"
#include "collectors/placement/latencies.h"
#include "exporter/source/source_set.h"

/* All zero: nothing is known. What is known holds until there is something newer. */
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

#endif
