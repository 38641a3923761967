/*
 * Inside the simulated node: what its files share. Outside, use simnode.h.
 *
 *   core.c      instructions through the window, loads waiting for loads, stores
 *   private.c   the core's own caches, TLB, prefetcher, outstanding lines
 *   mab.c       misses of the L1 in flight, as AMD's cores count them
 *   shared.c    super queue, last-level cache, auxiliary tags, the way to memory and back
 *   memory.c    placement, channels and their events, interconnect
 *   shadow.c    the same instructions' time without neighbours
 *   epochs.c    whose requests go first, and ASM's metrics
 *   stops.c     who gets no CPU for a while: pauses, quotas
 *   settings.c  what is changed while it runs
 *   simnode.c   putting it together, time
 *   readings.c  what counters show, and what is true
 */
#ifndef IE_SIMNODE_MODEL_SIM_H
#define IE_SIMNODE_MODEL_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/simnode/model/cache.h"
#include "tests/simnode/model/events.h"
#include "tests/simnode/model/rng.h"
#include "tests/simnode/model/shadow.h"
#include "tests/simnode/model/simclock.h"
#include "tests/simnode/model/simnode.h"

enum event_kind {
    EVENT_CORE,       /* a core may go on */
    EVENT_MAB,        /* a miss of the L1 asks for a miss address buffer */
    EVENT_ENTER,      /* a request comes to the super queue */
    EVENT_ACCESS,     /* its lookup in the last-level cache begins */
    EVENT_LABEL,      /* it is known to have missed */
    EVENT_MERGE,      /* a demand read joins a prefetch */
    EVENT_ARRIVE,     /* it is at the memory controller */
    EVENT_CHANNEL,    /* a channel may issue a command */
    EVENT_PMM_SERVED, /* a PMM read leaves its queue */
    EVENT_DONE,       /* its data is in the super queue's entry */
    EVENT_STORE_DONE, /* a non-temporal store was accepted */
    EVENT_EPOCH,
    EVENT_WANDER,
    EVENT_QUOTA_PERIOD, /* a container's quota begins anew */
    EVENT_QUOTA_SPENT,
};

enum {
    OUTSTANDING_BUCKETS = 64,
    PREFETCH_TRACKERS = 16,
    RUN_AHEAD_CYCLES = 48, /* how far a core's private hits may run before the rest */
    /* A line's number: the container, its thread, the line in the thread's own address space. */
    THREAD_LINES_SHIFT = SCENARIO_ADDRESS_BITS - 6 + 1, /* the offset drawn at random may carry */
    SPACE_LINES_SHIFT = THREAD_LINES_SHIFT + SCENARIO_THREAD_BITS,
};

#define LOAD_PENDING UINT64_MAX

struct load {
    uint64_t index; /* of its instruction */
    uint64_t line;
    uint64_t dispatch_cycle;
    uint64_t issue_cycle; /* address known */
    uint64_t done_cycle;  /* value usable; LOAD_PENDING */
    struct load *merged;  /* the next load that waits for the same line */
    struct load *dependent;
    bool missed; /* its line had to come from beyond the own caches */
    bool l3_miss, contention;
    int64_t shadow_dispatch[SHADOWS], shadow_issue[SHADOWS], shadow_done[SHADOWS]; /* cycles */
};

struct tracker {
    uint64_t last_line, ahead_line, used;
    int64_t stride;
    int confidence;
};

enum l1d_source { L1D_FROM_L2, L1D_FROM_LLC, L1D_FROM_BEYOND, L1D_SOURCES };

enum core_block { CORE_RUNS, CORE_WAITS_FOR_LOAD, CORE_WAITS_FOR_STORE };

struct core {
    struct simnode *node;
    size_t container;
    int tid, cpu, socket, domain;
    bool running, paused;
    bool halted, was_halted; /* it has no CPU; since this cycle: */
    uint64_t halted_cycle, continued_cycle;
    uint64_t wake_fs; /* of the EVENT_CORE that counts */
    struct simclock clock;
    uint64_t stopped_cycle;
    uint64_t asleep_cycle, slept_cycles; /* as the container's asleep_fs and slept_fs */
    struct workload workload;
    uint64_t line_base;
    unsigned page_lines_shift;

    /* The window, in slots of 1/width cycle: instruction k is dispatched in slot k + dispatch_lag
     * and retires in slot k + retire_lag or later. Both only grow; see core.c. */
    int64_t width, window;
    int64_t dispatch_lag, retire_lag;
    struct load *ring; /* loads that may hold up the window, in program order */
    uint32_t ring_head, ring_tail, ring_mask;
    struct op op;
    bool have_op;
    uint64_t op_index; /* instruction number of 'op' */
    uint64_t next_index;
    struct load *last_load; /* pending; else NULL and: */
    uint64_t last_load_done;
    enum core_block block;
    uint64_t retired;
    int64_t pending_stores;

    struct cache l1, l2, tlb;
    bool has_l2, prefetches;
    uint64_t l1_cycles, private_cycles;
    struct request *outstanding[OUTSTANDING_BUCKETS];
    int64_t in_super_queue;
    struct request_list waiting;         /* for a super queue entry */
    int64_t mabs;                        /* that are taken */
    struct request_list waiting_for_mab; /* by mab_next */
    struct tracker trackers[PREFETCH_TRACKERS];
    uint64_t tracker_uses;
    struct shadow_clock shadows[SHADOWS];
    int n_shadows; /* that are kept */
    struct shadow_prefetch *prefetched;
    int64_t shadow_shift[SHADOWS]; /* of the access that is being executed */
    uint64_t n_stores_out;

    /* Counters. Occupancies are integrals over time, turned into cycles when the frequency
     * changes and when read. */
    uint64_t l3_miss_reads, llc_reads, loads, stores;
    uint64_t llc_misses, rfos; /* of all kinds; that left the own caches */
    uint64_t loads_local_dram, loads_remote_dram, loads_local_pmm;
    uint64_t stall_slots, contention_stall_slots, store_stall_slots;
    struct integral miss_reads_out;
    uint64_t occupancy_cycles, active_cycles, ref_fs;
    struct integral l1d_misses_out; /* with a buffer */
    uint64_t l1d_miss_cycles, l1d_fills[L1D_SOURCES];
    /* As Arm's cores count them: loads that are over, from their address being known on. */
    uint64_t loads_in_flight_cycles, l1d_load_misses, memory_stall_slots;
    struct simnode_truth truth;
};

/* A container as the memory system sees it. */
struct app {
    const struct container_spec *spec;
    uint32_t llc_ways;
    uint64_t mba_gap_fs; /* between requests of its class; 0: none */
    size_t class_index;
    bool running, started, asleep;
    bool sleeps_by_scenario;
    unsigned stopped_by;                      /* who keeps its threads from CPUs, see stops.c */
    double quota_cores;                       /* INFINITY: no quota */
    uint64_t quota_period_fs, quota_spent_fs; /* when they come; SIM_NEVER */
    double epoch_weight;
    uint64_t start_fs, stop_fs;
    uint64_t asleep_fs, slept_fs; /* since when it sleeps; how long it slept before */
    struct cache ats;
    uint64_t placement_seed;
    /* ASM. */
    uint64_t accesses, epoch_count, hits, misses;
    uint64_t hit_fs, miss_fs, queueing_fs;
    struct integral hits_out, misses_out;
    uint64_t ats_hits[2], ats_misses[2];
    uint64_t way_hits[CACHE_MAX_WAYS]; /* of the sampled sets, by how recently used */
    struct simnode_asm_extra extra;
    struct simnode_traffic traffic;
    uint64_t at_epoch[SIMNODE_PROGRESS];    /* when its own last one began */
    struct shadow_sample shadow_samples[2]; /* demand, prefetch */
    uint64_t shadow_draws, shadow_write_credit;
};

/* Cores that share a last-level cache: a socket's, or a complex of them. */
struct domain {
    struct cache llc;
    int socket;
    uint64_t *port_free_fs;
    uint64_t *class_free_fs; /* MBA: when a class may send again */
    uint64_t link_free_fs;   /* when its way from memory is free again */
};

struct sim_unit {
    struct dram_channel dram;
    struct pmm pmm;
    bool has_pmm, counts_as_blocked;
    uint64_t wake_fs; /* of the channel's pending event */
    struct integral rpq, pmm_rpq;
    uint64_t read_wait_fs, reads_served, pmm_reads;
};

struct simnode {
    const struct scenario *scenario;
    const struct machine_spec *machine;
    struct event_queue events;
    uint64_t now_fs, end_fs, tick_end_cycle, ticks;
    uint64_t period_fs, dram_period_fs; /* nominal core clock, controller clock */
    struct rng rng;
    struct core *cores;
    size_t n_cores;
    struct app *apps;
    size_t n_apps;
    struct domain *domains;
    size_t n_domains;
    struct sim_unit *units;
    size_t n_units;
    uint64_t *link_free_fs; /* from socket x to socket */
    uint64_t link_transfer_fs, domain_transfer_fs;
    int epoch_app; /* -1: none */
    bool epochs_by_weight;
    size_t epoch_turn;
    uint64_t epoch_start_fs;
    struct integral queueing;
    uint64_t epoch_hit_fs, epoch_miss_fs, epoch_queueing_fs; /* integrals at the epoch's start */
    struct request *free_requests;
    void *chunks;
    struct simnode_sample *samples;
    size_t n_samples, samples_cap;
    simnode_observer *observer;
    void *observer_context;
    int n_shadows;
    int failed; /* -errno; sticky */
};

/* simnode.c */
void sim_schedule(struct simnode *node, uint64_t time_fs, enum event_kind kind, void *subject);
struct request *sim_new_request(struct simnode *node); /* NULL: failed is set */
void sim_free_request(struct simnode *node, struct request *request);

/* simnode.c: the domain of its CPU, too. */
void sim_place_core(struct core *core, int cpu);

static inline uint64_t core_cycle_now(const struct core *core)
{
    return core->clock.base_cycle +
           (core->node->now_fs - core->clock.base_fs) / core->clock.period_fs;
}

/* stops.c */
void stops_start(struct simnode *node, size_t container);  /* it starts */
void stops_finish(struct simnode *node, size_t container); /* it stops */
/* The scenario's pauses, at a tick's start. */
void stops_begin_tick(struct simnode *node, size_t container, int64_t tick);
void stops_quota_period(struct simnode *node, struct app *app);
void stops_quota_spent(struct simnode *node, struct app *app);

/* settings.c: the scenario's actions, at a tick's start. */
void settings_begin_tick(struct simnode *node, int64_t tick);
/* Between two requests of a class that may use this share of a socket's peak bandwidth. */
uint64_t settings_mba_gap_fs(const struct machine_spec *machine, double percent);

/* core.c */
int core_init(struct core *core, struct simnode *node, size_t container, size_t thread);
void core_release(struct core *core);
void core_start(struct core *core);
void core_run(struct core *core);
/* From now on it dispatches nothing; what is under way goes on. And goes on itself. */
void core_pause(struct core *core);
void core_resume(struct core *core);
/* halt.c: it gets no CPU from now on, until it gets one again: what has not been dispatched is
 * dispatched so much later. What has left for the caches and memory comes back. */
void core_halt(struct core *core);
void core_continue(struct core *core);
/* An EVENT_CORE. */
void core_go_on(struct core *core);
/* Its done_cycle is set: wakes what waited for it. */
void core_load_done(struct core *core, struct load *load);
void core_store_done(struct core *core);
/* After completions: goes on if what it waited for is there. */
void core_wake(struct core *core);
/* Retired by now. */
uint64_t core_retired(struct core *core);

/* shadow.c */
int shadow_init(struct core *core);
void shadow_release(struct core *core);
void shadow_retire(struct core *core, const struct load *load);
/* When the instruction that is being executed enters the window. */
void shadow_dispatch(const struct core *core, int64_t out[SHADOWS]);
void shadow_take_store(struct core *core); /* a store is about to be executed */
void shadow_store_done(struct core *core, const struct request *request);
void shadow_classify(struct simnode *node, struct request *request);
void shadow_done(struct core *core, struct request *request);
/* A dirty line leaves the auxiliary tags, the cache. */
void shadow_evict(struct simnode *node, struct app *app, uint64_t line);
void shadow_write_back(struct simnode *node, uint64_t line);
void shadow_cas(struct simnode *node, size_t unit, struct request *request);
/* Of all that has retired by now. */
uint64_t shadow_cycles(struct core *core, int shadow);

/* private.c: latency in cycles when the core's own caches have the line, otherwise -1. */
int private_init(struct core *core);
void private_release(struct core *core);
int64_t private_lookup(struct core *core, uint64_t line, uint64_t *cycle, bool store);
void private_miss(struct core *core, enum request_kind kind, uint64_t line, uint64_t cycle,
                  struct load *load);
void private_fill(struct core *core, uint64_t line, bool dirty);
void private_fill_l2(struct core *core, uint64_t line); /* a prefetch: no core waits for it */
void private_forget(struct core *core, struct request *request);
void private_flush(struct core *core);
void prefetch_train(struct core *core, uint64_t line, uint64_t cycle);

/* mab.c */
void mab_l2_hit(struct core *core); /* a miss of the L1 that the L2 serves */
/* Of what misses the L2, too; the look into it is over at 'enter_cycle'. Then it enters. */
void mab_schedule(struct core *core, struct request *request, uint64_t enter_cycle);
/* A load or store misses the L1 while a prefetch into the L2 is under way. */
void mab_join(struct core *core, struct request *request, uint64_t enter_cycle);
void mab_ask(struct simnode *node, struct request *request);
void mab_done(struct core *core, struct request *request);

/* shared.c */
void shared_enter(struct simnode *node, struct request *request);
void shared_access(struct simnode *node, struct request *request);
void shared_label(struct simnode *node, struct request *request);
void shared_merge(struct simnode *node, struct request *request);
void shared_done(struct simnode *node, struct request *request);
/* A dirty line leaves a private cache of this domain. */
void shared_writeback(struct simnode *node, int domain, uint64_t line, int app);

/* memory.c */
int memory_init(struct simnode *node);
void memory_release(struct simnode *node);
/* Sets node, pmm and channel. */
void memory_place(struct simnode *node, struct request *request);
bool memory_write_queue_full(struct simnode *node, uint64_t line);
/* Sends a placed request to its controller, starting at that time (not before now). */
void memory_send(struct simnode *node, struct request *request, int from_socket, uint64_t time_fs);
/* Data comes back to the core at that time. */
void memory_deliver(struct simnode *node, struct request *request, uint64_t time_fs);
void memory_arrive(struct simnode *node, struct request *request);
void memory_channel(struct simnode *node, struct sim_unit *unit);
void memory_pmm_served(struct simnode *node, struct request *request);
void memory_write(struct simnode *node, uint64_t line, int app);
void memory_prioritise(struct simnode *node, int app);
uint64_t memory_cross(struct simnode *node, int from, int to, uint64_t time_fs);

/* epochs.c */
void epochs_begin(struct simnode *node);
/* Adds the running epoch's times up to now. */
void epochs_flush(struct simnode *node);
/* How far a container got since its start. */
void epochs_progress(struct simnode *node, int app, uint64_t out[SIMNODE_PROGRESS]);

static inline struct app *app_of(struct simnode *node, int app)
{
    return app >= 0 ? &node->apps[app] : NULL;
}

#endif
