/*
 * A scenario: the machine, what runs on it and where, for how long. README.md lists the keys.
 *
 * Read once, checked wholly, never changed afterwards; everything else borrows it.
 */
#ifndef IE_SIMNODE_SCENARIO_SCENARIO_H
#define IE_SIMNODE_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simnode/model/dram.h"
#include "tests/simnode/model/pmm.h"
#include "tests/simnode/model/workload.h"

/* Simulated time is 64 bits of femtoseconds, five hours; what a scenario asks for ends well before.
 */
#define SCENARIO_MAX_SECONDS 3600.0
/* Stretched totals stay within 63 bits. */
#define SCENARIO_MAX_STRETCHED_SECONDS (30 * 86400.0)
/* With truth_caused: there is a run for every subset of them. */
enum { SCENARIO_MAX_CAUSED = 8 };

struct cache_spec {
    int64_t bytes; /* 0: there is none */
    int64_t ways;
    int64_t latency_cycles;
};

struct machine_spec {
    char *microarchitecture;
    int64_t sockets, cores_per_socket;
    double core_hz, base_hz;
    /* Cores. Width 1 and window 1 is an in-order core that waits for every load. */
    int64_t width, window, super_queue, store_buffer;
    struct cache_spec l1, l2, llc; /* llc.latency_cycles: the lookup, from the super queue on */
    int64_t fill_cycles;           /* from the super queue's release to the value's use */
    double llc_hz;                 /* clock of llc.latency_cycles; 0: the core's */
    int64_t llc_cores;             /* neighbouring cores that share one; 0: all of a socket */
    int64_t llc_ports, llc_port_cycles;
    int64_t tlb_entries, tlb_walk_cycles;
    int64_t prefetch_degree, prefetch_distance; /* degree 0: no prefetcher */
    bool prefetch_into_l1;
    /* Memory of each socket. */
    int64_t channels;
    double request_ns, return_ns; /* between last-level cache and controller, each way */
    struct dram_config dram;
    struct pmm_config pmm;
    double hop_ns, link_bytes_per_second; /* interconnect, each way */
    /* Boards of that many sockets (0: one board) and what it takes, each way, between two of them.
     */
    int64_t board_sockets;
    double board_hop_ns;
    /* The occupancy event counts from entry into the super queue instead of from the miss. */
    bool occupancy_from_entry;
    /* Miss address buffers of a core, as AMD's have them; 0: neither counted nor limited. */
    int64_t mabs;
    int64_t mab_delay_cycles; /* from the L1's miss until it has one */
    /* A load or store that waits for a prefetch into the L2 counts as a fill from there, and not
     * from what serves the prefetch. */
    bool late_prefetch_from_l2;
    double complex_bytes_per_second; /* from memory to the cores that share a cache; 0: no limit */
};

/* What Shen & Li name in section 7; each false: it costs nothing and never happens. */
struct effects_spec {
    bool mabs;            /* there are machine.mabs miss address buffers, otherwise no limit */
    bool super_queue;     /* the super queue has machine.super_queue entries, otherwise no limit */
    bool llc_busy;        /* lookups wait for a port */
    bool dirty_evictions; /* a miss waits until a dirty victim's write has room */
    bool tlb;             /* misses walk the page table */
    bool remote_cache_hits; /* the other socket's cache serves what it holds */
    bool prefetch_merging;  /* demand reads that join a prefetch count as reads */
};

struct class_spec {
    char *name;
    uint32_t llc_ways;  /* way mask */
    double mba_percent; /* of one socket's peak DRAM bandwidth; 100: no limit */
};

struct placement_spec {
    int64_t node;
    bool pmm;
    double share;
};

struct pause_spec {
    int64_t from_tick, to_tick; /* from the start of one to the end of the other */
    bool asleep;                /* neither time nor cycles count: its threads are not scheduled */
};

struct container_spec {
    char *key, *namespace_, *pod, *container, *id;
    bool prefetch; /* its cores' prefetchers are on, where the machine has them */
    bool probe;    /* recorded as the exporter's own probe thread */
    const struct workload_spec *workload;
    const struct class_spec *class; /* NULL: the default class */
    int64_t *cpus;
    size_t n_cpus;                 /* one thread each */
    struct placement_spec *memory; /* shares sum to 1 */
    size_t n_memory;
    int64_t page_bytes;
    int64_t start_tick, stop_tick; /* runs from the start of one to the end of the other; 0: all */
    struct pause_spec *pauses; /* when its threads do nothing; what they had under way is done */
    size_t n_pauses;
    int64_t seed;
    int64_t sample_period; /* store samples; 0: none */
    int64_t wander_cycles; /* threads change sockets so often; 0: never */
};

enum epoch_order { EPOCHS_RANDOM, EPOCHS_ROUND_ROBIN };

struct frequency_change {
    int64_t tick; /* at its start */
    double core_hz;
};

enum action_kind {
    ACTION_LLC_WAYS,
    ACTION_MBA_PERCENT,
    ACTION_QUOTA_CORES,
    ACTION_EPOCH_WEIGHT,
};

/* What a controller does at the start of a tick. */
struct action_spec {
    int64_t tick;
    size_t container;
    enum action_kind kind;
    uint32_t ways; /* of ACTION_LLC_WAYS */
    double value;  /* of the others */
};

struct scenario {
    int64_t seed, ticks, tick_cycles;
    int64_t stretch;      /* a tick is recorded as lasting that many times as long */
    int64_t epoch_cycles; /* 0: no epochs */
    enum epoch_order epoch_order;
    int64_t ats_sets;    /* sampled sets; 0: all */
    bool truth_slowdown; /* needs alone runs */
    bool truth_caused;   /* needs a run for every subset of containers; recorded with traffic */
    /* Recorded as by somebody who made a monitoring group for each container. */
    bool monitoring_groups;
    bool shadow_parts; /* set by reproductions only: shadow clocks with parts missing as well */
    struct frequency_change *frequency_changes;
    size_t n_frequency_changes;
    struct machine_spec machine;
    struct effects_spec effects;
    struct class_spec *classes;
    size_t n_classes;
    struct workload_spec *workloads;
    size_t n_workloads;
    struct container_spec *containers;
    size_t n_containers;
    struct action_spec *actions;
    size_t n_actions;
    char *machine_text; /* machine and effects as canonical JSON */
};

/* On failure -errno and one line "FILE:LINE: KEY: what is wrong". */
int scenario_read(const char *path, struct scenario **out, char *error, size_t error_size);
/* The same from memory; 'name' is for messages, and its folder that of the traces. */
int scenario_parse(const char *name, const char *text, size_t len, struct scenario **out,
                   char *error, size_t error_size);
void scenario_free(struct scenario *scenario);

/* The pause that it makes in this tick, or NULL. */
static inline const struct pause_spec *container_pause(const struct container_spec *spec,
                                                       int64_t tick)
{
    for (size_t i = 0; i < spec->n_pauses; i++)
        if (spec->pauses[i].from_tick <= tick && tick <= spec->pauses[i].to_tick)
            return &spec->pauses[i];
    return NULL;
}

/* The whole cache path beside the wait in memory: what c_cache estimates. In core cycles; and the
 * seconds of a last-level cache with a clock of its own. */
static inline int64_t scenario_cache_cycles(const struct machine_spec *machine)
{
    bool lookup = !machine->occupancy_from_entry && machine->llc_hz <= 0;

    return machine->l1.latency_cycles + (machine->l2.bytes ? machine->l2.latency_cycles : 0) +
           (lookup ? machine->llc.latency_cycles : 0) + machine->fill_cycles;
}

/* What a load that the L2 or the last-level cache serves takes beyond a hit in the L1: t2 and t3 of
 * FORMULAS.md section 1, "AMD". In core cycles. */
static inline int64_t scenario_l2_fill_cycles(const struct machine_spec *machine)
{
    return machine->l2.bytes ? machine->l2.latency_cycles : 0;
}

static inline int64_t scenario_l3_fill_cycles(const struct machine_spec *machine)
{
    return scenario_l2_fill_cycles(machine) + machine->llc.latency_cycles + machine->fill_cycles;
}

static inline double scenario_cache_seconds(const struct machine_spec *machine)
{
    return machine->occupancy_from_entry || machine->llc_hz <= 0
               ? 0
               : (double)machine->llc.latency_cycles / machine->llc_hz;
}

/* What a hit in the last-level cache costs: hit_cycles of FORMULAS.md section 3, in core cycles. */
static inline int64_t scenario_hit_cycles(const struct machine_spec *machine)
{
    double seconds = scenario_cache_seconds(machine);

    return machine->fill_cycles +
           (seconds > 0 ? (int64_t)(seconds * machine->core_hz) : machine->llc.latency_cycles);
}

#endif
