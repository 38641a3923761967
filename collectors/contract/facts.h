/*
 * What is known about the machine, and may become better known while running.
 *
 * Written by the daemon at start, by the probe (calibration) and by core_latency (what reads take);
 * read by every collector. Loop thread.
 */
#ifndef IE_COLLECTORS_CONTRACT_FACTS_H
#define IE_COLLECTORS_CONTRACT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/contract/read_latencies.h"
#include "exporter/base/reason.h"
#include "exporter/source/machine.h"

struct facts {
    struct machine machine;

    /* Whether there is a memory probe, live or recorded, and why not. */
    struct verdict probe;

    /* Where c_cache has two parts: cycles of the one in the core, never calibrated; else 0. */
    double cache_core_cycles;
    /* Where latencies come from the group of fills: what a hit in the L1 takes, t1 of
     * fill_latency.h. machine.cache_cycles is then t1 + t3. Else 0. */
    double l1d_hit_cycles;
    /* What is in flight has the hits in the L1, too: t2 and t3 are whole times of hits, and
     * machine.cache_cycles is t3. */
    bool l1d_hits_in_flight;
    /* Where the group of misses is counted: the CPU does not count stalls for memory. */
    bool no_stalls;
    /* The probe's chase is not in the counter of misses in flight, or far too often. */
    bool in_flight_untrue;
    /* machine.cache_cycles and cache_seconds are final: given by --events.file or a recording, or
     * calibrated by the probe. Until then they are the event table's, and the probe may replace
     * them, once. */
    bool cache_cycles_final;

    /* Why it can never come: no counters of the probe's threads. REASON_OK: they are open. */
    struct verdict calibration_blocked;
    /* How long it has been under way. */
    uint64_t calibrating_ns;
    /* The last burst could not calibrate: its counters do not explain what it measured. */
    bool calibration_refused;

    /* Windows in which reference cycles ran ahead of the base frequency, less those in which they
     * did not, and the highest frequency seen; see base_frequency_check(). */
    unsigned base_exceeded;
    double reference_hz;

    /* The 5th percentile of the last hour of the probe's latencies of a NUMA node to its own
     * memory: what memory takes when it is hardly used. Written by the probe; 0: not
     * known. */
    double probe_calm_seconds;
    /* The same of the last day: on a node that is busy all day, the best of its nights. */
    double probe_best_seconds;

    /* By how much a latency estimated from the probe's own counters was off, of the latency, when
     * it was last compared; 0: not known. */
    double probe_error_ratio;

    /* What a load takes that hits the last-level cache, measured by the probe; 0: not known. Stands
     * in where machine.llc_hit_cycles is not known. */
    double llc_hit_seconds;

    /* Containers that are known and not monitored: excluded, or over the limit. Written before each
     * tick. While there are any, the monitored ones do not tell what the node reads. */
    size_t containers_unseen;

    /* The probe's chase must show l3_miss_reads and their occupancy: false where --events.file says
     * what one of these roles counts, and under replay. */
    bool chase_must_miss;
    /* Set by the probe when its chase went to memory and one of the counters saw nothing. */
    bool l3_miss_reads_filtered;

    struct read_latencies reads; /* of the containers, in this tick */

    /* Written by attribution: the share of the NUMA nodes whose memory was slower in that tick than
     * when it is calm. */
    uint64_t slow_memory_tick;
    double slow_memory_ratio;
};

/* Once machine.l2_fill_cycles and l3_fill_cycles are known. */
static inline void facts_settle_fills(struct facts *facts)
{
    struct machine *machine = &facts->machine;
    if (!(facts->l1d_hit_cycles > 0) || !(machine->l2_fill_cycles > 0) ||
        !(machine->l3_fill_cycles > 0))
        return;
    machine->cache_cycles =
        (facts->l1d_hits_in_flight ? 0 : facts->l1d_hit_cycles) + machine->l3_fill_cycles;
    machine->cache_seconds = 0;
    facts->cache_cycles_final = true;
}

#endif
