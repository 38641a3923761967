/*
 * A simulated node that knows the truth: cores, caches, memory controllers, and the counters that
 * hardware would show, one tick at a time.
 *
 * A run is a function of its scenario. Nothing here is thread-safe; two nodes share nothing.
 */
#ifndef IE_SIMNODE_MODEL_SIMNODE_H
#define IE_SIMNODE_MODEL_SIMNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/role.h"
#include "tests/simnode/model/cache.h"
#include "tests/simnode/model/request.h"
#include "tests/simnode/model/shadow.h"
#include "tests/simnode/scenario/scenario.h"

struct simnode;

/* Borrows the scenario. 0, -ENOMEM or -EINVAL (a machine that cannot be built). */
int simnode_new(const struct scenario *scenario, struct simnode **out);
void simnode_free(struct simnode *node);

/* Runs to the end of the next tick. 0 or -ENOMEM. Ticks may go beyond scenario.ticks. */
int simnode_run_tick(struct simnode *node);
/* Runs that many more cycles of the nominal core clock, without ending a tick. */
int simnode_run_cycles(struct simnode *node, uint64_t cycles);

uint64_t simnode_ticks(const struct simnode *node);  /* finished ones */
uint64_t simnode_now_ns(const struct simnode *node); /* simulated time */

/*
 * Changes between two runs, of a container by its index; they hold until the next one, also through
 * a start. 0, -EINVAL (a value that cannot be, or where it cannot be) or -ENOMEM. A node of which
 * nothing is set runs as if these did not exist.
 */
/* Where its fills go: lines stay where they are until they are evicted. Not 0. */
int simnode_set_ways(struct simnode *node, size_t container, uint32_t mask);
/* Of a socket's peak DRAM bandwidth, for this container alone; 100: no limit. */
int simnode_set_mba(struct simnode *node, size_t container, double percent);
/* Its share of the epochs is its weight over the sum of all that run. From the first one set on,
 * those without have none; nobody's epoch where the sum is 0. Only with epochs. */
int simnode_set_epoch_weight(struct simnode *node, size_t container, double weight);
/* CPUs that its threads may use together, from the next tenth of a tick on; > 0, INFINITY: no
 * quota. Counters leave out the time without a CPU, truth does not. Not with epochs or ats_sets. */
int simnode_set_quota(struct simnode *node, size_t container, double cores);
/* Its threads have no CPU, or have one again, at once. As a quota otherwise. */
int simnode_set_paused(struct simnode *node, size_t container, bool paused);

/* Raw totals since the container started, at the current moment. */
struct simnode_reading {
    uint64_t enabled_ns;
    uint32_t present; /* bit i: the group's role i is counted */
    uint64_t values[GROUP_MAX_ROLES];
};

/* Container by index in the scenario: groups core, stalls, loads, stores, traffic, asm_epochs,
 * and, where the machine has miss address buffers, fills.
 * -ENODATA before it started, -ENOENT for a group that is not counted here. After its end totals
 * stay. */
int simnode_read_container(struct simnode *node, size_t container, enum group group,
                           struct simnode_reading *out);

/* One unit per channel: sockets x channels of them; groups rpq, pmm_rpq. */
size_t simnode_units(const struct simnode *node);
int simnode_read_unit(struct simnode *node, size_t unit, enum group group,
                      struct simnode_reading *out);

bool simnode_container_runs(const struct simnode *node, size_t container);

enum { SIMNODE_NODES = 8 }; /* a scenario's sockets are at most as many */

/* What is true, as totals since the container started; independent of every counter above. */
struct simnode_truth {
    uint64_t reads;        /* demand loads that memory served ... */
    double latency_ns_sum; /* ... from address known to value usable */
    uint64_t own_reads;    /* of these, loads that joined no prefetch on its way */
    double own_latency_ns_sum;
    uint64_t instructions;                    /* retired */
    uint64_t store_bytes[2];                  /* program's stores to DRAM, to PMM */
    uint64_t reads_by_node[SIMNODE_NODES][2]; /* of 'reads', from each node's DRAM, PMM */
    uint64_t store_stall_cycles;              /* in which a full store buffer held up dispatch */
};
void simnode_truth(struct simnode *node, size_t container, struct simnode_truth *out);

/* What a container really asks of caches and memory, in lines, since it started. No counter of a
 * real machine shows the last three by container. */
struct simnode_traffic {
    uint64_t fetched[REQUEST_PREFETCH + 1];  /* that memory served, by enum request_kind */
    uint64_t fetched_remote;                 /* of these, from another socket's memory */
    uint64_t fetched_from[SIMNODE_NODES][2]; /* of these, from each node's DRAM, PMM */
    uint64_t nt_lines;                       /* stored past the caches */
    uint64_t written_back;                   /* dirty lines of its own, whoever evicted them */
    uint64_t llc_insertions;                 /* lines that it brought into a last-level cache */
};
void simnode_traffic(const struct simnode *node, size_t container, struct simnode_traffic *out);

/* What a monitoring group of the container shows: every line to and from memory, prefetched and
 * stored ones among them, and what of the last-level caches it has. */
struct simnode_monitored {
    uint64_t total_bytes, local_bytes, occupancy_bytes;
};
void simnode_monitored(const struct simnode *node, size_t container, struct simnode_monitored *out);

/* How far a container got: totals over its threads. */
enum {
    PROGRESS_INSTRUCTIONS,
    PROGRESS_SHADOW,                             /* cycles; SHADOWS of them, see shadow.h */
    PROGRESS_STALLS = PROGRESS_SHADOW + SHADOWS, /* cycles that a miss held up dispatch */
    PROGRESS_CONTENTION_STALLS,                  /* of these, a contention miss */
    PROGRESS_MEMORY_TIME, /* sum over demand misses that are none of contention and began in the
                             epoch, cycles */
    PROGRESS_MEMORY_READS,
    PROGRESS_PREFETCHES, /* that memory served */
    SIMNODE_PROGRESS
};

/* Beyond the recording's roles, for reproductions. */
struct simnode_asm_extra {
    uint64_t ats_hits[2], ats_misses[2]; /* [0] all sets, [1] the sampled ones */
    uint64_t total_hits, total_misses;   /* outside epochs, too */
    uint64_t total_ats_hits[2], total_ats_misses[2];
    uint64_t progress[SIMNODE_PROGRESS], progress_in_epochs[SIMNODE_PROGRESS];
    uint64_t memory_fs, memory_reads, prefetches; /* see PROGRESS_MEMORY_TIME */
};
void simnode_asm_extra(struct simnode *node, size_t container, struct simnode_asm_extra *out);

/* Of a container's demand accesses of the last-level cache since it started, whosever epoch it is.
 */
struct simnode_cache_totals {
    uint64_t accesses, hits, misses;
    uint64_t hit_cycles, miss_cycles; /* with at least one outstanding, from its lookup on */
    /* Of its auxiliary tags, the sampled sets (all without ats_sets): hits by how many of the set's
     * lines were used since that line was. 0 without such tags. */
    uint64_t way_hits[CACHE_MAX_WAYS], tag_misses;
    uint64_t shadow_cycles; /* that its instructions so far take alone, by the shadow clock */
};
void simnode_cache_totals(struct simnode *node, size_t container, struct simnode_cache_totals *out);

struct simnode_unit_totals {
    uint64_t cas_reads, cas_writes, activates, inserts;
    uint64_t pmm_media_bytes_written, pmm_media_bytes_read, pmm_reads;
    uint64_t
        read_wait_fs; /* sum over served reads of the time in the queue, by their time stamps */
    uint64_t reads_served;
};
void simnode_unit_totals(struct simnode *node, size_t unit, struct simnode_unit_totals *out);

/* Store samples since the last call, oldest first; borrowed until the next tick. */
struct simnode_sample {
    size_t container;
    int tid;
    uint64_t ip, addr, bytes;
    bool pmm;
};
const struct simnode_sample *simnode_samples(struct simnode *node, size_t *n);

/* Called for each request that is done, with all its time stamps. May be NULL. */
typedef void simnode_observer(void *context, const struct request *request, uint64_t done_fs);
void simnode_observe(struct simnode *node, simnode_observer *observer, void *context);

#endif
